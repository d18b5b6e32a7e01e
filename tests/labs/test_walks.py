"""Each walk of a lab needs at most 25 presses, and what the lab's text links to is in one of its pictures."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from kafkalab.widgets.model.jumps import find
from kafkalab.widgets.views.sequence import Sequence

SOLUTIONS = Path(__file__).parents[2] / "labs" / "solutions"
MOST = 25
LINK = re.compile(r"\]\(#([A-Z]\w*(?:#|%23)\d+|chapter:[^)]*)\)")


def cells(lab: str, kind: str) -> list[str]:
    book = json.loads((SOLUTIONS / f"{lab}.ipynb").read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == kind]


def names(tree: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Return the names that code reads (`ast.Load`) or binds (`ast.Store`); functions, classes and imports bind."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}
    if context is ast.Store:
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def find_needed(lab: str) -> list[ast.Module]:
    """Return the cells that make a sequence, and those whose names they use; none that calls a learner's answer."""
    kept: list[ast.Module] = []
    wanted: set[str] = set()
    sources = [source for source in cells(lab, "code") if not source.startswith("%") and "\n%" not in source]
    solved = [node for s in sources if "SOLUTION" in s for node in ast.parse(s).body]
    answers = {node.name for node in solved if isinstance(node, ast.FunctionDef)}
    for source in sources:
        if names(tree := ast.parse(source), ast.Load) & answers:
            answers |= names(tree, ast.Store)
    for source in reversed(sources):
        tree = ast.parse(source)
        if "SOLUTION" in source or names(tree, ast.Load) & answers:
            continue
        if "Sequence(" in source or names(tree, ast.Store) & wanted:
            kept.append(tree)
            wanted |= names(tree, ast.Load)
    return kept[::-1]


LABS = [path.stem for path in sorted(SOLUTIONS.glob("*.ipynb")) if find_needed(path.stem)]


@cache
def pictures(lab: str) -> list[Sequence]:
    """Return the sequences of a lab as its cells leave them."""
    made: list[Sequence] = []
    scope: dict[str, Any] = {"__name__": "__main__", "print": lambda *_, **__: None, "display": lambda *_: None}
    for tree in find_needed(lab):
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("_shown", ast.Store())], last.value), last)
        exec(compile(ast.fix_missing_locations(tree), lab, "exec"), scope)
        made += [thing for thing in scope.values() if isinstance(thing, Sequence)]
    return list(dict.fromkeys(made))


@pytest.mark.parametrize("lab", LABS)
def test_no_walk_needs_more_than_25_presses(lab: str) -> None:
    assert pictures(lab)
    walks = {f"{picture.payload['title']} {picture.payload['faults']}": picture for picture in pictures(lab)}
    presses = {name: len(picture.journey.stops()) - 1 for name, picture in walks.items()}
    assert {name: count for name, count in presses.items() if not 0 < count <= MOST} == {}


@pytest.mark.parametrize("lab", LABS)
def test_every_link_to_a_step_names_something_in_a_picture_of_the_lab(lab: str) -> None:
    linked = [unquote(name) for text in cells(lab, "markdown") for name in LINK.findall(text)]
    for name in linked:
        steps = []
        for picture in pictures(lab):
            try:
                steps.append(find(picture.payload, picture.journey.stops(), name))
            except ValueError:
                continue
        assert steps, f"no picture of {lab} has {name}"


def lands_in(picture: Sequence, slug: str) -> bool:
    """Return True if the walk's first stop in this chapter comes before the next chapter begins."""
    begun = {chapter["slug"]: chapter["step"] for chapter in picture.payload["chapters"]}
    if slug not in begun:
        return False
    step = find(picture.payload, picture.journey.stops(), f"chapter:{slug}")
    return all(later > step for later in begun.values() if later > begun[slug])


@pytest.mark.parametrize("lab", LABS)
def test_every_link_to_a_chapter_lands_in_it(lab: str) -> None:
    linked = [name for text in cells(lab, "markdown") for name in LINK.findall(text) if name.startswith("chapter:")]
    slugs = [name.removeprefix("chapter:") for name in linked]
    assert [slug for slug in slugs if not any(lands_in(picture, slug) for picture in pictures(lab))] == []


def test_there_are_labs_with_walks() -> None:
    assert len(LABS) >= 6
