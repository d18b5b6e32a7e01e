"""Every lab in the built site: its solutions run from the first cell to the last, with the outputs of a server.

A file of its own, since it takes as long as all other tests of the site.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.site.__main__ import NAMES, row

pytestmark = [pytest.mark.browser, pytest.mark.site, pytest.mark.notebooks]


ELSEWHERE = "03_a_full_commit"
"""test_site.py runs it so, and goes on with what it has run."""


@pytest.mark.parametrize("name", [name for name in NAMES if name != ELSEWHERE])
def test_all_cells_run_and_all_checks_pass_with_the_saved_outputs(
    browser: Browser, with_answers: str, name: str
) -> None:
    line, well = row(browser, with_answers, name)
    assert well, line
