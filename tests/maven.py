"""Jars from Maven Central, got once."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.programs_found import give_up

CACHE = Path.home() / ".cache" / "kafkalab"


def jars_of(pom: Path, folder: Path, jar: str) -> Path:
    """Return `folder`, which Maven fills with what `pom` names unless a file like `jar` is there.

    Without Java or Maven the test is skipped, or fails if KAFKALAB_REQUIRE names index and java. Where Maven Central
    cannot be reached it is skipped. Several processes may ask at once: the folder appears when it is complete.
    """
    if list(folder.glob(jar)):
        return folder
    if shutil.which("mvn") is None or shutil.which("java") is None:
        give_up(f"{jar} needs java and Maven", "index", "java")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as made:
        jars = Path(made) / "jars"
        goal = ("dependency:copy-dependencies", f"-DoutputDirectory={jars}")
        run = subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], capture_output=True, text=True, timeout=900)
        if run.returncode or not list(jars.glob(jar)):
            pytest.skip(f"Maven could not get {jar}: {run.stdout.strip()[-300:]}")
        with suppress(OSError):  # another process was faster
            jars.rename(folder)
    return folder
