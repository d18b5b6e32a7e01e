"""A counterexample that is no run: a few rows, of which one decides, as a notebook and as text show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafkalab.markup import LEFT, Markup, each, element, join

SIGN = "▸"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a title, each with a value for every one of `columns`; row `at` is the one to look at first."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    at: int = 0

    def __str__(self) -> str:
        cells = [self.columns, *(tuple(map(str, row)) for row in self.rows)]
        wide = [max(len(row[i]) for row in cells) for i in range(len(self.columns))]
        lines = [" │ ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip() for row in cells]
        signs = [" ", *(SIGN if i == self.at else " " for i in range(len(self.rows)))]
        return "\n".join([self.title, *(f"{sign} {line}" for sign, line in zip(signs, lines, strict=True))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = element("tr", each("th", ("", *self.columns), style=LEFT))
        body = (self._row(i == self.at, row) for i, row in enumerate(self.rows))
        return join([element("p", self.title), element("table", head, *body)])

    def _row(self, decides: bool, row: Sequence[Any]) -> Markup:
        cells = each("td", (SIGN if decides else "", *row), style=LEFT)
        return element("tr", cells, style="font-weight:bold" if decides else "")
