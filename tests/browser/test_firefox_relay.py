"""What the relay between Playwright and Firefox mends, and what it leaves as it is."""

from __future__ import annotations

from tests.browser.firefox_relay import mend

UNKNOWN = {"type": "error", "id": 7, "error": "unknown command", "message": "emulation.setMediaFeaturesOverride"}


def test_an_unknown_command_that_may_be_unknown_is_done() -> None:
    assert mend(UNKNOWN, {7}) == {"type": "success", "id": 7, "result": {}}


def test_any_other_error_stays() -> None:
    invalid = {**UNKNOWN, "error": "invalid argument"}
    assert mend(UNKNOWN, {8}) == UNKNOWN
    assert mend(invalid, {7}) == invalid


def test_a_download_gets_its_address_as_an_id_unless_it_has_one() -> None:
    begins = {"type": "event", "method": "browsingContext.downloadWillBegin", "params": {"url": "blob:1"}}
    assert mend(begins, set())["params"] == {"url": "blob:1", "download": "blob:1"}
    newer = {**begins, "params": {"url": "blob:1", "download": "d"}}
    assert mend(newer, set()) == newer


def test_an_event_stays() -> None:
    loaded = {"type": "event", "method": "browsingContext.load", "params": {"url": "http://127.0.0.1/"}}
    assert mend(loaded, {7}) == loaded
