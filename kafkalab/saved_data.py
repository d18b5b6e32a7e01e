"""Read a file of plain data that somebody else may have written: within limits, and with errors that name them."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from kafkalab.limits import FILE, ITEMS, NESTING, NUMBER, TEXT, Limit, quote, truncate

CAPTURE = "capture.json"
"""The file beside the tables of a capture that says how far it is."""
CAPTURED = Limit(200_000_000, "bytes of a capture's state")


@contextmanager
def open_regular(path: str | Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading. ValueError for a folder, device, pipe or socket; OSError as of `open`.

    Opening a pipe does not wait for its writer.
    """
    name = quote(str(path))
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except ValueError:
        raise ValueError(f"{name} is no name of a file") from None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise ValueError(f"{name} is a device, a pipe or a socket; a regular file is needed") from None
        raise
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(kind) else "a device, a pipe or a socket"
        raise ValueError(f"{name} is {what}; a regular file is needed")
    with os.fdopen(descriptor, "rb") as file:
        yield file


def file_bytes(path: str | Path, limit: Limit = FILE) -> bytes:
    """Return the content of a regular file. ValueError and OSError as of `open_regular`, and for a larger file."""
    with open_regular(path) as file:
        content = file.read(limit.most + 1)
    limit.check(len(content), f"the file {quote(str(path))}")
    return content


def file_text(path: str | Path, limit: Limit = FILE, errors: str = "strict") -> str:
    """Return the text of a regular file. ValueError as of `file_bytes`, and for what is no UTF-8.

    `errors` as of `bytes.decode`. OSError as of `open`.
    """
    content = file_bytes(path, limit)
    try:
        return content.decode("utf-8", errors)
    except UnicodeDecodeError:
        raise ValueError(f"{quote(str(path))} is no text in UTF-8") from None


def json_file(path: str | Path, limit: Limit = FILE) -> Any:
    """Return the data of a regular file of JSON.

    ValueError, with the file's name, for one that is no JSON, too deep, or too large; OSError as of `open`.
    """
    text = file_text(path, limit)
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(f"{path} is damaged: it has too many {NESTING.of}") from None
    except ValueError as error:
        reason = getattr(error, "msg", "a huge number")
        raise ValueError(f"{path} is damaged: it is no JSON ({reason}), or was cut off") from None


def json_lines(path: str | Path, limit: Limit, may_be_cut_off: bool = False) -> Generator[tuple[int, Any], None, None]:
    """Yield the number, from 1, and the data of each line of a regular file of JSON lines.

    ValueError, with the file's name and the line, for a line that is no JSON or too deep, and for a file that is too
    large. A last line without a line break that is no JSON is left out if the file `may_be_cut_off`.
    """
    name, seen = str(path), 0
    with open_regular(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(limit.most + 1), b""), 1):
            seen += len(line)
            limit.check(seen, f"the file {quote(name)}")
            try:
                data = json.loads(line)
            except RecursionError:
                why = f"has too many {NESTING.of}; the file is damaged"
                raise ValueError(truncate(f"{name}: line {number} {why}")) from None
            except ValueError as error:
                if may_be_cut_off and not line.endswith(b"\n"):
                    return
                reason = "no UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "msg", "a huge number")
                why = f"is not JSON ({reason}); the file is damaged or cut off"
                raise ValueError(truncate(f"{name}: line {number} {why}")) from None
            yield number, data


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
                raise ValueError(f"{where} has the text {quote(value)}: half of a surrogate pair is no character")
        elif isinstance(value, float) and not isfinite(value):
            raise ValueError(f"{where} has a number that is too large")
        elif isinstance(value, int) and abs(value) > NUMBER.most:
            raise ValueError(f"{where} has the number {quote(value)}; the limit is {NUMBER.most:,}")
        elif isinstance(value, dict | list | tuple):
            NESTING.check(level, where)
            ITEMS.check(items + len(waiting) + len(value), where)
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            waiting += [(one, level + 1) for one in inside]
