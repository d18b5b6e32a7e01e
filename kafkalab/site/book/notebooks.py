"""The labs as articles: each solution is run once, and its outputs become those of a page without Python.

An article has the text of the learner's copy, without a solution and without what a check says; each picture is a
`<kafka-run>` that names its data, around the static picture.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import kafkalab
from kafkalab.grading.builder import FIGURE, LABS, Cell, Notebook, execute, read, sources
from kafkalab.site.book.links import for_sphinx
from kafkalab.site.book.futures import FUTURES
from kafkalab.site.book.recorder import KEPT, PREAMBLE, Kept, state_of

PACKAGE = Path(kafkalab.__file__).parent
SITE = PACKAGE / "site"
CACHE = Path("build", "solutions")
"""Where what the solutions gave is kept, below the project's folder."""
FOLDER = Path("_static", "runs")
"""The folder of the site with the data of the pictures, and their static form."""
PREAMBLE_ID = "record-pictures"
FRAME = re.compile(r"\b[A-Z][A-Za-z]+#\d+")
ELEMENT = (
    '<kafka-run id="{name}" src="{data}" part="{part}"><img src="{image}" alt="{alt}" width="{width}" '
    'height="{height}" loading="lazy"></kafka-run><noscript><details><summary>The same in words</summary>'
    "<pre>{words}</pre></details></noscript>"
)


def run_solutions(paths: Sequence[Path], cache: Path) -> Iterator[Notebook]:
    """Yield each solution as a run gives it, with `KEPT` beside each picture.

    Several run at the same time. What a run gave is kept in the folder `cache` for as long as no source changes.
    """
    code = _digest_of_sources()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda path: _run_once(path, cache, code), paths)


def _digest_of_sources() -> bytes:
    """Return a digest of all that a solution's outputs depend on beside its own text: of the site only these two."""
    digest = hashlib.sha256()
    for path in sorted((*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.md"))):
        if SITE not in path.parents or path.name in ("recorder.py", "futures.py"):
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
    cell: Cell = {"cell_type": "code", "id": PREAMBLE_ID, "metadata": {}, "outputs": [], "execution_count": None}
    before, after = {**cell, "source": PREAMBLE}, {**cell, "id": "foretell", "source": foretelling(notebook)}
    ran = execute({**notebook, "cells": [before, *notebook["cells"], after]}, path.parent, keeps_progress=False)
    add_futures(ran["cells"][1:-1], ran["cells"][-1]["outputs"])
    return {**ran, "cells": ran["cells"][1:-1]}


def foretelling(notebook: Notebook) -> str:
    """Return the cell that tells the futures; the frames that the notebook's text names are among those foretold."""
    texts = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    named = sorted({name for text in texts for name in FRAME.findall(text)})
    return f"from kafkalab.site.book.futures import foretell\nforetell({named})\n"


def add_futures(cells: Sequence[Cell], told: Sequence[dict[str, Any]]) -> None:
    """Put the futures that the last cell has told beside each journey; one that no code makes again loses its codes."""
    futures = next((output["data"][FUTURES] for output in told if FUTURES in output.get("data", {})), {})
    outputs = (output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
    for model in (model for data in outputs for model in data.get(KEPT, {}).get("models", {}).values()):
        if model.get("codes"):
            model["futures"] = futures.get(state_of(model), {})


def article_of(name: str, solution: Notebook, copy: Notebook, site: Path) -> Notebook:
    """Return the learner's copy with the outputs of its solution; write the data of its pictures into the site."""
    shown = {cell["id"]: cell for cell in solution["cells"]}
    article = Article(site / FOLDER / name)
    for cell in copy["cells"]:
        if cell["cell_type"] != "code":
            cell["source"] = for_sphinx("".join(shown[cell["id"]]["source"]), "../glossary.html")
            continue
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
        cell["outputs"] = [] if "nbgrader" in cell["metadata"] else shown[cell["id"]]["outputs"]
        for number, output in enumerate(cell["outputs"]):
            data = output.get("data", {})
            if kept := data.get(KEPT):
                picture = cell["id"] + (f"-{number}" if number else "")
                output["data"] = {"text/html": article.write_picture(picture, kept, data)}
    return copy


class Article:
    """The pictures of an article, whose data and static forms lie in `folder`.

    A picture that is shown twice is written once. So is a run, for all articles.
    """

    def __init__(self, folder: Path) -> None:
        """Begin without pictures."""
        self.folder = folder
        self._written: dict[bytes, str] = {}
        self._journeys: dict[str, str] = {}

    def write_picture(self, name: str, kept: Kept, data: dict[str, Any]) -> str:
        """Write a picture's data and its static form; return its element, whose id is `name`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for model in kept["models"].values():
            if payload := model["values"].pop("payload", ""):
                model["run"] = write_packed(self.folder.parent / "payloads", payload)
            if futures := model.pop("futures", {}):
                model["futures"] = {key: write_packed(self.folder.parent / "futures", f) for key, f in futures.items()}
        packed, svg = pack(self._with_short_ids(kept)), "".join(data[FIGURE])
        file = self._written.setdefault(packed, name)
        if file == name:
            (self.folder / f"{name}.packed").write_bytes(packed)
            (self.folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        width, height = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
        words = "".join(data["text/plain"])
        up = Path("..", FOLDER, self.folder.name, file).as_posix()
        return ELEMENT.format(
            name=name, data=f"{up}.packed", part=kept["part"], image=f"{up}.svg", width=width, height=height,
            alt=escape(words.partition("\n")[0]), words=escape(words),
        )  # fmt: skip

    def _with_short_ids(self, kept: Kept) -> Kept:
        """Return the picture with short ids for its models, in place of those that each run draws anew.

        A journey has the same id in all pictures of the article that show the same of its runs.
        """
        text = json.dumps(kept)
        for number, (id_, model) in enumerate(kept["models"].items()):
            if "run" in model:
                state = json.dumps([id_, model["run"], model["values"]["tree"], model["values"]["place"]])
                short = self._journeys.setdefault(state, f"j{len(self._journeys) + 1}")
            else:
                short = f"m{number}"
            text = text.replace(id_, short)
        short_ids: Kept = json.loads(text)
        return short_ids


def write_packed(folder: Path, value: Any) -> str:
    """Write a value under a name that its content gives; return the name."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = pack(value)
    name = hashlib.sha256(packed).hexdigest()[:16]
    (folder / f"{name}.packed").write_bytes(packed)
    return name


def pack(value: Any) -> bytes:
    """Return a value as compressed JSON, the same bytes for the same value."""
    return gzip.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)


def write_articles(root: Path, folder: Path, site: Path, only: Sequence[str] = ()) -> list[Path]:
    """Write each lab's article below the folder; return their paths. `only` are beginnings of names."""
    (folder / LABS).mkdir(parents=True, exist_ok=True)
    paths = [path for path in sources(root) if not only or path.name.startswith(tuple(only))]
    for path, solution in zip(paths, run_solutions(paths, root / CACHE), strict=True):
        article = article_of(path.stem, solution, read(root / LABS / path.name), site)
        (folder / LABS / path.name).write_text(json.dumps(article, ensure_ascii=False), encoding="utf-8")
    return [folder / LABS / path.name for path in paths]
