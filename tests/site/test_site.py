"""The built site in Chromium: its pages, a lab whose Python runs in the tab, and what a browser may lack."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from kafkalab import Drop, lab13
from kafkalab.course.labs import COURSE
from kafkalab.grading.builder import LABS
from kafkalab.sim.cluster import ran
from kafkalab.site.lite import PYTHON, notebook_address
from kafkalab.site.wheels import PURE
from kafkalab.widgets.payload.tour import walk
from kafkalab.wire.frame_bytes import frame_bytes
from tests.browser.test_lab03 import SHOWN, go_to, payload_with
from tests.browser.test_worked_through import WRONG
from tests.browser.worked import Desk
from tests.site.lite import LiteLab, differences, lab

pytestmark = [pytest.mark.browser, pytest.mark.site]
NAME = "03_a_full_commit"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lab3(browser: Browser, with_answers: str) -> Iterator[LiteLab]:
    """Lab 3 in a browser that has never seen the site, all its cells run."""
    with lab(browser, with_answers, NAME) as opened:
        opened.open()
        opened.run_all()
        yield opened


def test_the_first_page_leads_to_every_lab_and_keeps_the_learners_work(
    address: str, page: Page, console_errors: list[str]
) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text("exactly-once")
    cards = page.locator(".cards a")
    expect(cards).to_have_count(sum((ROOT / LABS / f"{one.name}.ipynb").is_file() for one in COURSE))
    expect(page.locator(".klab-notice")).to_have_count(0)
    page.get_by_role("button", name="Download my work").click()
    expect(page.locator("#work-said")).to_contain_text("Nothing is kept here yet")
    cards.filter(has_text="A full commit").click()
    page.get_by_role("link", name="Open as a notebook").click()
    expect(page).to_have_url(f"{address}{notebook_address(f'labs/{NAME}.ipynb')}")
    assert console_errors == []


@pytest.mark.smoke
def test_all_cells_of_a_solved_lab_run_with_the_saved_outputs(lab3: LiteLab) -> None:
    ran = lab3.save()["cells"]
    code = [cell for cell in ran if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert differences(lab3.cells, ran) == {}
    assert {e: row["solved"] for e, row in lab3.read_saved("labs/progress.json")["exercises"].items()} == {
        "L3.E1": True, "L3.E2": True, "L3.E3": True,
    }  # fmt: skip
    assert lab3.errors == []


def test_dropping_a_frame_gives_a_new_run_and_undo_the_old_one(lab3: LiteLab) -> None:
    before, after = payload_with(), payload_with(Drop("EndTxn#1"))
    widget = lab3.page.locator(".klab.sequence[data-step]").first
    widget.scroll_into_view_if_needed()
    widget.focus()
    go_to(lab3.page, widget, before, before["frames"]["EndTxn#1"]["sent"])
    widget.locator('[data-action="drop"]').click()
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(after, SHOWN))))
    widget.locator('[data-action="undo"]').click()
    expect(widget).to_have_attribute("data-stop-count", str(len(walk(before, SHOWN))))


def test_a_wrong_answer_is_told_and_a_right_one_passes(lab3: LiteLab) -> None:
    desk = Desk(lab3.page, NAME, "Light")
    (answer, check), *_ = desk.exercises()
    desk.write(answer, WRONG["L3.E1"].answer)
    assert WRONG["L3.E1"].says in desk.run_check(check)
    desk.write(answer, desk.source(answer))
    assert "10 of 10" in desk.run_check(check)


def test_what_was_solved_survives_a_reload_and_can_be_downloaded(lab3: LiteLab) -> None:
    lab3.save()
    with lab(lab3.page.context.browser, lab3.address, "00_start", lab3.page.context) as start:  # type: ignore[arg-type]
        start.open()  # warm: the browser has everything
        start.run_all()
        shown = start.page.locator(".jp-OutputArea-output").filter(has_text="Download my progress").first
        expect(shown).to_contain_text("3 of")
        with start.page.expect_download() as waiting:
            shown.get_by_role("link", name="Download my progress").click()
        assert json.loads(waiting.value.path().read_text())["exercises"]["L3.E1"]["solved"]
        start.page.goto(start.address)
        with start.page.expect_download() as waiting:
            start.page.get_by_role("button", name="Download my work").click()
        with zipfile.ZipFile(io.BytesIO(waiting.value.path().read_bytes())) as archive:
            assert archive.testzip() is None
            assert {f"labs/{NAME}.ipynb", "labs/progress.json"} <= set(archive.namelist())


def test_links_of_a_notebook_open_our_pages_and_other_labs(lab3: LiteLab) -> None:
    for words, place in (
        ("transaction", "glossary.html#transaction"),
        ("All labs", "path=labs/00_start.ipynb"),
    ):
        link = lab3.page.locator(".jp-RenderedMarkdown a").filter(has_text=re.compile(f"^{words}$")).first
        with lab3.page.context.expect_page() as opened:
            link.click()
        expect(opened.value).to_have_url(re.compile(f"{re.escape(place)}$"))
        opened.value.close()


def test_nothing_was_asked_of_another_address(lab3: LiteLab) -> None:
    assert lab3.elsewhere == []


SIZES = r"""
import sys
sys.modules["crc32c"] = sys.modules["cramjam"] = sys.modules["kio"] = None  # a browser has none of them
from kafkalab import costs_of, lab13
from kafkalab.sim.cluster import ran
from kafkalab.site.lite import PYTHON
from kafkalab.site.wheels import PURE
from kafkalab.wire.frame_bytes import frame_bytes
run = ran(lab13(records=60, size=20))
print(*(frame_bytes(run, frame) for frame in run.trace.frames.values()), sep="\n")
"""


def test_frames_have_the_same_bytes_without_what_is_compiled(root: Path) -> None:
    command = [sys.executable, "-c", SIZES]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split()
    run = ran(lab13(records=60, size=20))
    assert [int(size) for size in printed] == [frame_bytes(run, frame) for frame in run.trace.frames.values()]


LACKS = {
    "wasm": ("delete globalThis.WebAssembly", "has no WebAssembly"),
    "storage": (
        "indexedDB.open = () => { throw new DOMException('denied', 'SecurityError'); }",
        "keeps no files for this page",
    ),
    "full": (
        "navigator.storage.estimate = async () => ({ quota: 1e8, usage: 1e8 - 1000 })",
        "storage for this page is full",
    ),
}


FULL = """() => {
  const put = IDBObjectStore.prototype.put;
  IDBObjectStore.prototype.put = function (...all) {
    if (this.name === "files") throw new DOMException("The storage is full", "QuotaExceededError");
    return put.apply(this, all);
  };
}"""


def test_when_the_storage_is_full_it_is_said_and_what_was_saved_is_kept(browser: Browser, address: str) -> None:
    with lab(browser, address, "00_start") as start:
        page = start.page
        page.goto(f"{address}jupyter/notebooks/index.html?path=labs/00_start.ipynb")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        before = start.save()
        page.evaluate(FULL)
        page.locator(".jp-Notebook .jp-Cell").nth(2).click()
        for key in ("Escape", "b", "Control+s"):
            page.keyboard.press(key)
        expect(page.locator("[data-notice=full]")).to_contain_text("nothing more is saved")
        expect(page.locator(".jp-Dialog")).to_contain_text("The storage is full")
        assert len(start.read_saved("labs/00_start.ipynb")["cells"]) == len(before["cells"])


def read_packed(site: Path) -> dict[str, bytes]:
    """Return what the site's archive of packages lays into a kernel's file system, by the path within it."""
    whole = gzip.decompress((site / PYTHON / "packages.packed").read_bytes())
    at = 4 + int.from_bytes(whole[:4], "little")
    found = {}
    for path, size in json.loads(whole[4:at]):
        found[path.split("/site-packages/")[1]] = whole[at : at + size]
        at += size
    return found


def test_what_a_kernel_imports_at_its_start_is_compiled_and_its_source_is_there(site: Path) -> None:
    files = read_packed(site)
    for module in ("IPython/core/interactiveshell", "kafkalab/sim/cluster", "kafkalab/course/lab13/scenario"):
        folder, name = module.rsplit("/", 1)
        assert {f"{module}.py", f"{folder}/__pycache__/{name}.cpython-314.pyc"} <= set(files), module
    facts = {f"{name.replace('-', '_')}-{version}.dist-info/METADATA" for name, version in PURE.items()}
    assert facts <= set(files)
    assert any("licenses/" in path for path in files if path.startswith("pygments-"))
    assert not [path for path in files if path.startswith("jedi/third_party/typeshed/stubs/")]
    assert not list((site / PYTHON).glob("*.whl"))


@pytest.mark.parametrize("lack", LACKS)
@pytest.mark.parametrize("place", ["index.html", f"jupyter/notebooks/index.html?path=labs/{NAME}.ipynb"])
def test_what_a_browser_lacks_is_said_with_what_to_do(address: str, page: Page, place: str, lack: str) -> None:
    script, says = LACKS[lack]
    page.add_init_script(script)
    page.goto(address + place, wait_until="commit")
    expect(page.locator(f"[data-notice={lack}]")).to_contain_text(says)
