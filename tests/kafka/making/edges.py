"""Family edges: names given twice in one request, limits below 0, epochs that no log has, patterns, static members."""

from __future__ import annotations

from typing import Any

from tests.kafka.making.groups import GROUP, JOINED, MEMBER, describe_groups, join, sync
from tests.kafka.making.steps import (
    READ_UNCOMMITTED,
    Script,
    Step,
    append,
    ask,
    batch,
    commit_plain,
    idempotent,
    init,
    me,
    offsets,
    produce,
    producers,
    script,
)

LEADER = "leader of t-0"
WRITTEN = [append("t-0", "a"), append("t-1", "b")]


def edge(name: str, *steps: Step | list[Step], **more: Any) -> Script:
    """Return a script of this family."""
    return script(f"edges.{name}", *steps, **{"levels": [2], "topics": {"t": 2}, **more})


def list_offsets(*partitions: str, timestamp: int = -1) -> Step:
    """ListOffsets of these partitions."""
    given = {"partitions": list(partitions), "timestamp": timestamp}
    return ask("ListOffsets", LEADER, 7, given)


def add_partitions(*partitions: str, version: int) -> Step:
    """AddPartitionsToTxn of these partitions."""
    return ask("AddPartitionsToTxn", "coordinator of x", version, {**me("x"), "partitions": list(partitions)})


TWICE = [
    edge("twice.list_offsets", WRITTEN, list_offsets("t-0", "t-0"), list_offsets("t-0", "t-1", "t-0"),
         list_offsets("nope-0", "nope-0"),
         list_offsets("t-0", "t-0", timestamp=-9)),
    edge("twice.offset_fetch", commit_plain("g", {"t-0": 3, "t-1": 4}), offsets("g", ["t-0", "t-0"]),
         offsets("g", ["t-0", "t-1", "t-0"], version=9), offsets("nobody", ["t-0", "t-0"])),
    edge("twice.describe_producers", idempotent(), produce(None, {"t-0": batch("p", 0, "a", transactional=False)}, 9),
         producers("t-0", "t-0"), producers("nope-0", "nope-0")),
    edge("twice.add_partitions", init("x"), add_partitions("t-0", "t-0", version=3),
         add_partitions("t-1", "nope-0", "t-1", version=3)),
    edge("twice.describe_transactions", init("x"),
         ask("DescribeTransactions", "coordinator of x", 0, {"transactional_ids": ["x", "nobody", "x"]})),
    edge("twice.describe_groups", JOINED, sync(), ask("DescribeGroups", GROUP, 6, {"groups": ["g", "g"]})),
    edge("twice.delete_groups", commit_plain("g", {"t-0": 3}),
         ask("DeleteGroups", GROUP, 2, {"groups": ["g", "g"]}), ask("DeleteGroups", GROUP, 2, {"groups": ["g", "g"]})),
    edge("twice.offset_delete", commit_plain("g", {"t-0": 3}),
         ask("OffsetDelete", GROUP, 0, {"group_id": "g", "partitions": ["t-0", "t-0"]}), offsets("g", None)),
    edge("twice.state_filters", init("x"), *(
        ask("ListTransactions", "b1", 2, {"state_filters": states, "transactional_id_pattern": ".*x"})
        for states in (["Odd", "Odd"], ["Odd", "Empty", "Even", "Odd"], ["Empty", "Empty"])
    )),
]  # fmt: skip


def read(*partitions: str, at: int = 0, **fields: Any) -> Step:
    """Fetch from these partitions."""
    given = {"isolation_level": READ_UNCOMMITTED, "positions": dict.fromkeys(partitions, at), "max_wait_ms": 50}
    return ask("Fetch", LEADER, 12, {**given, **fields})


