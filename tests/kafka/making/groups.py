"""Families groups and offsets: classic groups state by state, and offsets inside and outside transactions."""

from __future__ import annotations

from itertools import product
from typing import Any

from tests.kafka.making.steps import (
    V1,
    V2,
    Script,
    Step,
    add_offsets,
    ask,
    commit_offsets,
    commit_plain,
    describe,
    end,
    init,
    offsets,
    producers,
    script,
    settle,
    sleep,
)

GROUP = "group coordinator of g"
MEMBER: dict[str, Any] = {"member_id": "$m.member_id", "generation_id": "$m.generation_id"}
STRANGERS: dict[str, dict[str, Any]] = {
    "member": MEMBER,
    "older_generation": {**MEMBER, "generation_id": "$m.generation_id-1"},
    "newer_generation": {**MEMBER, "generation_id": "$m.generation_id+1"},
    "unknown_member": {**MEMBER, "member_id": "nobody"},
    "no_member": {"member_id": "", "generation_id": -1},
    "no_member_with_generation": {"member_id": "", "generation_id": 1},
    "member_without_generation": {**MEMBER, "generation_id": -1},
    "unknown_instance": {**MEMBER, "group_instance_id": "i"},
}


def join(member: str, name: str = "", **fields: Any) -> Step:
    """JoinGroup, kept under `name`."""
    more = {"as": name} if name else {}
    fields = {"protocols": {"range": ["t"]}, **fields}
    return ask("JoinGroup", GROUP, 9, {"group_id": "g", "member_id": member, **fields}, **more)


def sync(who: str = "m", **fields: Any) -> Step:
    """SyncGroup of a leader that takes both partitions."""
    given = {"group_id": "g", "generation_id": f"${who}.generation_id", "member_id": f"${who}.member_id"}
    assigned = {"assignments": {f"${who}.member_id": ["t-0", "t-1"]}}
    names = {"protocol_type": "consumer", "protocol_name": "range"}
    return ask("SyncGroup", GROUP, 5, {**given, **names, **assigned, **fields})


def heartbeat(**fields: Any) -> Step:
    """Heartbeat of member m."""
    return ask("Heartbeat", GROUP, 4, {"group_id": "g", **MEMBER, **fields})


def leave(*members: dict[str, Any]) -> Step:
    """LeaveGroup of these members."""
    return ask("LeaveGroup", GROUP, 5, {"group_id": "g", "members": list(members)})


def describe_groups() -> Step:
    """DescribeGroups."""
    return ask("DescribeGroups", GROUP, 6, {"groups": ["g"]})


JOINED = [join("", "j"), join("$j.member_id", "m")]
LEFT = leave({"member_id": "$m.member_id"})

STATES: dict[str, list[Step]] = {
    "empty": [*JOINED, sync(), LEFT],
    "completing": JOINED,
    "stable": [*JOINED, sync()],
    "preparing": [*JOINED, sync(), join("", "k"), {**join("$k.member_id", "late"), "wait": False}, sleep(500)],
}


def requests_of(who: dict[str, Any]) -> dict[str, Step]:
    """Return every request of a member that says this of itself."""
    given = {"group_id": "g", **who}
    member = {k: v for k, v in who.items() if k != "generation_id"}
    return {
        "sync": sync(**who),
        "heartbeat": ask("Heartbeat", GROUP, 4, given),
        "leave": leave(member),
        "commit": commit_plain("g", {"t-0": 3}, **who),
    }


def states() -> list[Script]:
    """Return each request in each state, of the member and of strangers."""
    found = []
    for (state, start), (stranger, who) in product(STATES.items(), STRANGERS.items()):
        for name, step in requests_of(who).items():
            if (state, name, stranger) == ("completing", "sync", "member"):
                continue
            if name == "sync" and stranger == "member_without_generation":
                continue
            if state == "preparing" and name == "leave":
                continue
            found.append(
                script(f"groups.{state}.{name}_{stranger}", *start, step, describe_groups(), offsets("g", ["t-0"]))
            )
    return found


