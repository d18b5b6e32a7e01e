"""The wheel that the tests of this folder install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.empty_environments import empty_environment, install, plain

PARTS = (
    "binder",
    "data",
    "docs",
    "kafkalab",
    "labs",
    "LICENSE",
    "NOTICE",
    "README.md",
    "pyproject.toml",
)


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in a copy of the checkout."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheel")
    for name in PARTS:
        if (root / name).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "recorded")
            shutil.copytree(root / name, copy / name, ignore=unwanted)
        else:
            shutil.copy(root / name, copy)
    builder = empty_environment(tmp_path_factory.mktemp("builder"))
    command = [str(builder / "bin" / "pip"), "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(copy)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, env=plain())
    if run.returncode:
        install(builder, "hatchling==1.33.0")  # skips, or fails, if the index does not answer
        pytest.fail(run.stderr)
    (made,) = out.glob("*.whl")
    return made
