"""Texts as numbers: a synthetic history is made of int64 arrays, and becomes text only where Arrow writes it.

A name is `space << 44 | number`: its text is the space's pattern, filled with the number. -1 is null.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafkalab.protocol.errors import Error
from kafkalab.protocol.source_header import SOURCE
from kafkalab.protocol.transaction_metadata import TxnState

Ints = npt.NDArray[np.int64]
SHIFT = 44
NUMBER = (1 << SHIFT) - 1
NULL = -1

_PATTERNS: list[str] = []
_SPACES: dict[str, int] = {}
"""The spaces by what `_form` makes of their texts."""


def _form(text: str) -> str:
    """`_form("p3/consumer-1") == "p{}/consumer-{}"`; an offset stays: "source=own-3@0"."""
    return re.sub(r"(?<!@)\d+", "{}", text)


def _space(pattern: str) -> int:
    space = len(_PATTERNS) << SHIFT
    _PATTERNS.append(pattern)
    _SPACES.setdefault(_form(pattern.format(0)), space)
    return space


EMPTY = _space("")
OUT, IN, OWN = _space("out-{}"), _space("in-{}"), _space("own-{}")
OFFSETS, TXN_LOG = _space("__consumer_offsets-{}"), _space("__transaction_state-{}")
COMMIT_OF_IN = _space("app/in-{}")
BROKER = _space("b{}")

# Processes, the clients in them, and transactional ids.
PRODUCER, PRODUCER_CLIENT, PRODUCER_ID = _space("p{}"), _space("p{0}/t{0}"), _space("t{}")
APP, APP_CLIENT, APP_ID = _space("app{}"), _space("app{0}/a{0}"), _space("a{}")
APP_CONSUMER = _space("app{}/consumer-1")
IDEMPOTENT, IDEMPOTENT_CLIENT = _space("i{}"), _space("i{0}/{0}")
COMMITTED, COMMITTED_CONSUMER = _space("committed{}"), _space("committed{}/consumer-1")
UNCOMMITTED, UNCOMMITTED_CONSUMER = _space("uncommitted{}"), _space("uncommitted{}/consumer-1")

VALUE, RESULT, PLAIN_NUMBER = _space("v{}"), _space("+v{}"), _space("{}")
"""An input's or output's value, what a processor makes of it, and a committed offset."""

FRAMES = ("Produce", "AddPartitionsToTxn", "EndTxn", "TxnOffsetCommit", "WriteTxnMarkers")
REQUEST = {name: _space(name + "#{}") for name in FRAMES}
REPLY = {name: _space(name + "Response#{}") for name in FRAMES}

# What scenes have, too: other processes, what is made from a window's own partition, and words.
for _text in (
    "app/own-{}", "q{}", "q{0}/t{0}", "n{}", "n{0}/-1", "p{}/consumer-1", "w{}", "w{}/consumer-1",
    f"{SOURCE}=own-{{}}@0",
    "app", "admin", "read_committed", "read_uncommitted", "invoke", "ok", "fail", "info", "COMMIT", "ABORT", "init",
    "begin", "send", "offsets", "commit", "abort", "assign", "seek", "rebalance", "truncated",
    "request", "response", "delivered", "dropped", "lost", "in flight", *(state.label for state in TxnState),
    *(f"{name}{kind}" for name in FRAMES for kind in ("", "Response")), *(error.name for error in Error),
):  # fmt: skip
    _space(_text)


def name_of(text: str) -> int:
    """Return the name of a text: `name_of("out-3") == OUT + 3`. KeyError for one that no synthetic history has."""
    number = re.search(r"\d+", text)
    return _SPACES[_form(text)] + (int(number[0]) if number else 0)


@cache
def source_of_in(lane: int) -> int:
    """The name of the header of what was made from the input of a lane at offset 0; those of the others follow."""
    return _space(f"{SOURCE}=in-{lane}@{{}}")


def text_of(name: int) -> str | None:
    """`text_of(OUT + 3) == "out-3"`."""
    return None if name == NULL else _PATTERNS[name >> SHIFT].format(name & NUMBER)


def few_texts(names: Ints) -> pa.Array:
    """The texts of a column in which the same ones come again and again."""
    coded = pa.array(names).dictionary_encode()
    return pa.array([text_of(name) for name in coded.dictionary.to_pylist()], pa.string()).take(coded.indices)


def many_texts(names: Ints) -> pa.Array:
    """The texts of a column in which most are different."""
    coded = pa.array(names >> SHIFT).dictionary_encode()
    spaces = coded.dictionary.to_pylist() or [NULL]
    patterns = [(None,) * 3 if space < 0 else _PATTERNS[space].partition("{}") for space in spaces]
    before, place, behind = (pa.array(part, pa.string()) for part in zip(*patterns, strict=True))
    numbers = pa.array(names & NUMBER).cast(pa.string())
    if not pc.all(pc.equal(place, "{}")).as_py():
        numbers = pc.if_else(pc.equal(place, "{}").take(coded.indices), numbers, "")
    if pc.max(pc.utf8_length(behind)).as_py():
        numbers = pc.binary_join_element_wise(numbers, behind.take(coded.indices), "")
    return pc.binary_join_element_wise(before.take(coded.indices), numbers, "")


def lists_of(texts: pa.Array, counts: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """One list for each count, with as many of the texts, in their order."""
    edges = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=edges[1:])
    return pa.ListArray.from_arrays(pa.array(edges), texts, type=kind)
