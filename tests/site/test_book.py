"""The book: its articles are the notebooks, its reference opens every run, and its pages need no other site."""

from __future__ import annotations

import gzip
import re
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import mistune
import pytest
from playwright.sync_api import Page, expect

from kafkalab import Drop, lab00
from kafkalab.course.glossary import terms
from kafkalab.grading.builder import FIGURE, LABS, SOLUTIONS, Cell, read
from kafkalab.protocol import rules
from kafkalab.protocol.rules import REGISTRY
from kafkalab.reference.bug_list import BUGS
from kafkalab.reference.error_atlas import MEANING
from kafkalab.reference.exhibits import bug_exhibits, error_exhibits, rule_exhibits
from kafkalab.reference.known_runs import known_runs
from kafkalab.sim.codec import code_of
from kafkalab.site.book.build import make_pages
from kafkalab.site.book.links import START
from kafkalab.site.book.notebooks import SPARK_RUNS, without_runs
from kafkalab.site.book.runs import ABOUT, SHOWN_FIRST, lost_answer
from kafkalab.site.notebooks import NEEDS_MORE
from kafkalab.widgets.views.recorded_page import recorded_page

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / SOLUTIONS).glob("[0-9]*.ipynb") if path.stem != Path(START).stem)
WITHOUT = {rules.NEXT_GUARD_STAYS, rules.DELETE_HORIZON, rules.NO_NEEDLESS_BATCH}
"""Rules that no scenario shows: see REASONS of kafkalab/reference/rule_matrix.py."""
CHARTS = {"07_timeouts": 3, "12_auditing_with_spark": 2, "16_spark_at_work": 4}
"""Figures of a notebook that no press changes, there neither: time lines, bars, tables."""
COLLECTIONS = {
    "90_bugs_that_kafka_had": bug_exhibits,
    "91_what_each_rule_protects": rule_exhibits,
    "92_errors": error_exhibits,
}
FIRST_KB, ARTICLE_KB = 600, 300
"""The most that the first page loads before the first press, and what an article adds to it, compressed."""
OURS = ("script", "style", "noscript", "kafka-run", "summary")
IGNORED = re.compile(rf"<({'|'.join(OURS)})\b.*?</\1>|<a class=\"headerlink\".*?</a>", re.S)
"""The things that an article has beside its notebook's words."""
PACKED = re.compile(r'(?<=<script id="packed" type="text/plain">)[^<]*')


def letters(html: str) -> str:
    """Return the text of a piece of HTML without its blanks."""
    return "".join(unescape(re.sub(r"<[^>]*>", "", IGNORED.sub("", html))).split())


def pages(site: Path) -> Iterator[Path]:
    """Yield the book's pages."""
    for path in sorted(site.rglob("*.html")):
        place = path.relative_to(site)
        if place != SHOWN_FIRST and place.parts[0] not in ("jupyter", "404.html"):
            yield path