def joins() -> list[Script]:
    """Return what a JoinGroup may get wrong, and static members."""
    static: dict[str, Any] = {"group_instance_id": "i"}
    odd: dict[str, list[Step]] = {
        "empty_group_id": [
            ask("JoinGroup", "group coordinator of ", 9, {"group_id": "", "protocols": {"range": ["t"]}})
        ],
        "session_too_short": [join("", session_timeout_ms=5_999)],
        "session_too_long": [join("", session_timeout_ms=1_800_001)],
        "no_protocols": [join("", protocols={})],
        "no_protocol_type": [join("", protocol_type="")],
        "unknown_member": [join("nobody")],
        "other_protocol": [*JOINED, sync(), join("", "k", protocols={"odd": ["t"]})],
        "other_protocol_type": [*JOINED, sync(), join("", "k", protocol_type="other")],
        "leader_again": [*JOINED, sync(), join("$m.member_id", "m"), sync()],
        "id_of_a_pending_member_v3": [
            ask(
                "JoinGroup", GROUP, 3, {"group_id": "g", "member_id": "", "protocols": {"range": ["t"]}}, **{"as": "m"}
            ),
            sync(),
        ],
        "sync_other_protocol": [*JOINED, sync(protocol_name="odd"), sync(protocol_type="odd")],
        "static": [join("", "m", **static), sync(**static), heartbeat(**static)],
        "static_comes_back": [
            join("", "m", **static),
            sync(**static),
            join("", "n", **static),
            heartbeat(**static),
            describe_groups(),
        ],
        "static_fenced": [
            join("", "m", **static),
            sync(**static),
            join("", "n", **static),
            commit_plain("g", {"t-0": 1}, **MEMBER, **static),
            sync(**static),
        ],
        "static_leaves_by_instance": [join("", "m", **static), sync(**static), leave({"member_id": "", **static})],
        "static_wrong_member": [join("", "m", **static), sync(**static), heartbeat(member_id="nobody", **static)],
        "leave_several": [*JOINED, sync(), leave({"member_id": "nobody"}, {"member_id": "$m.member_id"})],
        "delete_with_members": [*JOINED, sync(), ask("DeleteGroups", GROUP, 2, {"groups": ["g"]})],
        "delete_unknown": [ask("DeleteGroups", GROUP, 2, {"groups": ["g"]})],
        "delete_empty": [*JOINED, sync(), LEFT, ask("DeleteGroups", GROUP, 2, {"groups": ["g"]})],
        "offset_delete_subscribed": [
            *JOINED,
            sync(),
            commit_plain("g", {"t-0": 3}, **MEMBER),
            ask("OffsetDelete", GROUP, 0, {"group_id": "g", "partitions": ["t-0"]}),
        ],
        "delete_with_pending_offsets": [
            init("x"),
            add_offsets("x", "g"),
            commit_offsets("x", "g", {"t-0": 3}),
            ask("DeleteGroups", GROUP, 2, {"groups": ["g"]}),
            offsets("g", ["t-0"], True),
            end("x", True),
            settle(),
            offsets("g", ["t-0"], True),
        ],
        "offset_delete_pending": [
            init("x"),
            add_offsets("x", "g"),
            commit_offsets("x", "g", {"t-0": 3}),
            ask("OffsetDelete", GROUP, 0, {"group_id": "g", "partitions": ["t-0"]}),
            end("x", True),
            settle(),
            offsets("g", ["t-0"], True),
        ],
    }
    named_twice = leave({"member_id": "$m.member_id"}, {"member_id": "", **static})
    twice = script(
        "groups.static_leaves_twice", join("", "m", **static), sync(**static), named_twice, describe_groups()
    )
    return [
        *(script(f"groups.{name}", *steps, describe_groups()) for name, steps in odd.items()),
        {**twice, "levels": [2]},
    ]


