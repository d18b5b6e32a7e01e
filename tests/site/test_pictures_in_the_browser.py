"""The other pictures of the page with Python in it, in Chromium: one step for all, by keyboard, and only when asked."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Locator, Page, expect

from kafkalab import Drop, Journey, lab00, lab03
from kafkalab.sim.codec import code_of
from kafkalab.site.page.pictures import PICTURES
from tests.browser.conftest import browser, console_errors, page
from tests.site.test_page_in_the_browser import PICTURE, address, loading, opened, shows
from tests.widgets.frames import drawn

__all__ = ["address", "browser", "console_errors", "page"]
pytestmark = [pytest.mark.browser, pytest.mark.site]

WIDE, PHONE = {"width": 1920, "height": 1080}, {"width": 390, "height": 844}


def tab(page: Page, name: str) -> Locator:
    """The tab of a picture, by its name in addresses."""
    return page.get_by_role("tab", name=PICTURES[name].title, exact=True)


def shown(page: Page) -> Locator:
    """The picture that is open."""
    return page.get_by_role("tabpanel").locator(".klab")


def step(page: Page) -> str:
    """The step of the sequence."""
    return page.locator(PICTURE).get_attribute("data-step") or ""


def test_each_picture_is_loaded_when_it_is_opened_and_has_one_step_with_the_sequence(
    address: str, page: Page, console_errors: list[str]
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    opened(page, address)
    assert page.get_by_role("tab").all_inner_texts() == [picture.title for picture in PICTURES.values()]
    assert page.get_by_role("tab", selected=True).count() == 0
    expect(page.get_by_role("tabpanel")).to_be_hidden()
    assert [url for url in asked if "/pictures/" in url] == []
    for name in PICTURES:
        tab(page, name).click()
        expect(shown(page)).to_have_attribute("data-step", step(page))
        expect(page.get_by_role("tab", selected=True)).to_have_text(PICTURES[name].title)
        expect(page.get_by_role("tabpanel")).to_have_accessible_name(PICTURES[name].title)
        before = step(page)
        page.locator(PICTURE).press("ArrowRight")
        expect(page.locator(PICTURE)).not_to_have_attribute("data-step", before)
        expect(shown(page)).to_have_attribute("data-step", step(page))
        shown(page).press("End")
        expect(page.locator(PICTURE)).not_to_have_attribute("data-step", before)
        expect(shown(page)).to_have_attribute("data-step", step(page))
        page.locator(PICTURE).press("Home")
        expect(shown(page)).to_have_attribute("data-step", step(page))
    assert sorted(url.removeprefix(address) for url in asked if "/pictures/" in url) == sorted(
        f"pictures/{name}.{kind}" for name in PICTURES for kind in ("js", "css")
    )
    assert [url for url in asked if not url.startswith((address.removesuffix("page/"), "blob:", "data:"))] == []
    assert console_errors == []


@pytest.mark.parametrize("order", [list(PICTURES), list(PICTURES)[::-1]])
def test_no_style_sheet_changes_how_another_picture_looks(address: str, page: Page, order: list[str]) -> None:
    opened(page, f"{address}#lab=lab03&at=EndTxn%231")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    looks: dict[str, list[bytes]] = {}
    for name in [*order, *order]:
        tab(page, name).click()
        expect(shown(page)).to_be_visible()
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        looks.setdefault(name, []).append(shown(page).screenshot(animations="disabled"))
        looks.setdefault("sequence", []).append(page.locator(PICTURE).screenshot(animations="disabled"))
    assert {name for name, pictures in looks.items() if len(set(pictures)) > 1} == set()


def test_of_several_choices_in_a_row_the_last_is_shown(address: str, page: Page, console_errors: list[str]) -> None:
    opened(page, address)
    page.evaluate("for (const name of ['states', 'logs', 'cluster']) document.querySelector(`#tab-${name}`).click()")
    expect(shown(page)).to_have_class(re.compile("cluster-map"))
    page.evaluate("for (const name of ['logs', 'logs', 'client']) document.querySelector(`#tab-${name}`).click()")
    expect(shown(page)).to_have_class(re.compile("client-view"))
    expect(page.locator("#note")).to_be_empty()
    assert console_errors == []


@pytest.mark.parametrize("name", list(PICTURES))
def test_a_fault_is_shown_in_the_picture_that_is_open(
    address: str, page: Page, name: str, console_errors: list[str]
) -> None:
    opened(page, f"{address}#lab=lab03&at=EndTxn%231&view={name}")
    expect(shown(page)).to_have_attribute("data-step", step(page))
    page.locator(PICTURE).press("d")
    struck = Journey(lab03())
    struck.press("find", "EndTxn#1")
    struck.press("drop")
    shows(page, struck.scenario)
    expect(page.locator(PICTURE)).to_have_attribute("data-step", str(struck.step))
    expect(shown(page)).to_have_attribute("data-step", str(struck.step))
    page.locator(PICTURE).press("z")
    shows(page, lab03())
    expect(shown(page)).to_be_visible()
    assert console_errors == []


def test_the_choice_stays_when_another_run_is_opened_and_says_where_it_makes_no_sense(address: str, page: Page) -> None:
    opened(page, f"{address}#lab=lab03&view=states:producer")
    expect(shown(page)).to_have_attribute("data-machine", "producer")
    page.locator("#runs").select_option("lab00")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("no transaction, no producer with an id and no consumer group")
    expect(shown(page)).to_have_count(0)
    shows(page, lab00())
    page.locator("#runs").select_option("lab06")
    expect(shown(page)).to_have_attribute("data-machine", "coordinator")
    page.get_by_label("What the picture is of").select_option("producer")
    expect(shown(page)).to_have_attribute("data-machine", "producer")
    tab(page, "client").click()
    expect(panel).to_contain_text("What till-1 knows")
    page.get_by_label("What the picture is of").select_option("till-2")
    expect(panel).to_contain_text("What till-2 knows")
    page.get_by_role("button", name="close", exact=True).click()
    expect(panel).to_be_hidden()
    expect(tab(page, "client")).to_be_focused()
    page.locator("#runs").select_option("lab03")
    shows(page, lab03())
    expect(panel).to_be_hidden()


def test_the_tabs_are_reached_and_chosen_by_keyboard(address: str, page: Page) -> None:
    opened(page, address)
    first, second, last = (tab(page, list(PICTURES)[i]) for i in (0, 1, -1))
    assert [one.get_attribute("tabindex") for one in page.get_by_role("tab").all()] == ["0", *["-1"] * 4]
    first.focus()
    page.keyboard.press("ArrowLeft")
    expect(last).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(second).to_be_focused()
    expect(page.get_by_role("tabpanel")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(second).to_have_attribute("aria-selected", "true")
    expect(second).to_be_focused()
    expect(shown(page)).to_be_visible()
    page.keyboard.press("End")
    expect(last).to_be_focused()
    page.keyboard.press("Space")
    expect(last).to_have_attribute("aria-selected", "true")
    expect(second).to_have_attribute("aria-selected", "false")
    expect(shown(page)).to_have_class(re.compile("cost"))
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="close", exact=True)).to_be_focused()
    last.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tabpanel")).to_be_hidden()


def test_a_picture_chosen_while_python_loads_opens_when_it_is_there(
    address: str, page: Page, console_errors: list[str]
) -> None:
    with loading(page):
        page.goto(address)
        expect(page.locator(PICTURE)).to_be_visible()
        tab(page, "cluster").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("Python is loading. This picture opens when it is there.")
        page.locator(PICTURE).press("ArrowRight")
    expect(shown(page)).to_have_class(re.compile("cluster-map"))
    expect(shown(page)).to_have_attribute("data-step", step(page))
    assert console_errors == []


def test_where_python_never_comes_the_picture_says_so(address: str, page: Page) -> None:
    page.route("**/kafkalab.packed", lambda route: route.fulfill(status=404))
    page.goto(f"{address}#view=logs")
    expect(page.locator(PICTURE)).to_be_visible()
    expect(page.get_by_role("tabpanel")).to_contain_text("Python has failed: this run can only be looked at.")
    tab(page, "costs").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("Python has failed: this run can only be looked at.")


def test_an_address_names_a_picture_and_the_link_to_a_run_does(address: str, page: Page) -> None:
    opened(page, f"{address}#view=client")
    expect(shown(page)).to_be_visible()
    expect(page.locator("#runs")).to_have_value("lab03")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#link").click()
    expect(page.locator("#said")).to_contain_text("is on the clipboard")
    assert page.evaluate("navigator.clipboard.readText()") == f"{address}#run={code_of(lab03())}&view=client"
    page.evaluate("location.hash = '#lab=lab00&view=map'")
    expect(page.locator("#said")).to_contain_text("No picture is called 'map'; there are logs, states, cluster, client")
    shows(page, lab03())
    broken = replace(lab03(), faults=(Drop("EndTxnResponse#1"),))
    page.evaluate("code => { location.hash = `#run=${code}&view=states:tree`; }", code_of(broken))
    shows(page, broken)
    expect(page.get_by_role("tabpanel")).to_contain_text(
        "This run has no 'tree' to show here; there are coordinator, producer."
    )
    page.get_by_label("What the picture is of").select_option("coordinator")
    expect(shown(page)).to_have_attribute("data-machine", "coordinator")


def test_an_unknown_picture_of_the_first_address_is_told_and_the_recording_says_why_it_stays_one(
    address: str, page: Page
) -> None:
    page.goto(f"{address}#lab=lab03&view=map")
    expect(page.locator("#said")).to_contain_text("No picture is called 'map'")
    expect(page.locator("#loading")).to_be_hidden()
    page.locator(PICTURE).press("1")
    expect(page.locator(".klab .now")).to_contain_text("No picture is called 'map'")
    page.evaluate("location.hash = '#lab=lab03'")
    shows(page, lab03())
    page.locator('.klab [data-action="crash"]').first.click()
    expect(page.locator('[data-action="undo"]')).to_have_attribute("aria-disabled", "false")


def test_a_stopped_python_shows_the_picture_again(address: str, page: Page) -> None:
    opened(page, f"{address}#lab=lab03&view=logs")
    expect(shown(page)).to_be_visible()
    page.locator(f'{PICTURE} [data-action="what_if"]').click()
    page.locator("#stop").click()
    expect(page.locator("#said")).to_be_empty()
    expect(shown(page)).to_have_attribute("data-step", step(page))
    shows(page, lab03())


@pytest.mark.parametrize("name", list(PICTURES))
def test_picture_and_arrow_are_on_the_screen_together(address: str, page: Page, name: str) -> None:
    opened(page, f"{address}#lab=lab03&at=EndTxn%231")
    rows = page.locator(f"{PICTURE} .scroll")
    tab(page, name).click()
    expect(shown(page)).to_be_visible()
    expect(rows).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("tabpanel")).to_be_in_viewport(ratio=1)
    arrow, panel = rows.bounding_box(), page.locator("#pictures").bounding_box()
    assert arrow
    assert panel
    assert arrow["y"] + arrow["height"] <= panel["y"]
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    drawn(page)
    expect(page.get_by_role("tabpanel")).to_be_in_viewport(ratio=1)
    sequence, beside = page.locator(PICTURE).bounding_box(), shown(page).bounding_box()
    assert sequence
    assert beside
    assert sequence["x"] + sequence["width"] <= beside["x"]
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    drawn(page)
    expect(page.get_by_role("tabpanel")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
