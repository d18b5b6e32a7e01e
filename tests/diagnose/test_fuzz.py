"""Mutated and truncated incidents: no traceback, and no certainty that the whole text does not give."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import CERTAIN, Finding
from kafkalab.diagnose.judge import apply_rules, judge
from kafkalab.diagnose.reading import read_text
from kafkalab.diagnose.report import NOTHING

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[1] / "incidents").glob("*/key.toml"))
MUTATIONS = 25
"""For each incident, 1,000 in all."""
Texts = list[list[str]]


def certain_of(texts: Texts, rules: Callable[[Evidence], list[Finding]] = judge) -> set[tuple[str, str]]:
    """Return mechanism and place of what is certain."""
    evidence = Evidence()
    for n, lines in enumerate(texts):
        read_text(str(n), ((line, False) for line in lines), evidence)
    return {(one.mechanism, one.where) for one in rules(evidence) if one.certainty == CERTAIN}


@cache
def texts_of(folder: Path) -> tuple[tuple[str, ...], ...]:
    """Return the lines of each file."""
    files = (path for path in sorted(folder.iterdir()) if path.name != "key.toml")
    return tuple(tuple(path.read_text().splitlines()[:150]) for path in files)


def drop_lines(lines: list[str], draw: random.Random) -> list[str]:
    """Leave lines out, one here and there or a run of them."""
    if draw.random() < 0.5:
        return [line for line in lines if draw.random() < 0.8]
    first = draw.randrange(len(lines))
    return lines[:first] + lines[first + draw.randrange(1, 20) :]


def cut_end(lines: list[str], draw: random.Random) -> list[str]:
    """End in the middle of a line."""
    last = draw.randrange(len(lines))
    return [*lines[:last], lines[last][: draw.randrange(len(lines[last]) + 1)]]


def cut_begin(lines: list[str], draw: random.Random) -> list[str]:
    """Begin in the middle of a line."""
    first = draw.randrange(len(lines))
    return [lines[first][draw.randrange(len(lines[first]) + 1) :], *lines[first + 1 :]]


def cut_lines(lines: list[str], draw: random.Random) -> list[str]:
    """Cut lines at a width, as terminals do."""
    width = draw.randrange(10, 400)
    return [line[:width] for line in lines]


def wrap_lines(lines: list[str], draw: random.Random) -> list[str]:
    """Break lines at a width, as mails do."""
    width = draw.randrange(60, 300)
    return [line[at : at + width] for line in lines for at in range(0, max(1, len(line)), width)]


def flip_signs(lines: list[str], draw: random.Random) -> list[str]:
    """Put another character in the place of some."""
    found = list(lines)
    for _ in range(draw.randrange(1, 12)):
        n = draw.randrange(len(found))
        at = draw.randrange(len(found[n]) + 1)
        found[n] = found[n][:at] + chr(draw.choice((0, 9, 32, 91, 123, 0x660, 0x1F600, 65))) + found[n][at + 1 :]
    return found


def shuffle_lines(lines: list[str], draw: random.Random) -> list[str]:
    """Put the lines in any order."""
    return draw.sample(lines, len(lines))


def repeat_lines(lines: list[str], draw: random.Random) -> list[str]:
    """Paste a part twice."""
    first = draw.randrange(len(lines))
    last = first + draw.randrange(1, 30)
    return lines[:last] + lines[first:last] + lines[last:]


def mangle_numbers(lines: list[str], draw: random.Random) -> list[str]:
    """Put huge and odd numbers in."""
    odd = draw.choice(("9" * 30, "-1", "", "١٢", "1e9", "0x10", "NaN"))
    return [line.replace(str(draw.randrange(10)), odd, 2) if draw.random() < 0.2 else line for line in lines]


LESS = (drop_lines, cut_end, cut_begin, cut_lines, wrap_lines)
"""Mutations that only take something away."""
OTHER = (flip_signs, shuffle_lines, repeat_lines, mangle_numbers)
"""Mutations that make another text; only the kinds of what is certain are compared."""


def mutate(texts: Texts, mutation: Callable[[list[str], random.Random], list[str]], draw: random.Random) -> Texts:
    """Return the texts with one of them changed, and sometimes without another."""
    chosen = draw.randrange(len(texts))
    found = [mutation(lines, draw) if n == chosen else lines for n, lines in enumerate(texts)]
    if len(found) > 1 and draw.random() < 0.3:
        del found[draw.randrange(len(found))]
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_mutation_is_read_and_makes_nothing_certain(folder: Path) -> None:
    texts = [list(lines) for lines in texts_of(folder)]
    whole = certain_of(texts, apply_rules)
    kinds = {mechanism for mechanism, _ in whole}
    for seed in range(MUTATIONS):
        draw = random.Random(f"{folder.name} {seed}")
        mutation = draw.choice((*LESS, *OTHER))
        found = certain_of(mutate(texts, mutation, draw))
        if mutation in LESS:
            assert found <= whole, (seed, mutation.__name__)
        else:
            assert {mechanism for mechanism, _ in found} <= kinds, (seed, mutation.__name__)


def test_any_bytes_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kafkalab.cli.main import main

    path = tmp_path / "x.log"
    for seed in range(20):
        path.write_bytes(random.Random(seed).randbytes(3_000))
        assert main(["diagnose", str(path)]) == 0
        assert NOTHING in capsys.readouterr().out
