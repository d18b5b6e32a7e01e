"""A Java for Spark: found on this machine, brought by conda, or fetched where the network allows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

LEAST = 17
HOW_TO_GET_ONE = (
    f"PySpark needs Java {LEAST} or newer. conda: `conda install openjdk={LEAST}`; Debian or Ubuntu: "
    f"`apt install openjdk-{LEAST}-jre-headless`; macOS: `brew install openjdk@{LEAST}`; anywhere: `pip install cjdk`, "
    "which downloads one. If it is not found then, set JAVA_HOME."
)


class JavaMissingError(RuntimeError):
    """There is no Java that Spark can use; the message is one line that says how to get one."""

    def __init__(self, found: list[str]) -> None:
        super().__init__(HOW_TO_GET_ONE + (f" Found but too old: {', '.join(found)}." if found else ""))

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows."""
        return [str(self)]


def java_home() -> Path:
    """The home of a Java that Spark 4 runs on; JavaMissingError, with one line that helps, where there is none.

    Looked for in JAVA_HOME, the running environment (conda), PATH; then, if `cjdk` is installed, it may fetch one.
    """
    too_old: list[str] = []
    for home in _candidates():
        version = version_of(home)
        if version >= LEAST:
            return home
        if version > 0:
            too_old.append(f"Java {version} in {home}")
    fetched = _fetch()
    if fetched is None:
        raise JavaMissingError(too_old)
    return fetched


def version_of(home: Path) -> int:
    """The major version of the Java in this home, 0 if there is none that runs."""
    try:
        shown = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)(?:\.(\d+))?', shown.stderr)
    if shown.returncode != 0 or found is None:
        return 0
    major = int(found[1])
    return int(found[2] or 0) if major == 1 else major


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    yield Path(sys.prefix)
    yield Path(sys.prefix) / "lib" / "jvm"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent


def _fetch() -> Path | None:
    """One that `cjdk` has, or gets; None without it or without a network."""
    try:
        cjdk = import_module("cjdk")
    except ImportError:
        return None
    print(f"Looking for Java {LEAST} with cjdk; the first time it is downloaded (about 190 MB).", file=sys.stderr)
    try:
        home = Path(cjdk.java_home(vendor="temurin", version=str(LEAST)))
    except (OSError, RuntimeError, ValueError, LookupError) as error:  # what cjdk's own errors are
        print(f"cjdk could not get it: {str(error).partition(chr(10))[0]}", file=sys.stderr)
        return None
    return home if version_of(home) >= LEAST else None
