"""The recordings: each bug, rule and error has one, opened where it is decided; what a browser shows of them."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kafkalab import Drop, Journey, lab00
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING
from kafkalab.reference.found_scenarios import slug
from kafkalab.sim.codec import code_of
from kafkalab.site import recordings as module
from kafkalab.site.frame import write_assets
from kafkalab.site.recordings import LARGEST, SHOWN_FIRST, page_of, recordings, shown_first, write_recordings
from tests.browser.conftest import browser, console_errors, page

__all__ = ["browser", "console_errors", "page"]
WITHOUT = {rules.NEXT_GUARD_STAYS, rules.DELETE_HORIZON}
"""Rules that no scenario shows: see REASONS of kafkalab/reference/rule_matrix.py."""
PACKED = re.compile(r'(?<=<script id="packed" type="text/plain">)[^<]*')


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that has the recordings alone."""
    folder = tmp_path_factory.mktemp("site")
    write_recordings(root, folder)
    write_assets(folder)
    return folder


def test_every_bug_rule_and_error_has_one(root: Path) -> None:
    found = {(one.kind, one.name) for one in recordings(root)}
    assert {name for kind, name in found if kind == "bugs"} == {f"{bug.number}: {bug.title}" for bug in BUGS}
    assert {name for kind, name in found if kind == "rules"} == {rule.name for rule in REGISTRY if rule not in WITHOUT}
    assert {name for kind, name in found if kind == "errors"} == {error.name for error in MEANING}


def test_each_is_small_and_the_index_has_them_all(site: Path, root: Path) -> None:
    folder = site / "recordings"
    written = {path.relative_to(folder).as_posix() for path in folder.glob("*/*.html")}
    text = unescape((folder / "index.html").read_text(encoding="utf-8"))
    linked = set(re.findall(r'href="([a-z]+/\w+\.html)"', text))
    assert len(written) > 100
    assert linked == written == {one.address for one in recordings(root)}
    sizes = {path.name: path.stat().st_size for path in folder.glob("*/*.html")}
    assert {name: size for name, size in sizes.items() if size > LARGEST} == {}
    for rule in WITHOUT:
        assert rule.name in text
        assert not (folder / "rules" / f"{slug(rule)}.html").exists()


def test_one_that_is_too_large_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 50_000)
    with pytest.raises(
        ValueError, match=r"recording bugs/kafka_5494\.html has \d{3},\d+ bytes; the limit is 50,000"
    ):
        page_of(next(recordings(root)))


def test_the_one_of_readme_is_of_the_run_that_it_says(root: Path) -> None:
    text = (root / SHOWN_FIRST).read_text(encoding="utf-8")
    assert code_of(replace(lab00(), faults=(Drop("ProduceResponse#1"),))) in text
    assert f"]({SHOWN_FIRST.as_posix()})" in (root / "README.md").read_text(encoding="utf-8")


def unpacked(page: str) -> str:
    """Return a recording with its modules and values as text: zlib's versions compress differently."""
    return PACKED.sub(lambda packed: zlib.decompress(b64decode(packed[0])).decode(), page)


def test_the_one_of_readme_is_what_its_command_writes_today(root: Path) -> None:
    committed = unpacked((root / SHOWN_FIRST).read_text(encoding="utf-8"))
    assert '"payload"' in committed
    assert committed == unpacked(shown_first()), "run `python -m kafkalab.site.recordings`"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("address", "now", "found"),
    [
        ("rules/deduplication.html", "appends x to out-0 at offset 1", "✕"),
        ("bugs/kafka_17754.html", "", "✕"),
        ("errors/producer_fenced.html", "sends EndTxnResponse#1 to app: PRODUCER_FENCED", ""),
    ],
)
def test_it_opens_at_the_step_that_decides(
    site: Path, page: Page, console_errors: list[str], address: str, now: str, found: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition(":")[0]))
    page.goto(f"file://{site}/recordings/index.html")
    page.locator(f'a[href="{address}"]').click()
    expect(page.locator(".klab .now")).to_contain_text(now)
    expect(page.locator(".klab .found")).to_contain_text(found or "no promise is broken")
    step = page.locator(".klab").get_attribute("data-step") or ""
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".klab")).not_to_have_attribute("data-step", step)
    page.get_by_role("link", name="All recordings").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Recordings")
    assert set(asked) <= {"file", "blob"}
    assert console_errors == []


@pytest.mark.browser
def test_without_javascript_it_has_the_text_twin(site: Path, page: Page, root: Path) -> None:
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context(java_script_enabled=False)
    still = context.new_page()
    still.goto(f"file://{site}/recordings/rules/deduplication.html")
    one = next(one for one in recordings(root) if one.address == "rules/deduplication.html")
    journey = Journey(one.scenario)
    expect(still.locator("noscript pre")).to_contain_text(journey.payload["title"])
    expect(still.locator("noscript pre")).to_contain_text("✕ duplicate (forbidden)")
    context.close()


@pytest.mark.smoke
@pytest.mark.browser
def test_the_committed_one_opens_and_is_stepped_by_keys(root: Path, page: Page, console_errors: list[str]) -> None:
    page.goto(f"file://{root / SHOWN_FIRST}")
    step = page.locator(".klab[data-step]").get_attribute("data-step") or ""
    page.keyboard.press("ArrowRight")
    expect(page.locator(".klab")).not_to_have_attribute("data-step", step)
    assert console_errors == []
