"""Jars from Maven Central, got once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path.home() / ".cache" / "kafkalab"


def jars_of(pom: Path, folder: Path, jar: str) -> Path:
    """Return `folder`, which Maven fills with what `pom` names unless a file like `jar` is there.

    Without Java, Maven or Maven Central the test is skipped, or fails if KAFKALAB_REQUIRE names index and java.
    """
    if list(folder.glob(jar)):
        return folder
    if shutil.which("mvn") is None or shutil.which("java") is None:
        _give_up(f"{jar} needs java and Maven")
    goal = ("dependency:copy-dependencies", f"-DoutputDirectory={folder}")
    run = subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], capture_output=True, text=True, timeout=900)
    if run.returncode:
        _give_up(f"Maven could not get {jar}: {run.stdout.strip()[-300:]}")
    return folder


def _give_up(why: str) -> None:
    required = os.environ.get("KAFKALAB_REQUIRE", "").split(",")
    (pytest.fail if {"index", "java"} <= {*required} else pytest.skip)(why)
