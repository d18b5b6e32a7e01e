"""What the fuzzer feeds in: saved scenarios, codes and messages with a few of their values replaced."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from kafkalab.faults.registry import TYPES
from kafkalab.sim.codec import ANSWER, CHALLENGE, SCENARIO, encode
from kafkalab.sim.scenario import PROGRAMS
from kafkalab.widgets.model.presses import ACTIONS, DETAILS

ROOT = Path(__file__).parents[2]
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 9, 10, 255, 65_535, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63 - 1, 2**63,
    10**12, 10**18, 10**30, 10**400, 0.5, -0.0, 1e300, "", " ", "x", "²", "٣", "out-²", "b²", "b1", "b01",
    "controller", "app", "out-0", "out-00", "transfers-0", "accounts-1", "__transaction_state-45", "-1", "a" * 300,
    "b" * 20_000, "\ud800", "\x00", "\n\r\t", "🎲", "NaN", "$a.producer_id", "$a.__class__", "coordinator of a",
    "leader of out-0", "EndTxn#1", "EndTxnReply#1", "Produce#2", "Fetch#1", "EndTxn#²", "EndTxn#0", "EndTxn",
    "EndTx#1", [], {}, [[]], [[[]]], [None], {"": None}, ["commit", 0], ["abort"], ["send", "out", "v", None, 1],
    ["sleep", 5], ["poll", {}], {"sleep": -5}, {"await": "p"}, {"fault": []}, {"fault": "Drop"},
    ["begin_transaction"], ["seek", "out-0", -1],
]  # fmt: skip
"""Values that have been wrong somewhere, or that mean something to some program."""

OF_VIEWS = ("choose", "answer", "again", "reveal", "time", "finding", "node", "up", "down", "ask", "subject", "goto")
TARGETS = (
    "", "EndTxn#1", "Produce#2", "b1", "b2|b3", "b1,b2|b3", "app", "accounts-0", "accounts-0@0", "0", "1", "²", "b|",
    "deduplication", "x" * 5_000, "commit", "controller", "0" * 400, "1e999", "nan",
)  # fmt: skip
TRAITS = (
    "step", "groups", "hidden", "payload", "tree", "place", "chart", "can_undo", "size", "journey", "node", "revealed",
    "partition", "offset", "replicas", "inspect", "words", "machine", "subject", "what_if", "question", "given",
    "verdict", "truth", "choices", "kind", "left", "right", "rows", "row", "names", "apart", "time", "told", "reasons",
    "shared", "_esm", "_view_count", "layout", "_model_name", "comm", "keys", "tooltip",
)  # fmt: skip
ABORT = ("transactions", "abort", "FILE", "--topic", "out", "--partition", "0", "--after-ms", "1000")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("run", "FILE"), ("run", "FILE", "--json"), ("run", "FILE", "--at-ms", "100"),
    ("transactions", "list", "FILE"), ("transactions", "describe", "FILE", "--transactional-id", "payments-0"),
    ("transactions", "describe-producers", "FILE", "--topic", "out", "--partition", "0"),
    ("transactions", "find-hanging", "FILE", "--topic", "out"), ("transactions", "list", "FILE", "--state", "Ongoing"),
    (*ABORT, "--start-offset", "2"), (*ABORT, "--start-offset", "2", "--save", "OUT"),
    ("transactions", "forceTerminateTransaction", "FILE", "--transactionalId", "payments-0"),
    (*ABORT, "--producer-id", "2000", "--producer-epoch", "0", "--coordinator-epoch", "0"),
    ("workload", "synthetic", "--out", "OUT", "--records", "100", "--plant", "duplicate=0.1"),
    ("workload", "simulated", "--out", "OUT", "--seeds", "1-3", "--scenario", "FILE"), ("audit", "FOLDER"),
    ("audit", "FILE", "--only", "duplicate"), ("grade", "--tokens", "FILE"), ("grade", "FOLDER", "--out", "OUT"), (),
)  # fmt: skip
WORDS = (
    "--help", "--json", "--topic", "--partition", "--state", "--producer-id", "--transactional-id-pattern", "((a+)+)$",
    "--broker-id", "b²", "²", "-1", "--max-transaction-timeout", "--at-ms", "--after-ms", "999999999999999999999",
    "--seeds", "1-", "--records", "1_0", "--", "-", "FILE", "FOLDER", "/dev/zero", "/dev/stdin", "PIPE", "x" * 5_000,
    "\x00", "\udcff", "--duration-filter", "--rules-off", "--profile", "--save", "no/where/x", "--seed", "--challenge",
)  # fmt: skip

HARD = (b"[" * 100_000, b'"' + b"a" * 1_000_000, b"9" * 5_000, b"1e999", b"NaN")
"""Bytes that a JSON reader may stumble over."""

texts = st.text(max_size=12)
plain = st.recursive(
    st.sampled_from(ODD) | st.integers() | texts | st.floats(allow_nan=False, allow_infinity=False),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(texts, inside, max_size=4),
    max_leaves=8,
)


@cache
def read_saved() -> tuple[str, ...]:
    """The texts of all saved scenarios of the project, each once."""
    folders = (ROOT / "data", ROOT / "tests" / "saved_before")
    return tuple(sorted({path.read_text("utf-8") for folder in folders for path in folder.rglob("*.klab")}))


@cache
def words() -> tuple[str, ...]:
    """The names that a mutation may put in place of others."""
    return (*TYPES, *PROGRAMS, "4.x/TV1", "4.x/TV2", "1.0", "0.11", "read_uncommitted", "read_committed")


@st.composite
def mutate(draw: st.DrawFn, data: Any) -> Any:
    """Return the data with up to four of its values replaced, removed, copied, renamed or wrapped."""
    root = [copy.deepcopy(data)]
    for _ in range(draw(st.integers(0, 4))):
        holder: Any = root
        key: Any = 0
        while isinstance(holder[key], dict | list) and holder[key] and draw(st.integers(0, 5)):
            holder = holder[key]
            key = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else range(len(holder))))
        what = draw(st.integers(0, 9))
        if what < 5:
            holder[key] = copy.deepcopy(draw(plain | st.sampled_from(words())))
        elif what == 5 and type(holder[key]) is int:
            holder[key] += draw(st.sampled_from((1, -1, 10**6, 10**15, -(10**9))))
        elif what == 6 and isinstance(holder, list) and holder is not root:
            holder.insert(key, copy.deepcopy(holder[key]))
        elif what == 7 and isinstance(holder, dict):
            holder[draw(texts | st.sampled_from(words()))] = copy.deepcopy(holder[key])
        elif what == 8 and holder is not root:
            del holder[key]
        else:
            holder[key] = [copy.deepcopy(holder[key]) for _ in range(draw(st.sampled_from((1, 2, 20))))]
    return root[0]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A saved scenario, changed as data or byte by byte."""
    text = draw(st.sampled_from(read_saved()))
    if draw(st.integers(0, 9)):
        return json.dumps(draw(mutate(json.loads(text)))).encode()
    content = bytearray(text.encode())
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(content) - 1))
        content[at : at + draw(st.integers(0, 30))] = draw(st.binary(max_size=5) | st.sampled_from(HARD))
    return bytes(content)


