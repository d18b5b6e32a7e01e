"""The Python packages that a browser loads: exact versions, all of them pure Python, and kafkalab itself."""

from __future__ import annotations

import hashlib
import re
import zipfile
from email import message_from_bytes
from pathlib import Path

from kafkalab.course_files import SHIPPED

PURE = {
    "anywidget": "0.11.0",
    "asttokens": "3.0.2",
    "comm": "0.2.3",
    "decorator": "5.3.1",
    "executing": "2.3.0",
    "graphviz": "0.21",
    "ipython": "9.12.0",
    "ipython-pygments-lexers": "1.1.1",
    "ipywidgets": "8.1.9",
    "jedi": "0.20.1",  # 4.9 MB; without it Tab completes nothing
    "matplotlib-inline": "0.2.2",
    "micropip": "0.11.1",
    "parso": "0.8.7",
    "prompt-toolkit": "3.0.53",
    "psygnal": "0.16.1",
    "pure-eval": "0.2.4",
    "pygments": "2.21.0",
    "stack-data": "0.6.3",
    "traitlets": "5.16.1",
    "typing-extensions": "4.16.0",
    "wcwidth": "0.9.4",
}
"""Name and version of each package that a kernel in a browser needs, beside kafkalab and the kernel's own."""
BROWSER = {"sys_platform": "emscripten", "platform_machine": "wasm32", "python_version": "3.14", "extra": ""}
READ = {".json", ".md", ".py", ".svg", ".toml", ".txt"}
"""The ends of the names of files that kafkalab reads while it runs."""
SOURCES = READ | {".css", ".js", ".properties", ".typed"}
LEFT_OUT = {"DECISIONS.md"}
ALWAYS = (1980, 1, 1, 0, 0, 0)
"""The time that every file of our wheel has, so that the same sources make the same bytes."""


def file_name(wheels: Path, name: str, version: str) -> Path | None:
    """Return the wheel of that name and version in the folder; None if it is not there."""
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    return next(iter(sorted(wheels.glob(pattern))), None)


def pack(package: Path, version: str, into: Path) -> Path:
    """Write the package's sources, and the stored runs beside it, as a wheel without dependencies; return its path.

    Who loads it names what else it needs: a notebook needs widgets, the page of one lab does not. The stored runs lie
    where `course_files` looks for them.
    """
    name = f"{package.name}-{version}"
    wheel = into / f"{name}-py3-none-any.whl"
    files = {
        path.relative_to(package.parent).as_posix(): path.read_bytes()
        for path in sorted(package.rglob("*"))
        if path.suffix in SOURCES and path.name not in LEFT_OUT and "__pycache__" not in path.parts
    }
    for path in sorted(package.parent.glob("data/**/*.klab")):
        files[f"{package.name}/{SHIPPED.name}/{path.relative_to(package.parent).as_posix()}"] = path.read_bytes()
    about = f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {version}\n"
    info = f"{name}.dist-info"
    files[f"{info}/METADATA"] = about.encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: kafkalab\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD")).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file, content in files.items():
            archive.writestr(zipfile.ZipInfo(file, ALWAYS), content, zipfile.ZIP_DEFLATED)
    return wheel


def read_lock(wheels: list[Path]) -> dict[str, dict[str, object]]:
    """Return what Pyodide's lock says of the wheels: of each its file, its digest, what it imports and depends on."""
    found = {normalise_name(path.name.split("-")[0]): path for path in wheels}
    return {name: _entry(name, found[name], set(found)) for name in sorted(found)}


def normalise_name(name: str) -> str:
    """Return a package's name as Pyodide and pip compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _entry(name: str, wheel: Path, there: set[str]) -> dict[str, object]:
    """Return the lock's entry of one wheel; it depends only on packages that are `there`."""
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        metadata = message_from_bytes(archive.read(next(f for f in files if f.endswith(".dist-info/METADATA"))))
    tops = {re.sub(r"\.py$", "", file.split("/")[0]) for file in files if file.endswith(".py")}
    return {
        "name": name,
        "version": wheel.name.split("-")[1],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(top for top in tops if top.isidentifier()),
        "depends": sorted({normalise_name(need) for need in _needs(metadata.get_all("Requires-Dist", []))} & there),
        "unvendored_tests": False,
    }


def _needs(requirements: list[str]) -> list[str]:
    """Return the names of the requirements that hold in a browser."""
    from packaging.requirements import Requirement

    parsed = map(Requirement, requirements)
    return [one.name for one in parsed if one.marker is None or one.marker.evaluate(BROWSER)]
