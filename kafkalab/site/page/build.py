"""Write the page with Python in it: HTML, the picture's modules, and kafkalab as one archive."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

import kafkalab
from kafkalab.site.page.opening import FIRST, lab_of, runs, scenario_of_lab
from kafkalab.site.page.pictures import PICTURES
from kafkalab.site.runtime import compile_by_node
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.parts import built
from kafkalab.widgets.views.recorded_page import recorded_values

PAGE = Path("page")
"""The folder of the site that is the page."""
HERE = Path(__file__).parent
PACKAGE = Path(kafkalab.__file__).parent
RUNS = "runs"
"""The folder with the labs' runs as recordings, in the page's."""
OTHERS = "pictures"
"""The folder with the modules and style sheets of the pictures beside the sequence, in the page's."""
SHELL, KINDS = ("common", "sequence", "page"), (".js", ".css")
"""The parts that the page has at once, and the files that a part has."""
ARCHIVES = ("library.packed", "kafkalab.packed")
LARGE = ("pyodide.asm.mjs", "pyodide.asm.wasm")
"""Pyodide's files that are loaded, which a web server compresses."""
LEFT_OUT = ("DESIGN.md", "cli", "live", "reference", "spark", "testing", "wire")
EXERCISE = re.compile(r"exercise_\d+\.py")
"""The parts of kafkalab that the page never imports."""
CODE = (".py", ".svg", ".json", ".md")


def write_page(folder: Path, runtime: Path, node: Sequence[str] = ("node",)) -> None:
    """Write the page into `folder`. `runtime` is the folder with Pyodide's files, of the same site.

    `node` is the command that runs Node, in which the browser's Python compiles what the page imports.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = {**json.loads((runtime / "pyodide-lock.json").read_text(encoding="utf-8")), "packages": {}}
    address = f"{Path(os.path.relpath(runtime, folder)).as_posix()}/"
    with TemporaryDirectory() as place:
        archives = _compiled(runtime.resolve(), Path(place), node)
    for name, content in zip(ARCHIVES, archives, strict=True):
        (folder / name).write_bytes(content)
    large = {name: len(gzip.compress((runtime / name).read_bytes(), 6)) for name in LARGE}
    weight = sum(map(len, archives)) + sum(large.values())
    facts = {"RUNTIME": address, "LOCK": lock, "FIRST": FIRST, "LARGE": large, "WEIGHT": weight}
    texts = {
        "index.html": Template(_own("index.html")).substitute(runs=_options(), tabs=_tabs(), facts=json.dumps(facts)),
        "python_worker.js": _own("python_worker.js"),
        **{name + kind: built(name + kind) for name in SHELL for kind in KINDS},
        **{f"{OTHERS}/{name}{kind}": built(one.module + kind) for name, one in PICTURES.items() for kind in KINDS},
    }
    (folder / OTHERS).mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / RUNS).mkdir(exist_ok=True)
    for name in runs():
        (folder / RUNS / f"{name}.packed").write_bytes(recorded_run(name))


def recorded_run(name: str) -> bytes:
    """Return the values of the models of a lab's run, which the page shows while Python loads, compressed."""
    journey = Journey(scenario_of_lab(name))
    values = recorded_values(journey)
    journey.close()
    return gzip.compress(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)


def _own(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _compiled(runtime: Path, place: Path, node: Sequence[str]) -> list[bytes]:
    """Return Python's library and kafkalab, with what the page imports compiled, each as one compressed archive."""
    (place / "sources.zip").write_bytes(archive())
    words = (str(runtime), str(place / "sources.zip"), str(place))
    compile_by_node([*node, str(HERE / "compile.mjs"), *words], "page")
    names = ("python_stdlib.zip", "kafkalab.zip")
    return [gzip.compress((place / name).read_bytes(), 9, mtime=0) for name in names]


def archive() -> bytes:
    """Return the sources that Python gets in the page: kafkalab and traitlets, the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for name, path in sorted(_files()):
            zipped.writestr(zipfile.ZipInfo(name), path.read_bytes())
    return packed.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    for path in PACKAGE.rglob("*"):
        inside = path.relative_to(PACKAGE)
        if path.suffix in CODE and inside.parts[0] not in LEFT_OUT and not EXERCISE.fullmatch(path.name):
            yield f"kafkalab/{inside.as_posix()}", path
    found = find_spec("traitlets")
    assert found is not None, "traitlets is installed with kafkalab"
    assert found.origin is not None, "traitlets has a folder"
    traitlets = Path(found.origin).parent
    for path in traitlets.rglob("*.py"):
        inside = path.relative_to(traitlets)
        if inside.parts[0] not in ("tests", "config"):
            yield f"traitlets/{inside.as_posix()}", path


def _tabs() -> str:
    """Return the tabs of the other pictures; none is chosen."""
    made = '<button type="button" role="tab" id="tab-{0}" data-name="{0}" aria-selected="false" aria-controls="picture"'
    return "".join(
        f'{made.format(name)} tabindex="{min(number, 1) * -1}" title="{escape(picture.about)}">{picture.title}</button>'
        for number, (name, picture) in enumerate(PICTURES.items())
    )


def _options() -> str:
    """Return the labs' runs as the entries of a list, by lab."""
    groups: dict[str, list[str]] = {}
    for name in runs():
        lab, chosen = lab_of(name), " selected" if name == FIRST else ""
        title = f"{name}: {kafkalab.__getattr__(name)().title}"
        groups.setdefault(f"Lab {lab.number}, {lab.title}", []).append(
            f'<option value="{escape(name)}"{chosen}>{escape(title)}</option>'
        )
    another = '<option value="" hidden>that of the address</option>\n'
    return another + "\n".join(
        f'<optgroup label="{escape(lab)}">{"".join(names)}</optgroup>' for lab, names in groups.items()
    )
