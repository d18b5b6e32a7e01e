"""The book's pictures in Chromium and Firefox: live and in step, moved by links and addresses; cards keep and tell."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Playwright, expect, sync_playwright

from kafkalab import lab03
from kafkalab.site.serve import serve_folder
from kafkalab.widgets.model.journey import Journey
from tests.browser.conftest import CHROMIUM_ARGS, console_errors, empty_page
from tests.browser.firefox import firefox
from tests.site.test_book import pages

__all__ = ["console_errors"]
pytestmark = [pytest.mark.browser, pytest.mark.site]

LAB = "labs/03_a_full_commit.html"
REASON = "no crash can take the decision back"
"""Words of the reason that lab 3's first card gives with its answer."""
PHONE = {"width": 390, "height": 844}
PICTURE = re.compile(r"<kafka-run ")
# Where the heading of the address is at each frame, once the page has gone there.
WATCH = """
window.tops = [];
const look = () => {
  const heading = document.querySelector(":target");
  if (heading && scrollY) tops.push(heading.getBoundingClientRect().top);
  requestAnimationFrame(look);
};
look();
"""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site and yield its address: below a folder, as on a code host's pages."""
    with serve_folder(site.parent) as address:
        yield f"{address}{site.name}/"


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Playwright, for both browsers."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module", params=["browser", pytest.param("firefox", marks=pytest.mark.firefox)])
def browser(playwright: Playwright, program: Callable[[str], str], request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Chromium, then Firefox."""
    path = program(request.param)
    if request.param == "firefox":
        with firefox(playwright, path) as started:
            yield started
    else:
        chromium = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, console_errors: list[str], address: str) -> Iterator[Page]:
    """An empty page. In the end nothing was an error, and nothing was asked of another address."""
    asked: list[str] = []
    with empty_page(browser, console_errors) as page:
        page.on("request", lambda request: asked.append(request.url))
        yield page
        assert console_errors == []
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def live(page: Page, name: str) -> Locator:
    """The picture with this id, brought into view, once it can be stepped."""
    element = page.locator(f"#{name}")
    element.scroll_into_view_if_needed()
    expect(element).to_have_class(re.compile("live"))
    return element.locator(".klab")


def step_of(frame: str) -> str:
    """The step at which lab 3's run sends a frame."""
    return str(Journey(lab03()).payload["frames"][frame]["sent"])


@pytest.mark.parametrize("lab", ["00_meet_the_machine", "03_a_full_commit", "90_bugs_that_kafka_had"])
def test_every_picture_is_live(address: str, page: Page, site: Path, lab: str) -> None:
    count = len(PICTURE.findall((site / "labs" / f"{lab}.html").read_text(encoding="utf-8")))
    assert count > 1
    page.goto(f"{address}labs/{lab}.html")
    pictures = page.locator("kafka-run")
    expect(pictures).to_have_count(count)
    page.evaluate("for (const one of document.querySelectorAll('details.run')) one.open = true")
    for picture in pictures.all():
        picture.scroll_into_view_if_needed()
        expect(picture.locator(".klab").first).to_be_visible()
        expect(picture.locator("img")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_picture_steps_by_keyboard_and_only_with_the_focus(address: str, page: Page) -> None:
    page.goto(f"{address}{LAB}")
    walk = live(page, "walk")
    before = str(walk.get_attribute("data-step"))
    page.locator("#guess-first a").first.focus()
    page.keyboard.press("ArrowRight")
    expect(walk).to_have_attribute("data-step", before)
    walk.press("ArrowRight")
    expect(walk).not_to_have_attribute("data-step", before)
    walk.press("ArrowLeft")
    expect(walk).to_have_attribute("data-step", before)


def test_pictures_of_a_journey_step_together_and_others_do_not(address: str, page: Page) -> None:
    page.goto(f"{address}{LAB}")
    turn, panel, walk = live(page, "turn"), live(page, "turn-panel"), live(page, "walk")
    steps = [one.get_attribute("data-step") for one in (turn, panel, walk)]
    turn.press("ArrowRight")
    expect(turn).not_to_have_attribute("data-step", str(steps[0]))
    expect(panel).to_have_attribute("data-step", str(turn.get_attribute("data-step")))
    panel.press("Home")
    expect(turn).to_have_attribute("data-step", str(panel.get_attribute("data-step")))
    expect(turn).not_to_have_attribute("data-step", str(steps[0]))
    expect(walk).to_have_attribute("data-step", str(steps[2]))


def test_a_link_in_the_text_loads_the_picture_and_moves_it(address: str, page: Page) -> None:
    page.goto(f"{address}{LAB}")
    page.evaluate("document.querySelector('#and-now').scrollIntoView()")
    link = page.locator("#walk-it a[href='#EndTxn#1']").first
    expect(link).to_have_attribute("title", "Moves the picture to EndTxn#1")
    link.evaluate("link => link.click()")
    walk = page.locator("#walk .klab")
    expect(walk).to_have_attribute("data-step", step_of("EndTxn#1"))
    expect(walk).to_be_focused()
    expect(walk).to_be_in_viewport(ratio=0.5)
    walk.press("Home")
    link.click()
    expect(walk).to_have_attribute("data-step", step_of("EndTxn#1"))


def test_a_link_and_an_address_unfold_an_exhibit(address: str, page: Page) -> None:
    page.goto(f"{address}labs/90_bugs_that_kafka_had.html")
    page.locator("a[href='#show:KAFKA-5494']").first.click()
    exhibit = page.locator("#KAFKA-5494")
    expect(exhibit.locator(".klab.compare")).to_be_visible()
    expect(exhibit.locator(".klab.compare")).to_be_in_viewport()
    page.goto("about:blank")
    page.goto(f"{address}labs/90_bugs_that_kafka_had.html#KAFKA-5494@3")
    expect(exhibit.locator(".klab.compare")).to_have_attribute("data-row", "3")
    expect(exhibit.locator(".klab.compare")).to_be_in_viewport()


def test_a_card_keeps_the_guess_and_tells_where_it_is_shown_again(address: str, page: Page) -> None:
    page.goto(f"{address}{LAB}")
    asked, told = live(page, "predict"), live(page, "predict-told")
    expect(told.locator(".where")).to_have_text("0 of 2 right, 2 still open")
    asked.get_by_role("button", name=re.compile("^B ")).click()
    for card in (asked, told):
        expect(card.locator(".now")).to_contain_text("You said B.")
    told.get_by_role("button", name="What happened?").click()
    for card in (asked, told):
        expect(card.locator(".now")).to_have_text("Your answer, B, is wrong. It is C.")
        expect(card.locator(".because")).to_contain_text(REASON)
        expect(card.locator(".where")).to_have_text("0 of 2 right, 1 still open")
    page.reload()
    expect(live(page, "predict").locator(".now")).to_have_text("Your answer, B, is wrong. It is C.")
    number = live(page, "double-guess")
    number.get_by_role("textbox").fill("two")
    number.get_by_role("button", name="predict").click()
    expect(number.locator(".now")).to_have_text("A number is asked for.")
    number.get_by_role("textbox").fill("1")
    number.get_by_role("button", name="predict").click()
    live(page, "double-told").get_by_role("button", name="What happened?").click()
    expect(number.locator(".where")).to_contain_text("of 2 right")
    expect(number.locator(".where")).not_to_contain_text("open")


def test_no_answer_is_in_the_page(site: Path) -> None:
    found = [*site.glob("labs/*.html"), *site.glob("_static/runs/*/*.svg")]
    assert len(found) > 20
    assert [path for path in found if REASON in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("place", ["EndTxn%231", "chapter:decision", "54"])
def test_an_address_opens_a_picture_at_its_step(address: str, page: Page, place: str) -> None:
    page.goto(f"{address}{LAB}#walk@{place}")
    walk = page.locator("#walk .klab")
    journey = Journey(lab03())
    chapter = next(one["step"] for one in journey.payload["chapters"] if one["slug"] == "decision")
    decision = next(stop for stop in journey.stops() if stop >= chapter)
    steps = {"EndTxn%231": step_of("EndTxn#1"), "chapter:decision": str(decision), "54": "54"}
    expect(walk).to_have_attribute("data-step", steps[place])
    expect(walk).to_be_focused()
    page.wait_for_timeout(1000)  # the pictures around it have loaded, too
    box = walk.bounding_box()
    assert box
    assert 0 < box["y"] < 120


def test_the_link_to_a_step_is_an_address_that_opens_there(address: str, page: Page) -> None:
    page.goto(f"{address}{LAB}#walk@EndTxn%231")
    walk = page.locator("#walk .klab")
    expect(walk).to_have_attribute("data-step", step_of("EndTxn#1"))
    entries = page.evaluate("history.length")
    walk.press("ArrowRight")
    expect(walk).not_to_have_attribute("data-step", step_of("EndTxn#1"))
    assert page.url.endswith("#walk@EndTxn%231")
    page.locator("#walk > .here").click()
    assert page.evaluate("history.length") == entries
    moved = str(walk.get_attribute("data-step"))
    assert page.url.endswith(f"#walk@{moved}")
    page.reload()
    expect(walk).to_have_attribute("data-step", moved)


@pytest.mark.parametrize("heading", ["walk-it", "the-moment-of-decision", "your-turn"])
@pytest.mark.parametrize("phone", [False, True])
def test_a_heading_stays_where_the_reader_landed(address: str, page: Page, heading: str, phone: bool) -> None:
    if phone:
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.add_init_script(WATCH)
    page.goto(f"{address}{LAB}#{heading}")
    expect(page.locator("kafka-run.live").first).to_be_attached()
    page.wait_for_timeout(1500)
    tops = page.evaluate("tops")
    assert 0 <= tops[0] < 700
    assert max(tops) - min(tops) < 3


def places_linked_in(site: Path) -> dict[str, list[str]]:
    """Return the places within pages to which links of other pages lead, by page."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in pages(site):
        _, _, text = path.read_text(encoding="utf-8").partition("<article")
        folder = path.relative_to(site).parent.as_posix()
        for to in re.findall(r'href="([^":?#]+#[^"]+)"', text.partition("</article>")[0]):
            page, _, place = unescape(to).partition("#")
            if place and (target := posixpath.normpath(posixpath.join(folder, page))) != "run.html":
                found[target].add(place)
    return {target: sorted(found[target]) for target in sorted(found) if (site / target).is_file()}


def test_every_link_to_a_place_within_a_page_leads_there(site: Path, address: str, page: Page) -> None:
    """The first link to a page opens it; the others are followed in it."""
    linked = places_linked_in(site)
    assert len(linked) > 10
    for target, places in linked.items():
        page.goto(f"{address}{target}#{places[0]}")
        for place in places:
            page.evaluate("place => { location.hash = place; }", place)
            expect(page.locator(f"[id='{place}']")).to_be_in_viewport()


def test_the_theme_reaches_the_pictures_at_once(address: str, page: Page) -> None:
    page.goto(f"{address}{LAB}")
    walk = live(page, "walk")
    grounds = []
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
        grounds.append(walk.evaluate("picture => getComputedStyle(picture).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(28, 28, 28)"]


def test_a_picture_that_cannot_be_loaded_says_so_and_stays_and_can_be_tried_again(
    address: str, page: Page, console_errors: list[str]
) -> None:
    page.route("**/walk.packed", lambda route: route.abort())
    page.goto(f"{address}{LAB}")
    walk = page.locator("#walk")
    walk.scroll_into_view_if_needed()
    expect(walk.get_by_role("alert")).to_contain_text("This picture cannot be moved now")
    expect(walk.locator("img")).to_be_visible()
    page.unroute("**/walk.packed")
    walk.get_by_role("button", name="Try again").click()
    expect(walk.locator(".klab")).to_be_visible()
    console_errors.clear()


@pytest.mark.parametrize("browser", ["browser"], indirect=True)
def test_without_scripts_the_static_pictures_and_their_words_stay(
    address: str, browser: Browser, console_errors: list[str]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}{LAB}")
    expect(page.locator("#walk img")).to_be_visible()
    assert page.locator("#walk img").get_attribute("alt")
    words = page.locator("#walk + noscript details")
    words.locator("summary").click()
    expect(words.locator("pre")).to_contain_text("init_transactions()")
    context.close()
