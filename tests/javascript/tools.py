"""Node, and the tools for the pictures that pictures/package.json pins."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.programs_found import give_up

PICTURES = Path(__file__).parents[2] / "pictures"
TOOLS = PICTURES / "node_modules"


@pytest.fixture(scope="session")
def node(program: Callable[[str], str]) -> str:
    """The command that runs Node, with the tools that pictures/package.json pins beside their sources."""
    command, npm = program("node"), program("npm")
    wanted = (PICTURES / "package.json").read_text(encoding="utf-8")
    installed = TOOLS / "installed.json"
    if not installed.exists() or installed.read_text(encoding="utf-8") != wanted:
        install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(install, cwd=PICTURES, capture_output=True, text=True, timeout=300)
        if done.returncode:
            give_up(f"npm could not install what pictures/package.json names: {done.stderr.strip()[-200:]}", "node")
        installed.write_text(wanted, encoding="utf-8")
    return command
