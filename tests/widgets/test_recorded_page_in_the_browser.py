"""A run as one page: what a browser without network shows of the file, and what it answers where a kernel is needed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import Journey, Scenario, Sequence, Share, lab00, lab03
from kafkalab.cli.main import main
from kafkalab.protocol.rules import HIGH_WATERMARK
from kafkalab.widgets.views.recorded_page import recorded_page
from tests.widgets.live import Live

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]


def open_page(page: Page, path: Path, address: str = "") -> list[str]:
    """The page shows the file; what it asks the network for from then on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition(":")[0]))
    page.goto(f"file://{path}{address}")
    expect(page.locator(".klab.sequence[data-step]")).to_be_visible()
    return asked


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of lab 3's run with a lost answer, which opens at the first EndTxn."""
    path = tmp_path_factory.mktemp("page") / "run.html"
    journey = Journey(lab03())
    journey.press("find", "EndTxn#1")
    journey.press("drop", "EndTxnResponse#1")
    Share(journey).page(path)
    return path


@pytest.mark.smoke
def test_it_is_one_small_file_that_asks_for_nothing_and_is_stepped_by_keys(saved: Path, page: Page) -> None:
    assert saved.stat().st_size < 200_000
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    asked = open_page(page, saved)
    step = page.locator(".klab").get_attribute("data-step")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".klab")).not_to_have_attribute("data-step", step or "")
    expect(page.locator(".chips code")).to_contain_text("EndTxnResponse#1")
    expect(page.locator(".found")).to_contain_text("no promise is broken so far")
    assert set(asked) <= {"file", "blob"}
    assert told == []


def test_its_last_step_says_what_the_text_twin_says(page: Page, tmp_path: Path) -> None:
    broken = replace(Scenario.load(ROOT / "data/rules/high_watermark.klab"), rules_off=(HIGH_WATERMARK.name,))
    view = Sequence(broken)
    view.press("end")
    path = tmp_path / "run.html"
    path.write_text(recorded_page(view.journey), encoding="utf-8")
    open_page(page, path)
    expect(page.locator(".now")).to_have_text(view.payload["events"][view.step]["text"])
    names = page.locator(".found button").all_inner_texts()
    assert [name for name in names if name.startswith("✕")] != []


def test_its_address_names_a_place(saved: Path, page: Page) -> None:
    open_page(page, saved, "#chapter:decision")
    expect(page.locator(".chapter")).to_have_text("decision")
    page.evaluate("() => { location.hash = '#Produce#1'; }")
    expect(page.locator(".now")).to_contain_text("sends Produce#1")
    page.evaluate("() => { location.hash = '#step=3'; }")
    expect(page.locator(".klab")).to_have_attribute("data-step", "3")
    page.evaluate("() => { location.hash = '#Nothing#7'; }")
    expect(page.locator(".klab")).to_have_attribute("data-step", "3")


def test_what_a_kernel_would_do_is_answered_with_a_sentence(saved: Path, page: Page) -> None:
    open_page(page, saved)
    page.locator('[data-action="crash"]').first.click()
    expect(page.locator(".now")).to_contain_text("This page is a recording")
    page.keyboard.press("ArrowRight")
    page.locator('[data-action="crash"]').first.click()
    expect(page.locator(".now")).to_contain_text("This page is a recording")
    page.locator('[data-action="what_if"]').click()
    expect(page.locator(".whatif")).to_contain_text("This page is a recording")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_has_the_readers_theme_and_a_button_for_the_other(saved: Path, page: Page, theme: str) -> None:
    def ground() -> float:
        colour = "e => getComputedStyle(e).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
        light: list[float] = page.locator(".klab").evaluate(colour)
        return sum(light) / 3

    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    open_page(page, saved)
    assert (ground() < 128) == (theme == "dark")
    page.locator("#theme").click()
    assert (ground() < 128) == (theme == "light")


def test_a_browser_that_is_too_old_is_told(saved: Path, page: Page) -> None:
    page.add_init_script("delete window.DecompressionStream")
    page.goto(f"file://{saved}")
    expect(page.get_by_role("alert")).to_contain_text("This browser cannot show the recording")


def test_a_title_is_text_and_never_markup(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    title = "</script><img src=x onerror=alert(1)>"
    Share(replace(lab00(), title=title)).page(path)
    open_page(page, path)
    expect(page.locator("h1")).to_have_text(title)
    assert page.locator("img").count() == 0


def test_the_button_saves_the_page(page: Page, tmp_path: Path) -> None:
    Live(page, Share(lab00()))
    with page.expect_download() as download:
        page.locator('[data-action="page"]').click()
    assert download.value.suggested_filename.endswith(".html")
    path = tmp_path / "run.html"
    download.value.save_as(path)
    open_page(page, path)


def test_the_command_writes_it_and_opens_it_at_a_name(
    page: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(ROOT / "data/torn_for_real.klab")
    assert main(["page", file, "--out", "torn.html", "--at", "EndTxn#2"], tmp_path) == 0
    assert "needs neither Python nor a network" in capsys.readouterr().out
    open_page(page, tmp_path / "torn.html")
    expect(page.locator(".now")).to_contain_text("EndTxn#2")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--out", "torn.txt"], "a page's name ends with .html, not 'torn.txt'"),
        (["--out", "torn.html", "--at", "EndTxn#99"], "EndTxn#99"),
        (["--out", "nowhere/torn.html"], "no such file or directory"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["page", str(ROOT / "data/torn_for_real.klab"), *arguments], tmp_path) == 2
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
