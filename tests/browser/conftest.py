"""JupyterLab on a copy of the labs, and a headless Chromium that looks at it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from tests.jupyter_server import address_of, stop

SHOW_WITHIN_MS = 60_000
LAPTOP: ViewportSize = {"width": 1280, "height": 800}
expect.set_options(timeout=SHOW_WITHIN_MS)
CHROMIUM_ARGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Chromium heeds the last such switch alone: so what Playwright itself switches off, and the pages behind the
    # address bar, which take a second of each window that opens.
    "--disable-features=AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,"
    "HttpsFirstBalancedModeAutoEnable,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning,OptimizationHints,"
    "NetworkTimeServiceQuerying,AimEnabled,PreconnectToSearch,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
]


@dataclass(frozen=True, slots=True)
class Jupyter:
    """A running JupyterLab: its address (ends in a slash), its token, and the folder it serves."""

    address: str
    token: str
    folder: Path

    def url(self, path: str) -> str:
        """The address of `path`, such as "lab/tree/labs/00_start.ipynb", with the token in it."""
        return f"{self.address}{path}?token={self.token}"


@pytest.fixture(scope="session")
def jupyter(program: Callable[[str], str], root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """JupyterLab as `make lab` starts it, on a free port of this machine, over a copy of labs/."""
    program("browser")
    folder = tmp_path_factory.mktemp("jupyter")
    shutil.copytree(root / "labs", folder / "labs", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    shutil.copytree(root / "docs", folder / "docs", ignore=shutil.ignore_patterns("recordings"))
    token, log = secrets.token_hex(16), folder / "server.log"
    environment = {name: value for name, value in os.environ.items() if name != "KAFKALAB_PROGRESS"}
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        environment[name] = str(folder / name.lower())
    command = [sys.executable, "-m", "kafkalab.cli.main", "lab", "--no-browser", "--ServerApp.ip=127.0.0.1"]
    command += ["--ServerApp.port=0", f"--IdentityProvider.token={token}"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Jupyter(address_of(process, folder / "jupyter_runtime_dir", log), token, folder)
    finally:
        stop(process)


# Not one for the whole session: while Playwright is at work no other test could run an event loop of its own.
@pytest.fixture(scope="module")
def browser(program: Callable[[str], str]) -> Iterator[Browser]:
    """The system's Chromium, without a window."""
    path = program("browser")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def console_errors() -> list[str]:
    """Return what the page of this test wrote to the browser's console as an error, and what it threw."""
    return []


@contextmanager
def empty_page(browser: Browser, console_errors: list[str]) -> Iterator[Page]:
    """An empty page of a laptop's size, with cookies and settings of its own; its errors go into the list."""
    context = browser.new_context(viewport=LAPTOP)
    context.set_default_timeout(SHOW_WITHIN_MS)

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            console_errors.append(f"{message.text} ({message.location.get('url', '')})")

    page = context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: console_errors.append(str(error)))
    yield page
    context.close()


@pytest.fixture
def page(browser: Browser, console_errors: list[str]) -> Iterator[Page]:
    """An empty page for this test alone."""
    with empty_page(browser, console_errors) as page:
        yield page


@pytest.fixture
def open_lab(jupyter: Jupyter, page: Page) -> Callable[[str], Page]:
    """A function from a notebook's name, such as "00_start", to the page that shows it, its kernel ready."""

    def open_(name: str) -> Page:
        page.goto(jupyter.url(f"lab/tree/labs/{name}.ipynb") + "&reset")  # without the tabs of earlier tests
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        expect(page.locator("#jp-bottom-panel")).to_contain_text("| Idle")
        return page

    return open_