def said_in(cell: Cell, notebook: dict[str, Any]) -> Iterator[str]:
    """Yield what an article says of a cell: its text or its code, and its outputs in words that are always the same."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        text = without_runs(source)
        yield letters(str(mistune.create_markdown(escape=False, plugins=["table", "strikethrough"])(text)))
        return
    if "nbgrader" in cell["metadata"]:
        return  # an exercise
    yield "".join(source.split())
    for output in cell["outputs"] if "nbval-ignore-output" not in cell["metadata"].get("tags", []) else ():
        data = output.get("data", {})
        if FIGURE not in data:
            text = "".join(output.get("text", data.get("text/html", data.get("text/plain", ""))))
            yield letters(text) if "text/html" in data else "".join(text.split())


@pytest.mark.site
@pytest.mark.parametrize("name", NAMES)
def test_an_article_has_the_words_of_its_notebook_in_their_order(site: Path, name: str) -> None:
    html = (site / LABS / f"{name}.html").read_text(encoding="utf-8")
    text, place = letters(html[html.index("<article") : html.index("</article>")]), 0
    notebook = read(ROOT / SOLUTIONS / f"{name}.ipynb")
    for cell in notebook["cells"]:
        for said in said_in(cell, notebook):
            found = text.find(said, place)
            assert found >= 0, (cell["id"], said, text[place : place + 300])
            place = found + len(said)


@pytest.mark.site
@pytest.mark.parametrize("name", [name for name in NAMES if SPARK_RUNS or name not in NEEDS_MORE])
def test_each_picture_of_a_notebook_is_live_in_its_article(site: Path, name: str) -> None:
    cells = [cell for cell in read(ROOT / SOLUTIONS / f"{name}.ipynb")["cells"] if cell["cell_type"] == "code"]
    outputs = [one for cell in cells if "nbgrader" not in cell["metadata"] for one in cell["outputs"]]
    pictures = [one for one in outputs if FIGURE in one.get("data", {})]
    exhibits = len(COLLECTIONS[name]()) - 1 if name in COLLECTIONS else 0
    html = (site / LABS / f"{name}.html").read_text(encoding="utf-8")
    runs = re.findall(r'<kafka-run [^>]*src="([^"]+)"', html)
    assert len(runs) == len(pictures) - CHARTS.get(name, 0) + exhibits
    assert [run for run in runs if not (site / LABS / run).is_file()] == []


def test_every_bug_rule_and_error_has_a_run() -> None:
    found = {(one.kind, one.heading) for one in known_runs(ROOT)}
    assert {name for kind, name in found if kind == "bugs"} == {f"{bug.number}: {bug.title}" for bug in BUGS}
    assert {name for kind, name in found if kind == "rules"} == {rule.name for rule in REGISTRY if rule not in WITHOUT}
    assert {name for kind, name in found if kind == "errors"} == {f"{error.name} ({error.code})" for error in MEANING}


@pytest.mark.site
def test_each_run_is_below_its_entry_of_the_reference(site: Path) -> None:
    every = list(known_runs(ROOT))
    for kind in ("bugs", "rules", "errors"):
        html = (site / "docs" / f"{kind}.html").read_text(encoding="utf-8")
        entries = re.findall(r"<h[23]>(.*?)<a class=\"headerlink\"|<kafka-run [^>]*src=\"([^\"]+)\"", html)
        below = {run: letters(entries[i - 1][0]) for i, (_, run) in enumerate(entries) if run}
        own = [one for one in every if one.kind == kind]
        assert below == {f"../_static/runs/{kind}/{one.file}.packed": "".join(one.heading.split()) for one in own}
        assert [run for run in below if not (site / "docs" / run).is_file()] == []


@pytest.mark.site
def test_each_page_says_what_it_is_and_names_each_place_once(site: Path) -> None:
    found = list(pages(site))
    for page in found:
        html = page.read_text(encoding="utf-8")
        (title,) = re.findall("<title>(.*?)</title>", html)
        assert title.endswith(" Kafka exactly-once"), page
        if page.stem != "search":
            assert re.search('<meta name="description" content="Kafka exactly-once: .{20}', html), page
        assert [name for name, count in Counter(re.findall(r'\bid="([^"]+)"', html)).items() if count > 1] == [], page
    assert len(found) > 40


@pytest.mark.site
def test_each_icon_that_a_page_shows_is_drawn(site: Path) -> None:
    classes = {names for page in pages(site) for names in re.findall(r'"([^"]*\bfa-solid\b[^"]*)"', page.read_text())}
    shown = {name for names in classes for name in names.split() if name.startswith("fa-")}
    drawn = re.findall(r"^\.(fa-[a-z-]+) \{", (site / "_static" / "icons.css").read_text(), re.M)
    assert len(drawn) > 5
    assert shown - set(drawn) == {"fa-solid", "fa-lg", "fa-fw", "fa-outdent"}  # the last is in the hidden header


@pytest.mark.parametrize("url", ["", "https://example.org/course/"])
def test_only_a_known_address_is_named(tmp_path: Path, url: str) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "index.md").write_text(f"# A page\n\n{'A first paragraph. ' * 9}\n")
    make_pages(sources, tmp_path / "site", url)
    html = (tmp_path / "site" / "index.html").read_text()
    assert ('property="og:url" content="https://example.org/course/' in html) == bool(url)
    assert (tmp_path / "site" / "sitemap.xml").is_file() == bool(url)
    assert ("og:" in html) == bool(url)


def test_the_picture_of_readme_is_of_the_run_that_it_says() -> None:
    text = (ROOT / SHOWN_FIRST).read_text(encoding="utf-8")
    assert code_of(replace(lab00(), faults=(Drop("ProduceResponse#1"),))) in text
    assert f"]({SHOWN_FIRST.as_posix()})" in (ROOT / "README.md").read_text(encoding="utf-8")


def unpack(page: str) -> str:
    """Return a recording with its modules and values as text: zlib's versions compress differently."""
    return PACKED.sub(lambda packed: zlib.decompress(b64decode(packed[0])).decode(), page)


def test_the_committed_recording_is_what_its_command_writes_today() -> None:
    committed = unpack((ROOT / SHOWN_FIRST).read_text(encoding="utf-8"))
    assert '"payload"' in committed
    assert committed == unpack(recorded_page(lost_answer().journey, ABOUT)), "run `python -m kafkalab.site.book.runs`"


