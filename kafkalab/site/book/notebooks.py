"""The labs as articles: each solution is run once, and its outputs become those of a page without Python.

An article has the text of the learner's copy, without a solution and without what a check says; each picture is a
`<kafka-run>` that names its data, around the static picture.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kafkalab
from kafkalab.grading.builder import FIGURE, LABS, Cell, Notebook, execute, read, sources
from kafkalab.site.book import recorder
from kafkalab.site.book.links import CELL, Links
from kafkalab.site.book.recorder import KEPT, PREAMBLE, Kept
from kafkalab.site.notebooks import NEEDS_MORE

PACKAGE = Path(kafkalab.__file__).parent
CACHE = Path("build", "solutions")
"""Where what the solutions gave is kept, below the project's folder."""
FOLDER = Path("_static", "runs")
"""The folder of the site with the data of the pictures, and their static form."""
START = "00_start.ipynb"
"""The one notebook that is no article: the book has its first page and its glossary instead."""
SPARK_RUNS = bool(find_spec("pyspark") and shutil.which("java"))
PREAMBLE_ID = "record-pictures"
ELEMENT = (
    '<kafka-run src="{data}" part="{part}"><img src="{image}" alt="{alt}" width="{width}" height="{height}" '
    'loading="lazy"></kafka-run>'
)


def run_solutions(paths: Sequence[Path], cache: Path) -> Iterator[Notebook]:
    """Yield each solution as a run gives it, with `KEPT` beside each picture.

    Several run at the same time. What a run gave is kept in the folder `cache` for as long as no source changes.
    """
    code = _digest_of_sources()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda path: _run_once(path, cache, code), paths)


def _digest_of_sources() -> bytes:
    """Return a digest of all that a solution's outputs depend on beside its own text."""
    digest = hashlib.sha256(Path(recorder.__file__).read_bytes())
    for path in sorted((*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.md"))):
        if not path.is_relative_to(PACKAGE / "site"):
            digest.update(path.read_bytes())
    return digest.digest()


def _run_once(path: Path, cache: Path, code: bytes) -> Notebook:
    kept = cache / f"{path.stem}-{hashlib.sha256(code + path.read_bytes()).hexdigest()[:16]}.json"
    if kept.exists():
        return read(kept)
    ran = run_solution(path)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob(f"{path.stem}-*.json"):
        old.unlink()
    kept.write_text(json.dumps(ran, ensure_ascii=False), encoding="utf-8")
    return ran


def run_solution(path: Path) -> Notebook:
    """Return the solution as a run gives it, with `KEPT` beside each picture."""
    notebook = read(path)
    first: Cell = {"cell_type": "code", "id": PREAMBLE_ID, "metadata": {}, "outputs": [], "execution_count": None}
    notebook["cells"].insert(0, {**first, "source": PREAMBLE})
    ran = execute(notebook, path.parent, keeps_progress=False)
    ran["cells"] = [cell for cell in ran["cells"] if cell["id"] != PREAMBLE_ID]
    return ran


def article_of(solution: Notebook, copy: Notebook, links: Links, place: Path) -> Notebook:
    """Return the learner's copy with the outputs of its solution; write the data of its pictures into `place`."""
    shown = {cell["id"]: cell for cell in solution["cells"]}
    cells = []
    for cell in copy["cells"]:
        anchor = f'<div id="{CELL}{cell["id"]}"></div>\n'
        if cell["cell_type"] != "code":
            text = links.for_sphinx("".join(shown[cell["id"]]["source"]))
            heading, rest = text.split("\n", 1) if text.startswith("#") and "\n" in text else ("", text)
            cell["source"] = f"{heading}\n\n{anchor}\n{rest}" if heading else f"{anchor}\n{text}"
            cells.append(cell)
            continue
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
        cell["outputs"] = [] if "nbgrader" in cell["metadata"] else shown[cell["id"]]["outputs"]
        for number, output in enumerate(cell["outputs"]):
            data = output.get("data", {})
            if kept := data.get(KEPT):
                name = cell["id"] + (f"-{number}" if number else "")
                output["data"] = {"text/html": write_picture(place / name, "../", kept, data)}
        cells += [{"cell_type": "markdown", "id": f"at-{cell['id']}", "metadata": {}, "source": anchor}, cell]
    return {**copy, "cells": cells}


def write_picture(place: Path, up: str, kept: Kept, data: dict[str, Any]) -> str:
    """Write a picture's data and its static form; return its element. A run that several have is written once.

    `place` is below the site's folder of runs, and `up` leads from the element's page to the site's folder.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    for model in kept["models"].values():
        if payload := model["values"].pop("payload", ""):
            model["run"] = write_packed(place.parents[1] / "payloads", payload)
    place.with_name(f"{place.name}.packed").write_bytes(pack(_with_short_ids(kept)))
    svg = "".join(data[FIGURE])
    place.with_name(f"{place.name}.svg").write_text(svg, encoding="utf-8")
    width, height = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    alt = "".join(data["text/plain"]).partition("\n")[0]
    where = f"{up}{(FOLDER / place.parent.name / place.name).as_posix()}"
    return ELEMENT.format(
        data=f"{where}.packed", part=kept["part"], image=f"{where}.svg", alt=escape(alt), width=width, height=height
    )


def write_packed(folder: Path, text: str) -> str:
    """Write a text under a name that its content gives; return the name."""
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    (folder / f"{name}.packed").write_bytes(pack(text))
    return name


def pack(value: Any) -> bytes:
    """Return a value as compressed JSON, the same bytes for the same value."""
    return gzip.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)


def _with_short_ids(kept: Kept) -> Kept:
    """Return the picture with the ids of its models, which each run draws anew, as numbers."""
    text = json.dumps(kept)
    for number, model in enumerate(kept["models"]):
        text = text.replace(model, f"m{number}")
    short: Kept = json.loads(text)
    return short


def write_articles(root: Path, folder: Path, site: Path, only: Sequence[str] = ()) -> list[Links]:
    """Write each lab's article below the folder; return their links. `only` are beginnings of names.

    Where Spark cannot run, its labs have the outputs that are saved in their solutions.
    """
    (folder / LABS).mkdir(parents=True, exist_ok=True)
    paths = [path for path in sources(root) if path.name.startswith(tuple(only) or "") and path.name != START]
    runs = [path for path in paths if SPARK_RUNS or path.stem not in NEEDS_MORE]
    ran = dict(zip(runs, run_solutions(runs, root / CACHE), strict=True))
    found = []
    for path in paths:
        name = (LABS / path.name).as_posix()
        found.append(Links(root, name))
        solution = ran.get(path) or read(path)
        article = article_of(solution, read(root / name), found[-1], site / FOLDER / path.stem)
        (folder / name).write_text(json.dumps(article, ensure_ascii=False), encoding="utf-8")
    return found
