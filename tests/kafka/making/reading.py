"""Families reading and sequences: LSO and aborted lists under interleavings, and what a leader thinks of a batch."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

from tests.kafka.making.steps import (
    READ_UNCOMMITTED,
    V1,
    V2,
    Script,
    Step,
    add,
    append,
    ask,
    batch,
    describe,
    end,
    fetch,
    idempotent,
    init,
    knowing,
    list_offsets,
    mark,
    produce,
    producers,
    script,
    settle,
    write,
    write_plain,
)

SEEN = [fetch(), list_offsets(-1, "read_committed"), producers()]


def interleave() -> list[Script]:
    """Return two transactions in one partition, in every order of their ends and with every outcome."""
    found = []
    for order, outcomes in product(("xy", "yx"), product((True, False), repeat=2)):
        ended = dict(zip("xy", outcomes, strict=True))
        steps: list[Step] = [init("x"), init("y")]
        steps += [add("x", "t-0"), add("y", "t-0"), write("x", "t-0", 0, "ab"), append("t-0", "p")]
        steps += [write("y", "t-0", 0, "c"), write("x", "t-0", 2, "d"), *SEEN]
        for who in order:
            steps += [end(who, ended[who]), settle(), *SEEN]
        steps += [fetch(at=at) for at in (1, 3, 4, 5, 6)] + [fetch(isolation=READ_UNCOMMITTED)]
        name = "_".join(f"{who}_{'commits' if ended[who] else 'aborts'}" for who in order)
        found.append(script(f"reading.two_{name}", *steps))
    return found


def three() -> list[Script]:
    """Return three transactions that begin in one order, end in another, and abort but for one."""
    found = []
    for order in permutations("xyz"):
        steps: list[Step] = [s for who in "xyz" for s in (init(who), add(who, "t-0"))]
        steps += [write(who, "t-0", 0, who) for who in "xyz"] + [append("t-0", "p")]
        for number, who in enumerate(order):
            steps += [end(who, number == 1), settle(), fetch(), list_offsets(-1, "read_committed")]
        steps += [fetch(at=at) for at in range(1, 7)]
        found.append(script(f"reading.three_end_{''.join(order)}", *steps))
    return found


def again() -> list[Script]:
    """Return one producer with several transactions, by either protocol."""
    found = []
    for protocol, outcomes in product((V1, V2), product((True, False), repeat=3)):
        steps: list[Step] = [init("x")]
        sequence = 0
        for number, commits in enumerate(outcomes):
            if protocol == V1:
                steps.append(add("x", "t-0"))
            steps += [write("x", "t-0", sequence, "ab"[: 1 + number % 2], protocol=protocol)]
            steps += [end("x", commits, protocol), settle()]
            sequence = 0 if protocol == V2 else sequence + 1 + number % 2
        steps += [*SEEN, *(fetch(at=at) for at in (1, 2, 3, 4)), describe("x")]
        name = "".join("c" if c else "a" for c in outcomes)
        more = {"levels": [1, 2]} if protocol == V2 else {}
        found.append(script(f"reading.again_v{protocol}_{name}", *steps, **more))
    return found


NO_EPOCH: dict[str, Any] = {"producer_epoch": -1}
WITHOUT_EPOCH: list[Step] = [
    idempotent(),
    write_plain("p", "t-0", 5, "a", **NO_EPOCH),
    write_plain("p", "t-0", 5, "a", **NO_EPOCH),
    write_plain("p", "t-0", 9, "b", **NO_EPOCH),
    write_plain("p", "t-0", 2, "c", **NO_EPOCH),
    producers(),
    write_plain("p", "t-0", 7, "d"),
    write_plain("p", "t-0", 8, "e", **NO_EPOCH),
    write_plain("p", "t-0", 9, "f"),
    fetch(),
    producers(),
]
"""A producer id without an epoch: every sequence number fits (`ProducerAppendInfo.checkSequence`); a random script
found it."""


def sequences() -> list[Script]:
    """Return what follows a first batch of three records, inside a transaction and across its end."""
    after: dict[str, tuple[str, int]] = {
        "next": ("", 3),
        "duplicate": ("", 0),
        "gap": ("", 4),
        "overlap": ("", 2),
        "back": ("", 1),
        "newer_epoch_zero": ("+1", 0),
        "newer_epoch_next": ("+1", 3),
        "older_epoch": ("-1", 3),
        "two_newer": ("+2", 0),
    }
    found = []
    for protocol, ends, (name, (epoch, sequence)) in product((V1, V2), ("open", "commit", "abort"), after.items()):
        first = [add("x", "t-0")] if protocol == V1 else []
        steps: list[Step] = [init("x"), init("x"), *first, write("x", "t-0", 0, "abc", protocol=protocol)]
        if ends != "open":
            steps += [end("x", ends == "commit", protocol, once=True), settle(), *first]
        steps += [write("x", "t-0", sequence, "d", epoch, protocol)]
        steps += [
            write("x", "t-0", sequence + 1, "e", epoch, protocol),
            fetch(isolation=READ_UNCOMMITTED),
            producers(),
        ]
        more = {"levels": [1, 2]} if protocol == V2 else {}
        found.append(script(f"sequences.v{protocol}_{ends}_{name}", *steps, **more))
    return [*found, script("sequences.without_an_epoch", *WITHOUT_EPOCH)]


def requests() -> list[Script]:
    """Return Produce requests with something odd about the whole of it."""
    x = [init("x"), add("x", "t-0", "t-1")]
    both = {"t-0": batch("x", 0, "a"), "t-1": batch("x", 0, "b")}
    one_bad = {"t-0": batch("x", 0, "a"), "t-1": batch("x", 9, "b", "-1")}
    unknown = {"t-0": batch("x", 0, "a"), "nope-0": batch("x", 0, "b")}
    odd: dict[str, list[Step]] = {
        "two_partitions": [produce("x", both, 11)],
        "two_partitions_one_fenced": [produce("x", one_bad, 11)],
        "unknown_partition": [produce("x", unknown, 11)],
        "unknown_partition_v12": [produce("x", unknown, 12)],
        "not_in_transaction": [init("y"), produce("y", {"t-0": batch("y", 0, "a")}, 11)],
        "without_transactional_id": [produce(None, {"t-0": batch("x", 0, "a")}, 11)],
        "plain_batch_with_id": [produce("x", {"t-0": {**batch("x", 0, "a"), "transactional": False}}, 11)],
        "plain_batch_in_open_transaction": [
            produce("x", {"t-0": batch("x", 0, "a")}, 11),
            produce(None, {"t-0": {**batch("x", 1, "b"), "transactional": False}}, 11),
        ],
        "acks_one": [produce("x", {"t-0": batch("x", 0, "a")}, 11, acks=1)],
        "acks_two": [produce("x", {"t-0": batch("x", 0, "a")}, 11, acks=2)],
        "transactional_without_producer": [produce("x", {"t-0": {"values": ["a"], "transactional": True}}, 11)],
        "of_two_producers": [init("y"), produce("x", {"t-0": batch("x", 0, "a"), "t-1": batch("y", 0, "b")}, 11)],
        "internal_topic": [produce(None, {"offsets of g": {"values": ["a"]}}, 11)],
        "empty_transactional_id": [produce("", {"t-0": batch("x", 0, "a")}, 11)],
    }
    seen = [
        fetch(isolation=READ_UNCOMMITTED),
        fetch("t-1", isolation=READ_UNCOMMITTED),
        describe("x"),
        producers("t-0", "t-1"),
    ]
    return [
        script(f"requests.{name}", *x, *steps, *seen, **({"levels": [1, 2]} if "v12" in name else {}))
        for name, steps in odd.items()
    ]


def markers() -> list[Script]:
    """Return markers that a coordinator would not send, to a partition with an open transaction of x."""
    pid, epoch = "$x.producer_id", "$x.producer_epoch"
    found = []
    rows: dict[str, list[Step]] = {
        "older_coordinator": [mark(pid, epoch, ["t-0"], True, 3), add("x", "t-0"), mark(pid, epoch, ["t-0"], True, 2)],
        "older_epoch": [mark(pid, epoch + "-1", ["t-0"])],
        "older_epoch_tv2": [mark(pid, epoch + "-1", ["t-0"], tv=2)],
        "negative_epoch": [mark(pid, epoch + "-2", ["t-0"])],
        "epoch_below_none": [mark(pid, epoch + "-3", ["t-0"])],
        "no_producer": [mark(-1, 0, ["t-0"]), mark(-1, -1, ["t-0"]), mark(-1, 0, ["nope-0"])],
        "producer_below_none": [mark(-2, 0, ["t-0"]), mark(-2, -1, ["t-0"])],
        "newer_epoch": [mark(pid, epoch + "+1", ["t-0"])],
        "newer_epoch_tv2": [mark(pid, epoch + "+1", ["t-0"], tv=2)],
        "same_epoch_tv2": [mark(pid, epoch, ["t-0"], tv=2)],
        "two_newer_tv2": [mark(pid, epoch + "+2", ["t-0"], tv=2)],
        "again_same_epoch": [mark(pid, epoch, ["t-0"]), mark(pid, epoch, ["t-0"])],
        "again_tv2": [mark(pid, epoch + "+1", ["t-0"], tv=2), mark(pid, epoch + "+1", ["t-0"], tv=2)],
        "abort_after_commit": [mark(pid, epoch, ["t-0"]), mark(pid, epoch, ["t-0"], False)],
        "unknown_producer": [mark(700_000_001, 4, ["t-0"])],
        "other_partition": [mark(pid, epoch, ["t-1"])],
        "unknown_partition": [mark(pid, epoch, ["nope-0"])],
        "some_unknown_partition": [mark(pid, epoch, ["t-0", "nope-0"])],
        "then_data_same_epoch": [mark(pid, epoch, ["t-0"]), write("x", "t-0", 1, "b")],
        "newer_then_old_data": [mark(pid, epoch + "+1", ["t-0"]), write("x", "t-0", 1, "b")],
        "of_group_partition": [mark(pid, epoch, ["offsets of g"])],
        "version_too_high": [mark(pid, epoch, ["t-0"], tv=3), mark(pid, epoch + "+1", ["nope-0", "t-0"], tv=127)],
        "version_too_low": [mark(pid, epoch, ["t-0"], tv=-2), mark(pid, epoch, ["t-1", "t-0"], tv=-128)],
        "version_unknown": [mark(pid, epoch, ["t-0", "t-1"], tv=-1), mark(pid, epoch + "+1", ["t-0"], tv=-1)],
    }
    for name, steps in rows.items():
        for suffix, commits in (("", True), ("_abort", False)):
            asked = [
                {**s, "with": {"markers": [{**s["with"]["markers"][0], "committed": commits}]}}
                if s.get("ask") == "WriteTxnMarkers" and name != "abort_after_commit"
                else s
                for s in steps
            ]
            if suffix and name == "abort_after_commit":
                continue
            start = [init("x"), init("x"), add("x", "t-0"), write("x", "t-0", 0, "a")]
            found.append(script(f"markers.{name}{suffix}", *start, *asked, *SEEN, fetch("t-1")))
    good, bad = (mark(i, 1, ["t-0"])["with"]["markers"][0] for i in (pid, -1))
    for name, markers in {
        "then_one_without_producer": [good, bad],
        "after_one_without_producer": [bad, good],
        "before_unknown_partition": [good, {**good, "producer_id": 700_000_001, "partitions": ["nope-0"]}],
        "after_unknown_partition": [{**bad, "partitions": ["nope-0"]}, good],
        "of_group_without_producer": [{**bad, "partitions": ["offsets of g"]}, good],
    }.items():
        start = [init("x"), init("x", 600_000), add("x", "t-0"), write("x", "t-0", 0, "a")]
        asked = [ask("WriteTxnMarkers", "leader of t-0", 2, {"markers": markers})]
        found.append(script(f"markers.{name}", *start, *asked, *SEEN, fetch("t-1")))
    return found


def leader_epochs() -> list[Script]:
    """Return requests that say which leader epoch they know: none, this one, a later one; in each version."""
    epochs = (-2, -1, 0, 1)
    fetched = [knowing(e, fetch(at=at, version=v)) for v in (4, 8, 9, 11, 12) for e in epochs for at in (0, 9)]
    listed = [
        knowing(e, list_offsets(at, version=v)) for v in (1, 3, 4, 7) for e in epochs for at in (-1, -2, 0, -7)
    ]
    unknown = [knowing(1, s, "nope-0") for s in (fetch("nope-0"), list_offsets(-1, partition="nope-0"))]
    asked = [*fetched, *listed, *({**s, "to": "b1"} for s in unknown)]
    return [script("reading.leader_epochs", append("t-0", "a"), *asked)]


FAMILIES = {
    "reading": [*interleave(), *three(), *again(), *leader_epochs()],
    "sequences": sequences(),
    "requests": requests(),
    "markers": markers(),
}
