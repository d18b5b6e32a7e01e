"""Read a file of plain data that somebody else may have written: within limits, and with errors that name them."""

from __future__ import annotations

import json
import stat
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

from kafkalab.limits import FILE, ITEMS, NESTING, NUMBER, TEXT, Limit, quoted


def file_text(path: str | Path, limit: Limit = FILE, errors: str = "strict") -> str:
    """Return the text of a regular file. ValueError for a folder, device or pipe, a larger file, and what is no UTF-8.

    `errors` as of `bytes.decode`. OSError as of `open`.
    """
    name = quoted(str(path))
    try:
        kind = Path(path).stat().st_mode
    except ValueError:
        raise ValueError(f"{name} is no name of a file") from None
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "a device, a pipe or a socket"
        raise ValueError(f"{name} is {what}; a regular file is needed")
    with open(path, "rb") as file:
        content = file.read(limit.most + 1)
    limit.check(len(content), f"the file {name}")
    try:
        return content.decode("utf-8", errors)
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no text in UTF-8") from None


def json_of(text: str, where: str, otherwise: str = "") -> Any:
    """Return the plain data in a JSON text, within the limits of `check_plain`. ValueError for anything else.

    `otherwise` is the message for a text that is no JSON at all.
    """

    def no_number(name: str) -> NoReturn:
        raise ValueError(name)

    try:
        data = json.loads(text, parse_constant=no_number)
    except RecursionError:
        raise ValueError(f"{where} has too many {NESTING.of}; the limit is {NESTING.most}") from None
    except ValueError:
        raise ValueError(otherwise or f"{where} is not a scenario that kafkalab saved: it is no JSON") from None
    check_plain(data, where)
    return data


def check_plain(data: Any, where: str) -> None:
    """Raise ValueError, which names the limit, for plain data that is too deep, has too many values, or too large ones.

    A text must be one that can be written to a file: half of a surrogate pair is refused.
    """
    waiting, items = [(data, 1)], 0
    while waiting:
        value, level = waiting.pop()
        items += 1
        if isinstance(value, str):
            TEXT.check(len(value), where)
            if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
                raise ValueError(f"{where} has the text {quoted(value)}: half of a surrogate pair is no character")
        elif isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{where} has a number that is too large")
        elif isinstance(value, int) and abs(value) > NUMBER.most:
            raise ValueError(f"{where} has the number {quoted(value)}; the limit is {NUMBER.most:,}")
        elif isinstance(value, dict | list | tuple):
            NESTING.check(level, where)
            ITEMS.check(items + len(waiting) + len(value), where)
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            waiting += [(one, level + 1) for one in inside]
