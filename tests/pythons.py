"""Check the same on every Python that is found: `python -m tests.pythons`, or `make pythons`.

For each a `make fast` in an environment of its own, build/python3.NN; with --notebooks also nbval on the labs without
Spark, which compares every output and every picture. A Python that is not there is a line that says so.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ((3, 11), (3, 12), (3, 13), (3, 14))
BUILD = ROOT / "build"
FETCHED = (3, 14)
"""The one that `make python3.14` gets where the machine has none."""
ASK = "import sys, venv, ensurepip; print(*sys.version_info[:3], sep='.')"
WITH_SPARK = "12_auditing_with_spark.ipynb"
"""Its figures are made by Spark, and Spark is not the same on every Python."""


def candidates(version: tuple[int, int]) -> Iterator[str]:
    """Where a Python of this version may be: on the path, at pyenv (the newest first), or where make fetches it to."""
    name = "python{}.{}".format(*version)
    if found := shutil.which(name):
        yield found
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = home.glob("versions/{}.{}.*".format(*version))
    yield from (
        str(f / "bin" / name) for f in sorted(folders, key=lambda f: [*map(int, re.findall(r"\d+", f.name))])[::-1]
    )
    yield from (str(path) for path in sorted(BUILD.glob(f"{name}-of-maven/bin/{name}")))


def python_of(version: tuple[int, int]) -> tuple[str, str] | None:
    """The first of them that runs and can make environments, and its full version; None if there is none."""
    for path in candidates(version):
        try:
            run = subprocess.run([path, "-c", ASK], capture_output=True, text=True, timeout=60)
        except OSError:
            continue
        full = run.stdout.strip()
        if run.returncode == 0 and full.startswith("{}.{}.".format(*version)):
            return path, full
    return None


def commands(path: str, version: tuple[int, int], notebooks: bool, more: list[str]) -> list[list[str]]:
    """What is run with this Python."""
    place = "build/python{}.{}".format(*version)
    found = [["make", "fast", f"PYTHON={path}", f"VENV={place}", f"ARGS={' '.join(more)}"]]
    if notebooks:
        labs = sorted(p for p in (ROOT / "labs" / "solutions").glob("[0-9]*.ipynb") if p.name != WITH_SPARK)
        found.append([f"{place}/bin/python", "-m", "pytest", "-q", *(str(p.relative_to(ROOT)) for p in labs)])
    return found


def outcome(path: str, version: tuple[int, int], notebooks: bool, more: list[str]) -> tuple[bool, str]:
    """Run them, with their output on the terminal; return whether all passed, and the last lines of each."""
    said = []
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    kept["KAFKALAB_PROGRESS"] = "off"  # a slow check would print how far it has come
    for command in commands(path, version, notebooks, more):
        process = subprocess.Popen(
            command, cwd=ROOT, env=kept, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        last = ""
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
        process.stdout.close()
        said.append(last)
        if process.wait():
            return False, "; ".join(said)
    return True, "; ".join(said)


def main(words: list[str]) -> int:
    """Check with every Python; print a line for each at the end; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__)
    parser.add_argument("--notebooks", action="store_true", help="run nbval on the labs, too")
    parser.add_argument("--only", action="append", metavar="3.NN", help="this version only; may be repeated")
    options, more = parser.parse_known_args(words)
    lines, failed = [], False
    for version in KNOWN:
        name = "{}.{}".format(*version)
        if options.only and name not in options.only:
            continue
        found = python_of(version)
        if found is None:
            hint = f" (`make python{name}` gets it)" if version == FETCHED else ""
            lines.append(f"{name}: not on this machine, so not tested{hint}")
            continue
        began = time.monotonic()
        good, said = outcome(found[0], version, options.notebooks, more)
        failed |= not good
        lines.append(f"{found[1]}: {'passed' if good else 'FAILED'} in {time.monotonic() - began:.0f} s: {said}")
    print(*lines, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