def plain_offsets() -> list[Script]:
    """Return OffsetCommit and OffsetFetch of groups without members."""
    odd: dict[str, list[Step]] = {
        "commit_and_fetch": [commit_plain("g", {"t-0": 3, "t-1": 0}, metadata={"t-0": "note"})],
        "commit_twice": [commit_plain("g", {"t-0": 3}), commit_plain("g", {"t-0": 2})],
        "metadata_too_large": [commit_plain("g", {"t-0": 3, "t-1": 4}, metadata={"t-0": "m" * 4097})],
        "metadata_largest": [commit_plain("g", {"t-0": 3}, metadata={"t-0": "m" * 4096})],
        "unknown_topic": [commit_plain("g", {"nope-0": 3, "t-0": 4})],
        "unknown_partition": [commit_plain("g", {"t-7": 3, "t-0": 4})],
        "empty_group": [ask("OffsetCommit", "group coordinator of ", 8, {"group_id": "", "offsets": {"t-0": 3}})],
        "negative_offset": [commit_plain("g", {"t-0": -1})],
        "far_offset": [commit_plain("g", {"t-0": 2**40})],
        "instance_without_member": [commit_plain("g", {"t-0": 3}, group_instance_id="i")],
    }
    return [
        script(f"offsets.{name}", *steps, offsets("g", ["t-0", "t-1"]), offsets("g", None))
        for name, steps in odd.items()
    ]


def transactional() -> list[Script]:
    """Return TxnOffsetCommit by either protocol, with every outcome, in every order with plain commits."""
    found = []
    seen = [offsets("g", ["t-0", "t-1"], stable) for stable in (False, True)]
    for protocol, commits in product((V1, V2), (True, False)):
        first = [] if protocol == V2 else [add_offsets("x", "g")]
        version = 5 if protocol == V2 else 3
        more = {"levels": [1, 2]} if protocol == V2 else {}
        name = f"v{protocol}_{'commit' if commits else 'abort'}"
        done = [end("x", commits, protocol, once=True), settle(), *seen]
        pending = commit_offsets("x", "g", {"t-0": 5}, "", version)
        old, new = commit_plain("g", {"t-0": 3}), commit_plain("g", {"t-0": 9})
        rows: dict[str, list[Step]] = {
            "alone": [pending, *seen],
            "after_plain": [old, pending, *seen],
            "before_plain": [pending, new, *seen],
            "twice": [pending, commit_offsets("x", "g", {"t-0": 6, "t-1": 1}, "", version), *seen],
            "older_epoch": [pending, commit_offsets("x", "g", {"t-0": 6}, "-1", version), *seen],
            "newer_epoch": [pending, commit_offsets("x", "g", {"t-0": 6}, "+1", version), *seen],
            "unknown_topic": [commit_offsets("x", "g", {"nope-0": 6, "t-0": 1}, "", version), *seen],
            "metadata_too_large": [
                commit_offsets("x", "g", {"t-0": 6, "t-1": 1}, "", version, metadata={"t-0": "m" * 4097}),
                *seen,
            ],
            "unknown_member": [
                commit_offsets("x", "g", {"t-0": 6}, "", version, member_id="nobody", generation_id=1),
                *seen,
            ],
            "generation_of_nobody": [commit_offsets("x", "g", {"t-0": 6}, "", version, generation_id=1), *seen],
            "unknown_instance": [
                commit_offsets(
                    "x", "g", {"t-0": 6}, "", version, member_id="nobody", generation_id=1, group_instance_id="i"
                ),
                *seen,
            ],
            "other_group_not_added": [commit_offsets("x", "h", {"t-0": 6}, "", version), *seen],
            "pending_of_two": [
                init("y"),
                add_offsets("y", "g"),
                pending,
                commit_offsets("y", "g", {"t-0": 7}),
                *seen,
                end("y", True),
                settle(),
                *seen,
            ],
        }
        for row, steps in rows.items():
            last = [describe("x"), producers("offsets of g")]
            found.append(script(f"offsets.txn_{name}_{row}", init("x"), *first, *steps, *done, *last, **more))
    return found


def members() -> list[Script]:
    """Return TxnOffsetCommit of a group with a member."""
    found = []
    for (state, start), (stranger, who) in product(STATES.items(), STRANGERS.items()):
        steps = [*start, init("x"), add_offsets("x", "g"), commit_offsets("x", "g", {"t-0": 5}, **who)]
        closing = [offsets("g", ["t-0"], True), end("x", True), settle(), offsets("g", ["t-0"], True)]
        found.append(script(f"offsets.txn_{state}_{stranger}", *steps, *closing))
    return found


FAMILIES = {"groups": [*states(), *joins()], "offsets": [*plain_offsets(), *transactional(), *members()]}
