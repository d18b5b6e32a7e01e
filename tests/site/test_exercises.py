"""The exercises of the book: what a form's file lets an answer open, and what it lets nobody read."""

from __future__ import annotations

import base64
import json
import re
import zlib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kafkalab import Sequence, lab03, question
from kafkalab.grading.builder import SOLUTIONS, is_check, read, sources, student
from kafkalab.grading.check import find
from kafkalab.grading.exercise import EXERCISES
from kafkalab.grading.forms import Form, Order
from kafkalab.grading.tables import Table
from kafkalab.site.book import form_recorder, recorder
from kafkalab.site.book.exercises import FOLDER, as_html, seal, stretch, write_form
from kafkalab.site.book.form_recorder import FORM_ID, canonical
from kafkalab.site.book.links import Links
from kafkalab.site.book.notebooks import article_of
from kafkalab.site.notebooks import NEEDS_MORE
from kafkalab.widgets.views.predict import mix
from tests.grading.told import hold

ROOT = Path(__file__).parents[2]
IN_PAGE = [name for name in EXERCISES if isinstance(find(name).check, (Form, Order))]
ASKED = re.compile(r'check\("(L\d+\.E\d+)", (\w+)\)')
RUN = "a run that shows it"


@cache
def collect_answers() -> dict[str, Any]:
    """Return the solutions' answers to the exercises that have a form, as their own cells make them."""
    found = {}
    for path in sources(ROOT):
        before = ""
        for cell in read(path)["cells"]:
            source = "".join(cell["source"])
            asked = ASKED.search(source) if is_check(cell) else None
            if asked and asked[1] in IN_PAGE:
                names: dict[str, Any] = {"question": question}
                exec(before, names)
                found[asked[1]] = names[asked[2]]
            before = source
    return found


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a function that writes an exercise's form without its pictures, once, and returns file and element."""
    site = tmp_path_factory.mktemp("site")
    made: dict[str, tuple[str, str]] = {}

    def form(name: str) -> tuple[str, str]:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                table = Table(title=RUN, columns=(), rows=())
                patch.setattr(form_recorder, "picture", lambda *shown: table)
                described = form_recorder.describe_form(find(name), collect_answers()[name])
            element = write_form(site, described, str)
            made[name] = (site / FOLDER / f"{name}.json").read_text(encoding="utf-8"), element
        return made[name]

    return form


def unseal(form: dict[str, Any], part: Any) -> dict[str, Any] | None:
    """Return what is sealed under a part of an answer, as a page opens it."""
    label, key = stretch(canonical(part), form["salt"])
    if (found := form["sealed"].get(base64.b64encode(label).decode())) is None:
        return None
    text: dict[str, Any] = json.loads(zlib.decompress(mix(base64.b64decode(found), key)))
    return text


def parts_of(name: str) -> list[Any]:
    """Return the parts of the right answer, as a page makes them."""
    check, answer = find(name).check, collect_answers()[name]
    if isinstance(check, Form):
        words = check.flat(answer)
        return [[place, words[blank.name]] for place, blank in enumerate(check.blanks())]
    return [[one, other] for one, other in pairwise(answer)]


def wrong_parts(name: str, form: dict[str, Any]) -> list[Any]:
    """Return every wrong part of an answer that somebody can give in the form."""
    if "rows" in form:
        right = dict(parts_of(name))
        return [[n, word] for n, row in enumerate(form["rows"]) for word in row["words"] if word != right[n]]
    place = {one: n for n, one in enumerate(collect_answers()[name])}
    return [[one, other] for one in place for other in place if place[one] > place[other]]


@pytest.mark.parametrize("name", IN_PAGE)
def test_the_solutions_answer_is_accepted_and_no_part_of_it_is_refused(name: str, forms: Any) -> None:
    form = json.loads(forms(name)[0])
    exercise, parts = find(name), parts_of(name)
    text = unseal(form, parts)
    assert text is not None
    assert text["says"] == as_html(f"✓ {exercise.check(collect_answers()[name])}")
    assert text["more"] == as_html(exercise.afterwards) != ""
    assert [part for part in parts if (unseal(form, part) or {"wrong": "names" not in form})["wrong"]] == []


def test_a_form_is_displayed_as_it_is_and_only_for_an_exercise_that_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    displayed: list[tuple[Any, bool]] = []
    monkeypatch.setattr(form_recorder, "display", lambda data, raw=False: displayed.append((data, raw)))
    monkeypatch.setattr(form_recorder, "describe_form", lambda exercise, answer: [exercise.id, answer])
    form_recorder.record_form(IN_PAGE[0], "an answer")
    form_recorder.record_form(next(name for name in EXERCISES if name not in IN_PAGE), "an answer")
    assert displayed == [({form_recorder.FORM: [IN_PAGE[0], "an answer"]}, True)]


@pytest.mark.parametrize("name", IN_PAGE)
def test_each_wrong_part_is_refused_and_each_known_misconception_has_its_hint(name: str, forms: Any) -> None:
    exercise, form = find(name), json.loads(forms(name)[0])
    texts = [unseal(form, part) or {} for part in wrong_parts(name, form)]
    assert len(form["sealed"]) == 1 + len(texts) + len(form.get("rows", ()))
    assert all(text.get("says") or (text["wrong"] and text["refutes"] and text["look"]) for text in texts)
    shown, hints = {text["more"] for text in texts} - {""}, {as_html(exercise.hint_for(m)) for m in exercise.misses}
    assert shown == hints if exercise.question is None else shown <= hints


