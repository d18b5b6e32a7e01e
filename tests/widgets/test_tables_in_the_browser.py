"""The tables of a database in Chromium: each row is open or committed, as the text twin says, without Kafka's marks."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from kafkalab import Compare, lab11, lab17
from kafkalab.sim.cluster import Cluster
from kafkalab.widgets.payload.payload import payload_of
from kafkalab.widgets.payload.text import replay, strip_line
from tests.widgets.harness import complete, show
from tests.widgets.live import Live
from tests.widgets.test_compare_in_the_browser import same

pytestmark = pytest.mark.browser
STRIP = """() => {
  const strip = document.querySelector('[data-partition="table bookings"]');
  const words = (e) => [...e.querySelectorAll(".off, .text")].map((one) => one.textContent).join(" ");
  const row = (e) => `[${words(e)} ${e.dataset.fate}]`;
  const rows = [...strip.querySelectorAll("[data-batch]")].map(row);
  const label = [...strip.querySelectorAll(".label :is(small, .pins)")].map((e) => e.textContent).join(", ");
  return {line: `table bookings ${label}: ${rows.join(" ") || "empty"}`, bars: strip.querySelectorAll(".mark").length};
}"""


def payload_of_lab() -> dict[str, Any]:
    cluster = Cluster(lab11("database first", gap=3))
    cluster.run()
    return complete(payload_of(cluster))


@pytest.mark.smoke
def test_a_table_shows_which_rows_are_committed(page: Page, console_errors: list[str]) -> None:
    payload = payload_of_lab()
    steps = [event["step"] for event in payload["events"] if event["name"] == "database"]
    assert [payload["marks"][str(step)] for step in steps] == ["INSERT bookings", "COMMIT"] * 2
    seen = []
    for step in steps:
        show(page, payload, step)
        found = page.evaluate(STRIP)
        assert found == {"line": strip_line("table bookings", replay(payload, step)), "bars": 0}
        seen.append(found["line"].partition(", ")[2])
    assert seen == [
        "committed 0: [0 ann 10 open]",
        "committed 1: [0 ann 10 committed]",
        "committed 1: [0 ann 10 committed] [1 ann 10 open]",
        "committed 2: [0 ann 10 committed] [1 ann 10 committed]",
    ]
    assert console_errors == []


def test_a_row_that_was_deleted_is_removed(page: Page, console_errors: list[str]) -> None:
    cluster = Cluster(lab11("outbox"))
    cluster.run()
    payload = complete(payload_of(cluster))
    step = next(s for s, mark in payload["marks"].items() if mark == "DELETE outbox")
    show(page, payload, int(step))
    strip = page.locator('[data-partition="table outbox"]')
    expect(strip.locator(".pins")).to_have_text("committed 0")
    expect(strip.locator(".cell.gone .sign")).to_have_text("− removed")
    assert console_errors == []


def test_a_row_that_is_replaced_in_one_statement_is_committed(page: Page, console_errors: list[str]) -> None:
    cluster = Cluster(lab17())
    cluster.run()
    payload, seen = complete(payload_of(cluster)), []
    for step in [event["step"] for event in payload["events"] if event["name"] == "database"]:
        show(page, payload, step)
        strip = page.locator('[data-partition="table positions"]')
        expect(strip.locator(".pins")).to_have_text("committed 1")
        expect(strip.locator("[data-fate=committed]")).to_have_count(1)
        expect(strip.locator(".label > b")).to_have_text("table positions")
        seen.append(strip_line("table positions", replay(payload, step)).partition(", ")[2])
    assert seen == [f"committed 1: [0 payments-0 {position} committed]" for position in (1, 2, 3)]
    assert console_errors == []


def test_two_runs_with_a_table_say_what_the_text_says(page: Page, console_errors: list[str]) -> None:
    compare = Compare(lab11("database first"), lab11("database first", gap=3))
    Live(page, compare)
    page.locator(".compare").focus()
    page.wait_for_function("!document.querySelector('.verdict').textContent.includes('looking')")
    page.keyboard.press("Home")
    compare.press("home")
    for _ in range(30):
        same(page, compare)
        page.keyboard.press("ArrowRight")
        compare.press("right")
    assert any("table bookings in SQLite, committed 1" in "".join(pair) for pair in compare.state())
    assert console_errors == []