@cache
def code_rows() -> tuple[Any, ...]:
    """The data of codes of all kinds: of names with changes, and of whole scenarios."""
    known = json.loads((ROOT / "tests/saved_before/codes.json").read_text("utf-8"))
    whole = [json.loads(text) for text in read_saved()[:20]]
    rows = [["lab03", "4.x/TV2", 3, ["a"], [["Drop", "EndTxn#1"], ["Crash", "b1", 40]]], ["hanging"], ["kafka_17754"]]
    return (*rows, *whole, *([known] if isinstance(known, list) else [list(known)]))


@st.composite
def codes(draw: st.DrawFn) -> tuple[str, str]:
    """Return a kind and a code of it whose data or signs were changed."""
    kind = draw(st.sampled_from((SCENARIO, SCENARIO, CHALLENGE, ANSWER)))
    try:
        code = encode(kind, draw(mutate(draw(st.sampled_from(code_rows())))))
    except ValueError:  # half of a surrogate pair cannot be encoded
        code = f"{kind}1-00000"
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(code) - 1))
        code = code[:at] + draw(texts | st.sampled_from(("²", "ß", "İ", " ", "-", "0" * 30_000))) + code[at + 1 :]
    return kind, code


@st.composite
def messages(draw: st.DrawFn) -> tuple[int, Any]:
    """The number of a widget and what the browser sends it: a message of the comm, whole or broken."""

    def often(known: tuple[Any, ...]) -> Any:
        return draw(st.sampled_from(known) if draw(st.integers(0, 5)) else plain)

    kind = often(("step", "open", "code", "check", "rules", "") + ("press",) * 8)
    content: Any = {"kind": kind, "action": often((*ACTIONS, *OF_VIEWS)), "target": often(TARGETS)}
    names = (*DETAILS, "step", "self", "text", "name", "code", "payload") if draw(st.integers(0, 2)) == 0 else ("step",)
    for name in draw(st.lists(st.sampled_from(names), max_size=3)):
        content[name] = draw(plain | st.integers(0, 300))
    if draw(st.integers(0, 3)) == 0:
        state = draw(st.dictionaries(st.sampled_from(TRAITS) | texts, plain | st.sampled_from(TARGETS), max_size=3))
        data: Any = {"method": "update", "state": state, "buffer_paths": []}
    else:
        data = {"method": "custom", "content": content}
    msg = {"content": {"data": data}, "buffers": []}
    number = draw(st.integers(0, 10)) if draw(st.booleans()) else 0
    return number, msg if draw(st.integers(0, 3)) else draw(mutate(msg))


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    """A command line; FILE, OUT and FOLDER are put in by the oracle."""
    words = list(draw(st.sampled_from(COMMANDS)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(words)))
        word = draw(st.sampled_from(WORDS) | texts | st.sampled_from([str(one)[:20_000] for one in ODD[:40]]))
        words[at : at + draw(st.integers(0, 2))] = [word]
    return words


