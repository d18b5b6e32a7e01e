"""Each colour of the pictures and pages stands in kafkalab/palette.py, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalab import palette

LITERAL = re.compile(
    r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})(?![\w-])|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\((?=\d)", re.I
)
SUFFIXES = {".css", ".html", ".js", ".py", ".ts"}
MAY = {
    "kafkalab/palette.py": "states them",
    "pictures/src/palette.css": "is written from it",
    "pictures/src/page/terms.css": "the shadow of a card: black, of which a quarter is seen",
}


def literals(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and text of every colour that a source states; files that are built are no sources."""
    for folder in ("kafkalab", "pictures/src"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.parent.name != "built":
                name = path.relative_to(root).as_posix()
                yield from ((name, found) for found in LITERAL.findall(path.read_text(encoding="utf-8")))


def test_only_the_palette_states_colours(root: Path) -> None:
    assert {name for name, _ in literals(root)} == MAY.keys()


def test_the_palette_states_each_colour_once() -> None:
    stated = LITERAL.findall(Path(palette.__file__).read_text(encoding="utf-8"))
    assert len(stated) > 20
    assert sorted(set(stated)) == sorted(stated)


@pytest.mark.parametrize("text", ["#fff", "fill='#0b57a4'", "#FFF8;", "rgb(0 0 0 / 25%)"])
def test_a_literal_is_found(text: str) -> None:
    assert LITERAL.search(text)


@pytest.mark.parametrize("text", ["docs/protocol.md#add-partitions", "#EndTxn#1", "var(--red)", "rgb(var(--x))", "#12"])
def test_what_is_no_colour_is_not(text: str) -> None:
    assert not LITERAL.search(text)
