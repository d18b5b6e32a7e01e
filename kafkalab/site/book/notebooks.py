"""The labs as articles: each solution is run once, and its outputs become those of a page without Python.

An article has the text of the learner's copy, without a solution and without what a check says; each picture is a
`<kafka-run>` that names its data, around the static picture.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import kafkalab
from kafkalab.grading.builder import FIGURE, LABS, Cell, Notebook, execute, read, sources
from kafkalab.reference.bug import anchor_of
from kafkalab.site.book.links import for_sphinx
from kafkalab.site.book.recorder import GALLERY, KEPT, PREAMBLE, Kept

PACKAGE = Path(kafkalab.__file__).parent
SITE = PACKAGE / "site"
CACHE = Path("build", "solutions")
"""The folder that keeps the outputs of the solutions, below the project's folder."""
FOLDER = Path("_static", "runs")
"""The folder of the site with the data of the pictures, and their static form."""
PREAMBLE_ID = "record-pictures"
ELEMENT = (
    '<kafka-run id="{id}" src="{data}" part="{part}"><img src="{image}" alt="{alt}" width="{width}" '
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
    """Return a digest of all that a solution's outputs depend on beside its own text: of the site only the recorder."""
    digest = hashlib.sha256()
    for path in sorted((*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.md"))):
        if SITE not in path.parents or path.name == "recorder.py":
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


def article_of(name: str, solution: Notebook, copy: Notebook, site: Path) -> Notebook:
    """Return the learner's copy with the outputs of its solution; write the data of its pictures into the site."""
    shown = {cell["id"]: cell for cell in solution["cells"]}
    before = Shown()
    for cell in copy["cells"]:
        if cell["cell_type"] != "code":
            cell["source"] = for_sphinx("".join(shown[cell["id"]]["source"]), "../glossary.html")
            continue
        if cell["metadata"].get("jupyter", {}).get("source_hidden"):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
        cell["outputs"] = [] if "nbgrader" in cell["metadata"] else shown[cell["id"]]["outputs"]
        for number, output in enumerate(cell["outputs"]):
            data = output.get("data", {})
            place = site / FOLDER / name / (cell["id"] + (f"-{number}" if number else ""))
            if KEPT in data:
                output["data"] = {"text/html": write_picture(place, "../", data[KEPT], data, before)}
            elif GALLERY in data:
                output["data"] = {"text/html": write_gallery(place, "../", data[GALLERY])}
    return copy


@dataclass(slots=True)
class Shown:
    """What an article has shown already: the name of a picture by its data, the short id of a journey by its state."""

    pictures: dict[bytes, str] = field(default_factory=dict)
    journeys: dict[str, str] = field(default_factory=dict)


def write_picture(place: Path, up: str, kept: Kept, data: dict[str, Any], shown: Shown | None = None) -> str:
    """Write a picture's data and its static form; return its element, whose id is the name of `place`.

    `place` is below the site's folder of runs, and `up` leads from the element's page to the site's folder. A run that
    several pictures have is written once; so is a picture that the article has twice.
    """
    shown = Shown() if shown is None else shown
    place.parent.mkdir(parents=True, exist_ok=True)
    for model in kept["models"].values():
        if payload := model["values"].pop("payload", ""):
            model["run"] = write_packed(place.parents[1] / "payloads", payload)
    packed, svg = pack(_with_short_ids(kept, shown.journeys)), "".join(data[FIGURE])
    name = shown.pictures.setdefault(packed, place.name)
    if name == place.name:
        place.with_name(f"{name}.packed").write_bytes(packed)
        place.with_name(f"{name}.svg").write_text(svg, encoding="utf-8")
    width, height = svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()
    words = "".join(data["text/plain"])
    where = f"{up}{(FOLDER / place.parent.name / name).as_posix()}"
    return ELEMENT.format(
        id=place.name, data=f"{where}.packed", part=kept["part"], image=f"{where}.svg", width=width, height=height,
        alt=escape(words.partition("\n")[0]), words=escape(words),
    )  # fmt: skip


def write_gallery(place: Path, up: str, gallery: dict[str, Any]) -> str:
    """Write a gallery's list and its exhibits, each as a picture; return the elements of the list and of the first."""
    kept = gallery["list"][KEPT]
    kept["exhibits"] = {}
    chosen, below = kept["models"][kept["root"]]["values"]["chosen"], ""
    for key, one in gallery["exhibits"].items():
        name = anchor_of(key)
        element = write_picture(place.with_name(name), up, one[KEPT], one)
        kept["exhibits"][key] = {"name": name, "part": one[KEPT]["part"], "words": one["words"]}
        below = element if key == chosen else below
    return write_picture(place, up, kept, gallery["list"]) + below


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


def write_packed(folder: Path, text: str) -> str:
    """Write a text under a name that its content gives; return the name."""
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    (folder / f"{name}.packed").write_bytes(pack(text))
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
