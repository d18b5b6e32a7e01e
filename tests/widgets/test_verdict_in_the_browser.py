"""The verdict in Chromium: the screen says what the text says, and a finding takes all views to its step."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from kafkalab import lab03, lab06
from kafkalab.programs.transfers import kafka_17754
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.verdict import Verdict, finding_text
from tests.widgets.live import Live
from tests.widgets.test_verdict import load_duplicate

pytestmark = pytest.mark.browser
SEEN = """() => ({
  verdict: document.querySelector(".verdicts").dataset.verdict, said: document.querySelector(".verdict .now").textContent,
  findings: [...document.querySelectorAll('[data-action="finding"]')].map((b) => b.textContent.replace(/\\s+/g, " ")),
  quiet: [...document.querySelectorAll(".verdicts .quiet")].map((e) => [e.classList[1], [...e.querySelectorAll("span")].map((s) => s.textContent)]),
})"""  # noqa: E501


def compare(page: Page, verdict: Verdict) -> None:
    """The screen has the verdict, the sentence, every finding and every quiet check of the text twin, in its order."""
    page.wait_for_function("document.querySelector('.verdicts').dataset.verdict !== ''")
    seen, report, text = page.evaluate(SEEN), verdict.report, verdict.text()
    assert (seen["verdict"], seen["said"]) == (report["verdict"], report["sentence"])
    wanted = [finding_text(f).replace(f", {f['policy']}:", f" {f['policy']}") for f in verdict.findings()]
    assert seen["findings"] == wanted
    for kind, names in seen["quiet"]:
        assert f" {kind}: {', '.join(names)}" in text


@pytest.mark.smoke
def test_the_screen_says_what_the_text_says(page: Page, console_errors: list[str]) -> None:
    for scenario in (lab03(), load_duplicate(), kafka_17754()):
        verdict = Verdict(scenario)
        tried = page.context.new_page()
        Live(tried, verdict)
        compare(tried, verdict)
        tried.close()
    assert console_errors == []


def test_a_finding_takes_the_cursor_of_every_view_to_the_step_that_proves_it(
    page: Page, console_errors: list[str]
) -> None:
    verdict = Verdict(load_duplicate(), size="projector")
    live = Live(page, verdict, Sequence(verdict))
    compare(page, verdict)
    page.locator('[data-action="finding"]').last.click()
    step = str(verdict.findings()[-1]["step"])
    assert page.evaluate("[...document.querySelectorAll('.klab')].map((e) => e.dataset.step)") == [step, step]
    page.keyboard.press("Home")
    page.locator(".verdict").focus()
    page.keyboard.press("n")
    assert page.evaluate("document.querySelector('.verdict').dataset.step") == step
    page.keyboard.press("n")
    expect(page.locator(".verdict .now")).to_have_text("No finding is proved in this direction.")
    page.wait_for_timeout(450)  # longer than the pause after which the kernel is told
    live.settle()
    assert verdict.step == int(step)
    assert console_errors == []


def test_another_run_is_looked_at_when_it_is_shown(page: Page) -> None:
    journey = Journey(lab03())
    verdict = Verdict(journey)
    live = Live(page, verdict)
    compare(page, verdict)
    journey.press("crash", "app")
    live.push()
    live.settle()
    page.wait_for_function("models.w0.get('told').place === 1")
    compare(page, verdict)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.locator(".verdict").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next, previous finding")


def test_the_longest_verdict_of_a_lab_stands_on_one_screen(page: Page) -> None:
    page.set_viewport_size({"width": 864, "height": 800})
    verdict = Verdict(lab06(first="billing-7f3a", second="billing-c01e"))
    Live(page, verdict)
    compare(page, verdict)
    assert page.evaluate("document.querySelector('.klab').offsetHeight") < 600
    for kind, first in ((".anomaly.allowed", "li"), (".quiet.ok", "span")):
        expect(page.locator(f"{kind} {first}").first).to_be_hidden()
        page.locator(f"{kind} summary").click()
        expect(page.locator(f"{kind} {first}").first).to_be_visible()
