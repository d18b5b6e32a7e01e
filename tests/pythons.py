"""Check the same on every Python that is found: `python -m tests.pythons`, or `make pythons`.

For each a `make test` in an environment of its own, build/python3.NN, without the labs on Spark, which is
not the same on every Python. A Python that is not there is a line that says so.
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
WITHOUT = "--ignore-glob=labs/solutions/*spark*.ipynb"


def candidates(version: tuple[int, int]) -> Iterator[str]:
    """Return the places of a Python of this version: the path, pyenv (the newest first), and where make puts it."""
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


def command(path: str, version: tuple[int, int], more: list[str]) -> list[str]:
    """Return the command that tests with this Python; `more` is for pytest."""
    place = "build/python{}.{}".format(*version)
    return ["make", "test", f"PYTHON={path}", f"VENV={place}", f"ARGS={' '.join([WITHOUT, *more])}"]


def outcome(command: list[str]) -> tuple[bool, str]:
    """Run the command, with its output on the terminal; return whether all passed, and its last line."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    last = ""
    with subprocess.Popen(
        command, cwd=ROOT, env=kept, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return process.returncode == 0, last


def main(words: list[str]) -> int:
    """Check with every Python; print a line for each at the end; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.pythons", description=__doc__)
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
        good, said = outcome(command(found[0], version, more))
        failed |= not good
        lines.append(f"{found[1]}: {'passed' if good else 'FAILED'} in {time.monotonic() - began:.0f} s: {said}")
    print(*lines, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