def draw_damaged(samples: dict[str, bytes]) -> st.SearchStrategy[tuple[str, bytes]]:
    """The name of a sample, and its bytes with one to four damages: cut, doubled, exchanged, or odd bytes put in."""
    odd = st.sampled_from([*HARD, b"", b"\x00", b"\xff\xfe", b"null", b"[]", b"{}", b"-1", b'"x"', b"\n", b"5"])
    place = st.floats(0, 1, exclude_max=True)
    damage = st.tuples(st.sampled_from(["cut", "end", "double", "put", "exchange", "value"]), place, place, odd)
    return st.tuples(st.sampled_from(sorted(samples)), st.lists(damage, min_size=1, max_size=4)).map(
        lambda drawn: (drawn[0], _with_damages(samples[drawn[0]], drawn[1]))
    )


def _with_damages(data: bytes, damages: list[tuple[str, float, float, bytes]]) -> bytes:
    for how, first, second, odd in damages:
        begin, end = sorted((int(first * len(data)), int(second * len(data))))
        if how == "cut":
            data = data[:begin] + data[end:]
        elif how == "end":
            data = data[:end]
        elif how == "double":
            data = data[:end] + data[begin:]
        elif how == "put":
            data = data[:begin] + odd + data[begin:]
        elif how == "exchange":
            data = data[:begin] + bytes(byte ^ 0x55 for byte in data[begin : begin + 4]) + data[begin + 4 :]
        else:  # a value of a JSON text
            after = data.find(b": ", begin)
            stop = min((at for at in (data.find(sign, after) for sign in (b",", b"}", b"]")) if at > 0), default=after)
            data = data[: after + 2] + odd + data[stop:] if after > 0 else data
    return data