@pytest.mark.parametrize("name", IN_PAGE)
def test_nothing_of_the_answer_is_in_clear(name: str, forms: Any) -> None:
    file, element = forms(name)
    form, answer = json.loads(file), collect_answers()[name]
    assert set(form) - {"rows", "what", "names"} == {"id", "salt", "rounds", "sealed"}
    assert list(form["sealed"]) == sorted(form["sealed"])
    for text in (RUN, as_html(find(name).afterwards), canonical(parts_of(name))[1:-1]):
        assert text not in file + element
    if "names" in form:
        assert sorted(form["names"]) == sorted(answer)
        assert form["names"] != answer
    else:
        assert len(form["rows"]) > 1
        firsts = [row["words"].index(word) for row, (_, word) in zip(form["rows"], parts_of(name), strict=True)]
        assert len(set(firsts)) > 1  # the right word has no place of its own


def test_a_refusal_is_what_a_notebook_says_and_names_its_run(forms: Any) -> None:
    text = unseal(json.loads(forms("L3.E1")[0]), [2, "nothing"])
    error = hold("L3.E1", "a dead broker decides")
    assert text is not None
    assert text["belief"] == error.miss
    assert text["sentence"] in str(error)
    assert as_html(str(error)).endswith(text["refutes"].removeprefix("<p>"))
    assert "b1 crashes right after b1 appends the debits" in text["refutes"]
    assert RUN in text["run"]


def test_nothing_is_told_of_presses_on_the_run_of_a_wrong_answer() -> None:
    known = dict(recorder.SHOWN)
    with recorder.not_foretold():
        recorder.describe_picture(Sequence(lab03()))
        assert known != recorder.SHOWN
    assert known == recorder.SHOWN


def test_python_seals_what_the_page_opens() -> None:
    path = ROOT / "pictures" / "test" / "sealed_form.json"
    form = json.loads(path.read_text(encoding="utf-8"))
    again = {**form, "sealed": seal(form["texts"], form["salt"])}
    assert list(again["sealed"]) == list(form["sealed"])
    for part, text in form["texts"].items():
        assert unseal(form, json.loads(part)) == unseal(again, json.loads(part)) == json.loads(text)


def _article(name: str, site: Path) -> list[dict[str, Any]]:
    """Return the cells of a lab's article without a run."""
    solution = read(ROOT / SOLUTIONS / f"{name}.ipynb")
    copy = student(solution)
    for cell in [cell for cell in solution["cells"] if is_check(cell)]:
        solution["cells"].append({"cell_type": "code", "id": cell["id"] + FORM_ID, "outputs": []})
    cells: list[dict[str, Any]] = article_of(name, solution, copy, site, Links(ROOT, f"labs/{name}.ipynb"))["cells"]
    return cells


@pytest.mark.parametrize("name", [path.stem for path in sources(ROOT) if path.stem != "00_start"])
def test_an_article_asks_nobody_to_run_a_cell(name: str, tmp_path: Path) -> None:
    texts = ["".join(cell["source"]) for cell in _article(name, tmp_path) if cell["cell_type"] == "markdown"]
    assert [text for text in texts if re.search("[Rr]un the next cell|inside this notebook", text)] == []
    given = read(ROOT / SOLUTIONS / f"{name}.ipynb")["cells"][0]["source"]
    assert ("Choose in the list below" in texts[0]) == ("Run the next cell: click it" in "".join(given))


@pytest.mark.parametrize("name", [path.stem for path in sources(ROOT)])
def test_an_exercise_is_a_box_with_its_cell_and_its_hints_instead_of_two_cells(name: str, tmp_path: Path) -> None:
    solution = read(ROOT / SOLUTIONS / f"{name}.ipynb")["cells"]
    asked = {c["id"]: ASKED.search("".join(n["source"])) for c, n in pairwise(solution) if is_check(n)}
    article = _article(name, tmp_path)
    assert [cell["id"] for cell in article if "nbgrader" in cell["metadata"]] == []
    boxes = {cell["id"].removesuffix("-box"): cell["source"] for cell in article if cell["id"].endswith("-box")}
    assert list(boxes) == list(asked)
    for cell, box in boxes.items():
        found = asked[cell]
        assert found is not None
        assert f'href="../jupyter/notebooks/index.html?path=labs/{name}.ipynb#cell-id={cell}"' in box
        assert [as_html(hint) in box for hint in find(found[1]).hints] == [True, True, True]
        assert "\n\n" not in box
        assert ("The notebook needs Spark and Java" in box) == (name in NEEDS_MORE)


def test_no_hint_gives_an_answer_of_a_form() -> None:
    for name in IN_PAGE:
        for hint in find(name).hints:
            for place, word in (part for part in parts_of(name) if isinstance(part[0], int)):
                assert f'{place + 1}: "{word}"' not in hint


def test_emphasis_and_code_of_a_hint_are_shown_as_such_and_a_star_of_code_stays() -> None:
    assert as_html("It is *not* in `SELECT * FROM t`, 2 * 3 * 4.") == (
        "<p>It is <em>not</em> in <code>SELECT * FROM t</code>, 2 * 3 * 4.</p>"
    )


@pytest.mark.parametrize("name", EXERCISES)
def test_no_hint_or_reason_shows_a_star_of_its_markup(name: str) -> None:
    exercise = find(name)
    texts = [*exercise.hints, exercise.afterwards, *(exercise.hint_for(miss) for miss in exercise.misses)]
    assert [text for text in texts if re.search(r"(?<![\w*(])\*\w", as_html(text))] == []
