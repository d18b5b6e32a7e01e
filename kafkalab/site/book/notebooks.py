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
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kafkalab
from kafkalab.grading.builder import FIGURE, LABS, Cell, Notebook, execute, is_check, read, sources
from kafkalab.grading.landing import CELL_ID
from kafkalab.site.book.exercises import with_boxes
from kafkalab.site.book.form_recorder import FORM_ID, RECORD_FORM
from kafkalab.site.book.futures import FUTURES
from kafkalab.site.book.galleries import html_of
from kafkalab.site.book.links import START, Links
from kafkalab.site.book.recorder import EXHIBITS, KEPT, PREAMBLE, Kept, fix, state_of
from kafkalab.site.notebooks import NEEDS_MORE
from kafkalab.site.wheels import LEFT_OUT

PACKAGE = Path(kafkalab.__file__).parent
SITE = PACKAGE / "site"
CACHE = Path("build", "solutions")
"""The folder that keeps the outputs of the solutions, below the project's folder."""
FOLDER = Path("_static", "runs")
"""The folder of the site with the data of the pictures, and their static form."""
RECORDERS = ("recorder.py", "form_recorder.py", "futures.py")
SPARK_RUNS = bool(find_spec("pyspark") and shutil.which("java"))
FIRST_HEADING = re.compile(r"\A(?:#.*\n?)?")
PREAMBLE_ID = "record-pictures"
FRAME = re.compile(r"\b[A-Z][A-Za-z]+#\d+")
RUN = r"Run the next cell"
IN_A_PAGE = (
    (re.compile(rf"{RUN}(?:,| and) click the picture"), "Click the picture"),
    (re.compile(rf"{RUN}: click it and press <kbd>Shift</kbd> \+ <kbd>Enter</kbd>\. Then choose in its list"),
     "Choose in the list below"),
    (re.compile(r"runs inside this notebook"), "runs inside this page"),
)  # fmt: skip
ELEMENT = (
    '<kafka-run id="{id}" src="{data}" part="{part}"{kind}><img src="{image}" alt="{alt}" width="{width}" '
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
    """Return a digest of all that a solution's outputs depend on beside its own text; of the site, what records."""
    digest = hashlib.sha256()
    for path in sorted((*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.md"))):
        if path.name not in LEFT_OUT and (SITE not in path.parents or path.name in RECORDERS):
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
    cells = [{**cell, "source": PREAMBLE}]
    for own in notebook["cells"]:
        cells.append(own)
        if is_check(own):
            source = "".join(own["source"]).replace("check(", RECORD_FORM, 1)
            cells.append({**cell, "id": own["id"] + FORM_ID, "source": source})
    cells.append({**cell, "id": "foretell", "source": foretelling(notebook)})
    ran = execute({**notebook, "cells": cells}, path.parent, keeps_progress=False)
    add_futures(ran["cells"][1:-1], ran["cells"][-1]["outputs"])
    return {**ran, "cells": ran["cells"][1:-1]}


def foretelling(notebook: Notebook) -> str:
    """Return the cell that tells the futures; the frames that the notebook's text names are among those foretold."""
    texts = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    named = sorted({name for text in texts for name in FRAME.findall(text)})
    return f"from kafkalab.site.book.futures import foretell\nforetell({named})\n"


def add_futures(cells: Sequence[Cell], told: Sequence[dict[str, Any]]) -> None:
    """Put the futures that the last cell has told beside each journey; one that no code makes again loses its codes."""
    found = [output["data"][FUTURES] for output in told if FUTURES in output.get("data", {})]
    futures: dict[str, Any] = found[0] if found else {}
    outputs = (output.get("data", {}) for cell in cells for output in cell.get("outputs", ()))
    for model in (model for data in outputs for kept in _kept_in(data) for model in kept["models"].values()):
        if "codes" not in model:
            continue
        model["futures"] = futures.get(state_of(model))
        if model["futures"] is None:
            model |= {"codes": [], "futures": {}}
            model["values"]["payload"] = fix(model["values"]["payload"])


def _kept_in(data: dict[str, Any]) -> Iterator[Kept]:
    """Yield what is kept of each picture of an output."""
    kept = data.get(KEPT, {})
    for *_, inner in kept.get(EXHIBITS, ()):
        yield from _kept_in(inner)
    if "models" in kept:
        yield kept


def without_runs(text: str) -> str:
    """Return a notebook's text as an article has it: a reader of the book runs no cell."""
    for asked, instead in IN_A_PAGE:
        text = asked.sub(instead, text)
    return text


def article_of(name: str, solution: Notebook, copy: Notebook, site: Path, links: Links) -> Notebook:
    """Return the learner's copy with the outputs of its solution; write the data of its pictures into the site."""
    shown = {cell["id"]: cell for cell in solution["cells"]}
    before = ViewState()
    copy["cells"] = list(with_boxes(name, shown, copy["cells"], site, partial(write_run, site / FOLDER / name)))
    for cell in copy["cells"]:
        if cell["id"] not in shown:
            continue
        if cell["cell_type"] != "code":
            cell["source"] = links.for_sphinx(without_runs("".join(shown[cell["id"]]["source"])))
            continue
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
        cell["outputs"] = shown[cell["id"]]["outputs"]
        for number, output in enumerate(cell["outputs"]):
            data = output.get("data", {})
            if EXHIBITS in (kept := data.get(KEPT, {})):
                output["data"] = {"text/html": html_of(kept, partial(_write_exhibit, site / FOLDER / name, before))}
            elif kept:
                place = site / FOLDER / name / (cell["id"] + (f"-{number}" if number else ""))
                output["data"] = {"text/html": write_picture(place, "../", kept, data, before)}
    return copy


@dataclass(slots=True)
class ViewState:
    """The things that an article has shown already.

    The name of a picture by its data; by its state the short id of a journey, and its futures' files.
    """

    pictures: dict[bytes, str] = field(default_factory=dict)
    journeys: dict[str, str] = field(default_factory=dict)
    futures: dict[str, dict[str, str]] = field(default_factory=dict)


def write_picture(place: Path, up: str, kept: Kept, data: dict[str, Any], shown: ViewState | None = None) -> str:
    """Write a picture's data and its static form; return its element, whose id is the name of `place`.

    `place` is below the site's folder of runs, and `up` leads from the element's page to the site's folder. A run that
    several pictures have is written once; so is a picture that the article has twice.
    """
    shown = ViewState() if shown is None else shown
    place.parent.mkdir(parents=True, exist_ok=True)
    for model in kept["models"].values():
        if payload := model["values"].pop("payload", ""):
            model["run"] = write_packed(place.parents[1] / "payloads", payload)
        if futures := model.pop("futures", {}):
            state = state_of(model)
            if state not in shown.futures:
                folder = place.parents[1] / "futures"
                shown.futures[state] = {key: write_packed(folder, future) for key, future in futures.items()}
            model["futures"] = shown.futures[state]
    packed, svg = pack(_with_short_ids(kept, shown.journeys)), "".join(data[FIGURE])
    name = shown.pictures.setdefault(packed, place.name)
    if name == place.name:
        place.with_name(f"{name}.packed").write_bytes(packed)
        place.with_name(f"{name}.svg").write_text(svg, encoding="utf-8")
    width, height = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    words = "".join(data["text/plain"])
    kind = kept["models"][kept["root"]]["values"].get("kind", "")
    unscored = ' class="sentence"' if kind == "sentence" else ""
    where = f"{up}{(FOLDER / place.parent.name / name).as_posix()}"
    return ELEMENT.format(
        id=place.name, data=f"{where}.packed", part=kept["part"], kind=unscored, image=f"{where}.svg", width=width,
        height=height,
        alt=escape(words.partition("\n")[0]), words=escape(words),
    )  # fmt: skip


def _write_exhibit(folder: Path, shown: ViewState, name: str, data: dict[str, Any]) -> str:
    return write_picture(folder / name, "../", data[KEPT], data, shown)


def write_run(folder: Path, data: dict[str, Any]) -> str:
    """Write the picture of a wrong answer under a name that nobody can guess; return its element."""
    text = json.dumps(_with_short_ids(data[KEPT], {}), sort_keys=True)
    place = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    return write_picture(place, "../", data[KEPT], data).partition("<noscript>")[0]


def _with_short_ids(kept: Kept, journeys: dict[str, str]) -> Kept:
    """Return the picture with short ids for its models, in place of those that each run draws anew.

    A journey has the same id in all pictures of the article that show the same of its runs.
    """
    text = json.dumps(kept)
    for number, (model_id, model) in enumerate(kept["models"].items()):
        short = f"m{number}"
        if "run" in model:
            state = json.dumps([model_id, model["run"], model["values"]["tree"], model["values"]["place"]])
            short = journeys.setdefault(state, f"j{len(journeys) + 1}")
        text = text.replace(model_id, short)
    short_ids: Kept = json.loads(text)
    return short_ids


def write_packed(folder: Path, value: object) -> str:
    """Write a value under a name that its content gives; return the name."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = pack(value)
    name = hashlib.sha256(packed).hexdigest()[:16]
    (folder / f"{name}.packed").write_bytes(packed)
    return name


def pack(value: object) -> bytes:
    """Return a value as compressed JSON, the same bytes for the same value."""
    return gzip.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0)


def with_anchors(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Yield the cells with an id for each, which links name as in the notebook; below a heading, which stays the first.

    A cell that is the article's own has none.
    """
    for cell in cells:
        anchor = f'<div id="{CELL_ID}{cell["id"]}"></div>\n'
        if cell["cell_type"] == "code":
            yield {"cell_type": "markdown", "id": f"at-{cell['id']}", "metadata": {}, "source": anchor}
            yield cell
            continue
        heading = FIRST_HEADING.findall(cell["source"])[0]
        yield {**cell, "source": f"{heading}\n{anchor}\n{cell['source'][len(heading) :]}"}


def write_articles(root: Path, folder: Path, site: Path, only: Sequence[str] = ()) -> list[Links]:
    """Write each lab's article below the folder; return their links. `only` are beginnings of names.

    Where Spark cannot run, its labs have the outputs that are saved in their solutions.
    """
    (folder / LABS).mkdir(parents=True, exist_ok=True)
    wanted = [path for path in sources(root) if path.name.startswith(tuple(only) or "")]
    paths = [path for path in wanted if path.name != Path(START).name]
    runs = [path for path in paths if SPARK_RUNS or path.stem not in NEEDS_MORE]
    ran = dict(zip(runs, run_solutions(runs, root / CACHE), strict=True))
    found = []
    for path in paths:
        name = (LABS / path.name).as_posix()
        found.append(Links(root, name))
        article = article_of(path.stem, ran.get(path) or read(path), read(root / name), site, found[-1])
        article["cells"] = list(with_anchors(article["cells"]))
        (folder / name).write_text(json.dumps(article, ensure_ascii=False), encoding="utf-8")
    return found