FILLED = [append("t-0", "a"), append("t-0", "b"), append("t-1", "c")]
LIMITS = [
    edge("limits.all", FILLED, *(read("t-0", "t-1", max_bytes=n) for n in (-1, -(2**31), 0, 1, 100, 150, 200))),
    edge("limits.at_the_end", FILLED, read("t-0", "t-1", at=2, max_bytes=-1), read("t-1", "t-0", at=1, max_bytes=-1),
         read("t-0", at=2, partition_max_bytes={"t-0": -1}), read("t-0", at=9, partition_max_bytes={"t-0": -1})),
    edge("limits.of_a_partition", FILLED, *(
        read("t-0", "t-1", partition_max_bytes={p: n}) for p in ("t-0", "t-1") for n in (-1, 0, 100, 150)
    )),
    edge("limits.long_wait", FILLED, read("t-0", "t-1", max_bytes=-1, min_bytes=5_000, max_wait_ms=700),
         read("t-0", "t-1", partition_max_bytes={"t-1": -1}, min_bytes=5_000, max_wait_ms=700)),
]  # fmt: skip
EPOCHS = [
    edge("last_fetched_epoch", FILLED, *(read("t-0", last_fetched_epochs={"t-0": n}) for n in (-2, -1, 0, 1, 5)),
         read("t-0", at=2, last_fetched_epochs={"t-0": 0}), read("t-0", at=3, last_fetched_epochs={"t-0": 0}),
         read("t-0", at=3, last_fetched_epochs={"t-0": 5}),
         read("t-0", last_fetched_epochs={"t-0": 0}, current_leader_epochs={"t-0": 5}),
         read("t-0", "t-1", last_fetched_epochs={"t-1": 5})),
    edge("last_fetched_epoch_of_an_empty_log", *(read("t-0", last_fetched_epochs={"t-0": n}) for n in (0, 1))),
    edge("last_fetched_epoch_of_a_deleted_beginning", FILLED,
         ask("DeleteRecords", LEADER, 2, {"offsets": {"t-0": 1}}),
         *(read("t-0", at=at, last_fetched_epochs={"t-0": n}) for at in (0, 1) for n in (0, 1))),
]  # fmt: skip
IDS = ("x", "xx", "XX", "x1", "x.y", "x y", "x-ä", "xΩ", "x\n", "x_", "[x]", "xs\\s", "x'", "x\u0301", "x😀", "xxxxx")
PATTERNS = (
    "x", "(?:x)", "x+", "x{2}", "x{2,}", "x{,2}", "x{1001}", "x{1000}", "x{2}{2}", "x**", "x*+", "x++", "x?+", "x{2}+",
    "x*?", "x|xx", "x$", "x\\z", "x\\Z", "x\\b", "x\\B", "x\\d", "x\\D", "x\\w", "x\\W", "x\\s", "x\\S", "x.",
    "(?s)x.", "(?s:x.)", "(?m)x$", "(?i)X", "(?i)x(?-i)X", "(?i:X)X", "x(?i)X", "(?U)x+", "(?U:x+)x", "(?x)x 1",
    "(?L)x", "(?a)x", "(?u)x", "(?i-s)x", "(?^i)X", "(?-)x", "(?)x", "\\p{L}", "\\p{Lu}{2}", "\\pL", "\\PL",
    "\\p{Greek}", "x\\p{Greek}", "x\\P{L}", "\\p{IsGreek}", "\\p{Any}+", "\\p{^L}", "\\p{Latin}+", "\\p{Emoji}",
    "\\p{Mn}", "x\\p{Mn}", "\\p{gc=L}", "[[:alpha:]]+", "[[:upper:]]+", "[[:^digit:]]+", "[[:word:]]+", "[[:nope:]]",
    "[:alpha:]+", "[[x]]", "[x&&y]", "[a-z&&[^y]]+", "[]x]+", "[x", "x]", "[z-a]", "[\\d]x", "x[\\d]", "[\\D]+",
    "[\\p{L}]+", "[\\b]", "(?P<n>x)", "(?<n>x)", "(?P=n)", "(?P<1>x)", "(?P<>x)", "(?'n'x)", "\\k<n>", "(x)\\1", "\\1",
    "(?=x)x", "(?!y)x", "(?<=x)x", "(?<!y)x", "(?>x)", "(?#c)x", "(?(1)x)", "(?|x|y)", "(?R)", "\\Qx.y\\E", "\\Qx.y",
    "x\\E", "[\\Qx\\E]", "\\Q\\E", "\\.", "x\\.y", "x\\-ä", "x\\'", "\\'", "\\/", "\\_", "\\e", "\\a", "\\f", "\\t",
    "\\n", "x\\n", "x\\v", "\\v", "\\h", "\\R", "\\X", "\\N", "\\N{DIGIT ONE}", "\\G", "\\K", "\\x78", "\\x{78}",
    "\\x{1F600}", "x\\x{1F600}", "\\x7", "\\x{110000}", "\\u0078", "\\0", "\\07", "\\170", "\\U00000078", "\\cA",
    "x\\x{e4}", "x-\\x{e4}", "x-\\xe4", "x-ä", "x-.", "xΩ", "(?i)xω", "x.y", "x😀", "x..", "xs\\\\s", "(", ")", "()",
    "x()", "(|x)", "*x", "+", "?", "{", "}", "x{", "x{1", "x{1,", "x{a}", "{1}", "x{1}{", "\\", "x\\", "x||x", "(?",
    "(?:", "((((((((((x))))))))))", "x#c", "x{0}", "x{0,0}x", "x{2,1}", "(?i)ſ", "(?i)K",
)  # fmt: skip
"""Patterns, each of which a script puts behind ".*", as the ids of a recorded Kafka have a prefix."""


