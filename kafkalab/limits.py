"""Limits of what may be fed in, and how an error quotes it: one table of limits, which docs/limits.md explains.

Every limit is far above what a lesson needs, and low enough that no file, code or message costs more than two seconds
or 200 MB.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from typing import NamedTuple

QUOTE, MESSAGE = 80, 500
"""The most characters of the input that a message quotes, and of a whole message."""
NAMES = 200
"""The most characters of what could have been meant."""


class Limit(NamedTuple):
    """The largest number allowed, and of what."""

    most: int
    of: str

    def check(self, count: int, where: str) -> None:
        """Raise ValueError, which names `where` and the limit, for a larger number."""
        if count > self.most:
            raise ValueError(truncate(f"{where} has {number(count)} {self.of}; the limit is {self.most:,}"))


FILE = Limit(1_000_000, "bytes")
CODE = Limit(20_000, "characters")
NESTING = Limit(20, "levels of nesting")
TEXT = Limit(10_000, "characters in one text")
NUMBER = Limit(2**63 - 1, "as a whole number")
ITEMS = Limit(50_000, "values in all")
TOPICS = Limit(100, "topics")
PARTITIONS = Limit(1_000, "partitions of all topics together")
RECORDS = Limit(10_000, "records before the run")
NODES = Limit(50, "programs")
FAULTS = Limit(1_000, "faults")
DENIALS = Limit(1_000, "denials")
PRODUCER_EPOCHS = Limit(100, "transactional ids with an epoch")
NAME = Limit(249, "characters in a name")
TIME_MS = Limit(1_000_000_000_000, "milliseconds")
COUNT = Limit(10_000, "repetitions")
RUN = Limit(20_000, "entries of the schedule in the run of a file or a code")
FILE_OF_A_HISTORY = Limit(200_000_000, "bytes; a larger history is a folder that `kafkalab workload` writes")
FILE_OF_A_SESSION = Limit(2_000_000_000, "bytes of a session that a tap saved")
NOTEBOOK = Limit(20_000_000, "bytes of a notebook")
OPENED = Limit(4_000, "entries of the schedule in the run of a file or a code that a view opens")
LIMITS = (
    FILE, CODE, NESTING, TEXT, NUMBER, ITEMS, TOPICS, PARTITIONS, RECORDS, NODES, FAULTS, DENIALS, PRODUCER_EPOCHS,
    NAME, TIME_MS, COUNT, RUN, OPENED, FILE_OF_A_HISTORY,
    FILE_OF_A_SESSION, NOTEBOOK,
)  # fmt: skip

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = QUOTE - 2
_SHORT.maxlevel = 4


def quote(value: object) -> str:
    """Return `repr(value)`, at most QUOTE characters of it, also of a value that is deep, huge or has no `repr`."""
    try:
        text = _SHORT.repr(value)
    except (ValueError, RecursionError):  # an int of more digits than Python prints
        text = f"a {type(value).__name__} that is too large to show"
    return text if len(text) <= QUOTE else text[: QUOTE - 1] + "…"


def number(count: int) -> str:
    """Return the number with commas, or for a very large one that it is."""
    return f"{count:,}" if abs(count) < 10**24 else "far too many"


def list_names(names: Iterable[object], separator: str = ", ") -> str:
    """Return the names with commas between, as many as fit into NAMES characters, and how many are left out."""
    texts = [str(name) for name in names]
    shown, length = 0, 0
    for text in texts:
        length += len(text) + len(separator)
        if length > NAMES and shown:
            break
        shown += 1
    more = f" and {len(texts) - shown} more" if shown < len(texts) else ""
    return truncate(separator.join(texts[:shown]), NAMES) + more


def whole_number(text: str) -> int:
    """Return the number that ASCII digits without a leading zero say, as in "out-10"; -1 for any other text."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 19 or (text[0] == "0" and text != "0"):
        return -1
    return int(text)


def truncate(text: object, most: int = MESSAGE) -> str:
    """Return the first line of a message, at most `most` characters of it."""
    line = str(text).partition("\n")[0]
    return line if len(line) <= most else line[: most - 1] + "…"


def did_you_mean(name: object, known: Iterable[str], ending: str = "") -> str:
    """Return the end of a message: the known name nearest to `name`, or nothing."""
    near = difflib.get_close_matches(name, list(known), 1) if isinstance(name, str) and len(name) <= QUOTE else []
    return f"; did you mean {near[0]}{ending}?" if near else ""


def place_of(address: str) -> tuple[str, int]:
    """`place_of("localhost:9092") == ("localhost", 9092)`. ValueError for anything else."""
    host, _, port = address.rpartition(":")
    if not host or not 0 < whole_number(port) <= 65_535:
        raise ValueError(f"an address is HOST:PORT, not {quote(address)}")
    return host.strip("[]"), whole_number(port)
