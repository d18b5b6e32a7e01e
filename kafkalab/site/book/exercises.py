"""The exercises of an article: a box in place of the cells to fill in, and a form where no Python is needed.

A form's file holds no answer in clear. SHA-256, repeated `ROUNDS` times, makes of each part of an answer, and of the
whole right one, a label under which a text is found, and the text's key. This keeps an answer from being read by
accident, also by who looks into the file. It keeps nobody out who wants to know: a row has a handful of words, and a
program tries them all in a second. So `ROUNDS` is small enough for a page without https, where a browser offers no
hash of its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kafkalab.grading.builder import Cell, is_check
from kafkalab.grading.check import find
from kafkalab.grading.landing import CELL_ID
from kafkalab.markup import Markup, each, element, join, with_code
from kafkalab.site.book.form_recorder import FORM, FORM_ID, Described, canonical
from kafkalab.site.book.recorder import Kept
from kafkalab.site.lite import notebook_address
from kafkalab.site.notebooks import NEEDS_MORE, WHERE
from kafkalab.widgets.views.predict import mix

FOLDER = Path("_static", "exercises")
"""The folder of the site with the forms."""
ROUNDS, LABEL_BYTES = 1_000, 12
EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*<]*\w)?)\*(?![\w*])")
EXERCISE = re.compile(r'check\("(L\d+\.E\d+)"')


def with_boxes(
    name: str, solution: Mapping[str, Cell], cells: Iterable[Cell], site: Path, write_run: Callable[[Kept], str]
) -> Iterator[Cell]:
    """Yield the cells of a learner's copy, with one box in place of an exercise's two cells.

    `solution` are the cells of the notebook `name` by id, as a run gave them; `write_run` writes a run's picture and
    returns its element.
    """
    asked = ""
    for cell in cells:
        if not is_check(cell):
            if "nbgrader" in cell["metadata"]:
                asked = cell["id"]
            else:
                yield cell
            continue
        (exercise,) = EXERCISE.findall("".join(cell["source"]))
        outputs = solution[cell["id"] + FORM_ID]["outputs"]
        form = write_form(site, outputs[0]["data"][FORM], write_run) if outputs else ""
        box = box_of(exercise, name, asked, form)
        yield {"cell_type": "markdown", "id": f"{asked}-box", "metadata": {}, "source": box}


def box_of(exercise_id: str, notebook: str, cell: str, form: str = "") -> Markup:
    """Return the box of an exercise: its form, if it has one, the way to its cell, and its hints."""
    address = f"{notebook_address(f'labs/{notebook}.ipynb')}#{CELL_ID}{cell}"
    need = NEEDS_MORE.get(notebook)
    note = _inline(f" The notebook needs {need}, which no browser has: {WHERE}.") if need else ""
    link = element("a", "Open this exercise as a notebook", class_="as-notebook", href=f"../{address}")
    return element("div", form, element("p", link, note), hints_of(find(exercise_id).hints), class_="exercise")


def hints_of(hints: Sequence[str]) -> Markup:
    """Return hints as folded text, each inside the one before; none of an exercise's hints is its answer."""
    inner = Markup()
    for number, hint in reversed(list(enumerate(hints, 1))):
        inner = element("details", element("summary", f"Hint {number} of {len(hints)}"), as_html(hint), inner)
    return inner


def _inline(text: str) -> Markup:
    """Return one line of text as HTML."""
    return Markup(EMPHASIS.sub(r"<em>\1</em>", with_code(text)))


def as_html(text: str) -> Markup:
    """Return a text that a notebook shows as HTML without an empty line; what is indented is code."""
    lines = [line for line in text.splitlines() if line.strip()]
    return join(
        element("pre", line.strip()) if line.startswith("    ") else element("p", _inline(line)) for line in lines
    )


AS_HTML = {**dict.fromkeys(("says", "more", "refutes", "look"), as_html), "sentence": _inline}
"""The function that formats each text of a form; other texts stay as they are."""


def seal(texts: Mapping[str, str], salt: str) -> dict[str, str]:
    """Return the texts unreadable, by labels that only the part of each gives; in the order of the labels."""
    sealed = {}
    for part, text in texts.items():
        label, key = stretch(part, salt)
        packed = mix(zlib.compress(text.encode(), 9), key)
        sealed[base64.b64encode(label).decode()] = base64.b64encode(packed).decode()
    return dict(sorted(sealed.items()))


def stretch(part: str, salt: str) -> tuple[bytes, bytes]:
    """Return the label and the key of a part of an answer."""
    made = f"{salt} {part}".encode()
    for _ in range(ROUNDS):
        made = hashlib.sha256(made).digest()
    return made[:LABEL_BYTES], made[LABEL_BYTES:]


def write_form(site: Path, described: Described, write_run: Callable[[Kept], str]) -> Markup:
    """Write the file of a form; return its element. `write_run` writes a run's picture and returns its element."""
    name, texts = described["id"], {}
    runs = {run: data.get("text/html") or write_run(data) for run, data in described.pop("runs").items()}
    for part, told in described.pop("parts").items():
        written = {kind: AS_HTML[kind](value) for kind, value in told.items() if kind in AS_HTML}
        texts[part] = json.dumps({**told, **written, "run": runs.get(told["run"], "")})
    salt = f"kafkalab {name}"
    form = {**described, "salt": salt, "rounds": ROUNDS, "sealed": seal(texts, salt)}
    place = site / FOLDER / f"{name}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(canonical(form), encoding="utf-8")
    asked = form.get("names") or [row["says"] for row in form["rows"]]
    data = Path("..", FOLDER, place.name).as_posix()
    return element("kafka-exercise", element("ol", each("li", asked)), name=name, src=data)