def _having(pattern: str) -> Step:
    return ask("ListTransactions", "b1", 2, {"transactional_id_pattern": f".*{pattern}"})


OTHERWISE = ("(?P<n>x)(?P<n>x)", "(?P<ä>x)", "\\ä", "\\C", "x\\C", "(x{100}){11}")
"""Patterns that RE2/J, which Kafka uses, reads in another way than RE2."""
OF_IDS = [
    edge(name, [init(who) for who in IDS], [_having(p) for p in found])
    for name, found in (("patterns", ("", *PATTERNS)), ("patterns_of_re2j", OTHERWISE))
]
STATIC: dict[str, Any] = {"group_instance_id": "i"}
OTHER_TOPIC: dict[str, Any] = {"protocols": {"range": ["u"]}, **STATIC}


def _delete_offsets(*partitions: str) -> Step:
    return ask("OffsetDelete", GROUP, 0, {"group_id": "g", "partitions": list(partitions)})


def _subscribe(name: str, *steps: Step | list[Step]) -> Script:
    given = {"offsets": {"t-0": 3, "u-0": 4}, **MEMBER, **STATIC}
    start = [join("", "m", **STATIC), sync(**STATIC), commit_plain("g", **given)]
    after = [_delete_offsets("t-0", "u-0"), offsets("g", ["t-0", "u-0"]), describe_groups()]
    return edge(f"subscribed.{name}", start, *steps, after, topics={"t": 2, "u": 1})


SUBSCRIBED = [
    _subscribe("as_it_was"),
    _subscribe("replaced", join("", "n", **OTHER_TOPIC)),
    _subscribe("replaced_and_synced", join("", "n", **OTHER_TOPIC), sync("n", **STATIC)),
    _subscribe("joins_again", join("$m.member_id", "n", **OTHER_TOPIC), sync("n", **STATIC)),
    _subscribe("joins_again_unsynced", join("$m.member_id", "n", **OTHER_TOPIC)),
    _subscribe("left", ask("LeaveGroup", GROUP, 5, {"group_id": "g", "members": [{"member_id": "", **STATIC}]})),
    {**_subscribe("replaced_and_restarted", join("", "n", **OTHER_TOPIC), {"stop": "clean"}), "levels": [2]},
]
FAMILIES = {"edges": [*TWICE, *LIMITS, *EPOCHS, *OF_IDS, *SUBSCRIBED]}
