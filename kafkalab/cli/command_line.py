"""The common part of all commands: errors in one line, and text in columns or as JSON."""

from __future__ import annotations

import argparse
import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from kafkalab.limits import NUMBER, quote
from kafkalab.markup import LEFT, Markup, each, element, join


class CommandLineError(Exception):
    """The request cannot be carried out; the message is one line, for whoever typed it."""


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line and no usage."""

    def error(self, message: str) -> NoReturn:
        raise CommandLineError(message)


def number_from(least: int, what: str = "number", most: int = NUMBER.most) -> Callable[[str], int]:
    """Return an option's type: a whole number from `least` to `most`, which complaints call `what`."""

    def number(text: str) -> int:
        digits = text.replace("_", "")
        if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18 or int(digits) < least:
            raise argparse.ArgumentTypeError(f"a {what} from {least} on, not {quote(text)}")
        if int(digits) > most:
            raise argparse.ArgumentTypeError(f"a {what}, at most {most:,}, not {quote(text)}")
        return int(digits)

    return number


def integer(text: str) -> int:
    """Return the whole number in ASCII digits, perhaps below 0. For options; the error is argparse's."""
    if re.fullmatch(r"-?[0-9]{1,18}", text) is None:
        raise argparse.ArgumentTypeError(f"a whole number, not {quote(text)}")
    return int(text)


@contextmanager
def stoppable() -> Iterator[None]:
    """Within, SIGTERM raises KeyboardInterrupt, as Control-C does: what is under way is removed on the way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


class Text(str):
    """A command's output; a notebook shows it as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class TableText(Text):
    """A table as Kafka's tools print it; a notebook, which is not as wide, shows a line for each column."""

    __slots__ = ("rows",)
    rows: list[list[str]]

    def _repr_html_(self) -> str:
        """Return the table on its side: the headers, and a column for each row."""
        return element("table", each("tr", map(_line, *self.rows)))


def _line(head: str, *cells: str) -> Markup:
    shown = (element("code", cell) if cell else "–" for cell in cells)
    return join([element("th", head, style=LEFT), each("td", shown, style=LEFT) or element("td", "–")])


def table_text(headers: Sequence[str], rows: list[list[Any]], as_json: bool) -> Text:
    """Columns as wide as their longest text, with a tab between them, as Kafka's tools print; or a list of objects."""
    if as_json:
        return Text(json.dumps([dict(zip(headers, row, strict=True)) for row in rows], indent=1))
    lines = [[_text(cell) for cell in row] for row in [list(headers), *rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]
    padded = ("\t".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    table = TableText("\n".join(padded))
    table.rows = lines
    return table


def _text(cell: object) -> str:
    return ",".join(cell) if isinstance(cell, (list, tuple)) else str(cell)