@pytest.mark.smoke
@pytest.mark.browser
def test_the_committed_recording_opens_and_is_stepped_by_keys(page: Page, console_errors: list[str]) -> None:
    page.goto(f"file://{ROOT / SHOWN_FIRST}")
    step = page.locator(".klab[data-step]").get_attribute("data-step") or ""
    page.keyboard.press("ArrowRight")
    expect(page.locator(".klab")).not_to_have_attribute("data-step", step)
    assert console_errors == []


def load_page(site: Path, address: str, page: Page, name: str) -> dict[str, int]:
    """Open a page and return what it asks for, and the bytes of each as a host sends them. Nobody else is asked."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address + name, wait_until="networkidle")
    expect(page.locator("kafka-run .klab").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert [one for one in asked if not one.startswith((address, "data:", "blob:"))] == []
    places = {one[len(address) :].partition("#")[0].partition("?")[0] for one in asked if one.startswith(address)}
    files = {place: (site / place).read_bytes() for place in places}
    packed = (".packed", ".woff2")
    return {name: len(data if name.endswith(packed) else gzip.compress(data, 6)) for name, data in files.items()}


@pytest.mark.site
@pytest.mark.browser
def test_pages_are_light_and_ask_nobody_else(site: Path, address: str, page: Page, console_errors: list[str]) -> None:
    first = load_page(site, address, page, "index.html")
    assert sum(first.values()) < FIRST_KB * 1000
    for name in NAMES[:15]:
        more = load_page(site, address, page, f"labs/{name}.html")
        assert sum(size for place, size in more.items() if place not in first) < ARTICLE_KB * 1000, name
    assert console_errors == []


@pytest.mark.smoke
@pytest.mark.site
@pytest.mark.browser
def test_at_the_first_press_the_order_is_in_the_log_twice(address: str, page: Page, console_errors: list[str]) -> None:
    page.goto(address)
    picture = page.locator("kafka-run .klab").first
    expect(picture.locator(".now")).to_contain_text("shop sends Produce#2 to b2 (attempt 2)")
    picture.click(position={"x": 5, "y": 5})
    page.keyboard.press("ArrowRight")
    expect(picture.locator(".now")).to_contain_text("b2 appends soup to orders-0 at offset 1")
    assert console_errors == []


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize(
    ("address_of", "now", "found"),
    [
        ("rules.html#duplicates-are-recognised-by-producer-id-and-sequence", "appends x to out-0 at offset 1", "✕"),
        ("bugs.html#kafka-17754-the-torn-transaction", "", "✕"),
        ("errors.html#producer_fenced-90", "sends EndTxnResponse#1 to app: PRODUCER_FENCED", ""),
    ],
)
def test_a_run_opens_at_the_step_that_decides(
    address: str, page: Page, console_errors: list[str], address_of: str, now: str, found: str
) -> None:
    page.goto(f"{address}docs/{address_of}")
    entry = page.locator(f"section[id='{address_of.partition('#')[2]}']")
    expect(entry.locator(".klab")).to_have_count(0)
    entry.get_by_text("Open the run").click()
    expect(entry.locator(".klab .now")).to_contain_text(now)
    expect(entry.locator(".klab .found")).to_contain_text(found or "no promise is broken")
    step = entry.locator(".klab").get_attribute("data-step") or ""
    entry.locator(".klab").click(position={"x": 5, "y": 5})
    page.keyboard.press("ArrowLeft")
    expect(entry.locator(".klab")).not_to_have_attribute("data-step", step)
    assert console_errors == []


@pytest.mark.site
@pytest.mark.browser
def test_each_term_has_a_place_that_the_search_finds(address: str, page: Page) -> None:
    page.goto(f"{address}docs/glossary.html#transactional.id")
    expect(page.locator("[id='transactional.id']")).to_be_in_viewport()
    expect(page.locator("h3")).to_have_count(len(terms()))
    page.goto(f"{address}search.html?q=last+stable+offset")
    expect(page.locator("#search-results a[href*='glossary.html#last-stable-offset']")).to_be_visible()


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("lost", ["gone.html", "labs/gone/deep/page.html"])
def test_an_address_of_no_page_leads_to_the_first_one(address: str, page: Page, lost: str) -> None:
    page.goto(address + lost)
    expect(page.get_by_role("heading", level=1)).to_have_text("No such page")
    page.get_by_role("link", name="To the first page").click()
    expect(page).to_have_url(f"{address}index.html")
