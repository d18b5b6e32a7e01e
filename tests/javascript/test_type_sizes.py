"""The pictures' type has four sizes, which shared.css names; the pages around them use the same ones."""

from __future__ import annotations

import re
from pathlib import Path

SIZES = re.compile(r"--(small|base|large|largest): ([\d.]+px);")
FONT = re.compile(r"\bfont(?:-size)?:\s*([^;}]+)")
SIZE = re.compile(r"inherit|var\(--(?!mono)[\w-]+\)|[\d.]+(?:[a-z]+|%)|\b(?:x+-)?(?:small|large)(?:er)?\b")


def sizes(css: str) -> set[str]:
    """The sizes that a sheet's declarations of `font` and `font-size` begin with."""
    return {found[0] for value in FONT.findall(css) if (found := SIZE.search(value))}


def test_all_type_has_one_of_four_sizes(root: Path) -> None:
    folder = root / "pictures" / "src"
    sheets = {f.name: f.read_text(encoding="utf-8") for f in sorted(folder.rglob("*.css"))}
    stated = SIZES.findall(sheets["shared.css"])
    assert [name for name, _ in stated] == ["small", "base", "large", "largest"] * 2  # on a laptop, on a projector
    assert [name for name, css in sheets.items() if SIZES.search(css)] == ["shared.css"]
    laptop = {size for _, size in stated[:4]}
    allowed = {"inherit", "1em", *(f"var(--{name})" for name, _ in stated), *laptop}
    used = {name: sizes(css) for name, css in sheets.items()}
    assert {size for found in used.values() for size in found} > {"var(--small)", "var(--largest)", "1em"}
    assert {name: found - allowed for name, found in used.items() if found - allowed} == {}


def test_a_size_is_found_in_both_declarations() -> None:
    css = "a{font:\n\t600 1.2em / 1.4 var(--mono)} b { font-size: smaller; font-weight: 600 } c{font: inherit}"
    assert sizes(css) == {"1.2em", "smaller", "inherit"}
    assert sizes("a { font: var(--small) / calc(18em / 11.5) var(--mono); font-size: 9px }") == {"var(--small)", "9px"}
