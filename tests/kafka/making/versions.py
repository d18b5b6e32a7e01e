"""Family versions: every version of every API that kafkalab offers and the recorded Kafka knows."""

from __future__ import annotations

from collections.abc import Callable

from kafkalab.protocol.api import REFERENCES, USUAL
from kafkalab.protocol.cluster_metadata import CLUSTER_ID
from kafkalab.protocol.messages.registry import BY_NAME
from tests.kafka.making.steps import (
    V1,
    V2,
    Script,
    Step,
    add,
    add_offsets,
    append,
    ask,
    batch,
    commit_offsets,
    commit_plain,
    describe,
    end,
    expect,
    fetch,
    idempotent,
    init,
    list_offsets,
    me,
    offsets,
    produce,
    producers,
    script,
    settle,
    write,
    write_plain,
)

GROUP = "group coordinator of g"
PROTOCOLS = {"range": ["t"]}


def begin(who: str = "x", partition: str = "t-0") -> list[Step]:
    """Return a transaction with one record."""
    return [init(who), add(who, partition), write(who, partition, 0, "a")]


def join_group(version: int = 9) -> list[Step]:
    """Return the steps after which a consumer, m, is the only member of group g."""
    return [join("", version, {"as": "j"}), join("$j.member_id", version, {"as": "m"})]


def join(member: str, version: int, more: Step, **fields: object) -> Step:
    """JoinGroup; from version 4 on a new member is first given its id."""
    given = {"group_id": "g", "member_id": member, "protocols": PROTOCOLS, **fields}
    return ask("JoinGroup", GROUP, version, given, **more)


def generation(member: str = "$m.member_id", number: object = "$m.generation_id") -> Step:
    """Return what a member says of itself."""
    return {"group_id": "g", "generation_id": number, "member_id": member}


def sync(version: int = 5) -> Step:
    """SyncGroup of the leader, which assigns both partitions to itself."""
    given = {**generation(), "protocol_type": "consumer", "protocol_name": "range"}
    return ask("SyncGroup", GROUP, version, {**given, "assignments": {"$m.member_id": ["t-0", "t-1"]}})


def _init(v: int) -> list[Step]:
    plain = ask("InitProducerId", "b1", v, {"transactional_id": None})
    return [plain, init("x", version=v), init("x", version=v), expect("x", "", v), expect("x", "-1", v), describe("x")]


def _add(v: int) -> list[Step]:
    asked = [
        add("x", "t-0", "t-1", version=v),
        add("x", "nope-0", "t-0", version=v),
        add("x", "t-0", epoch="-1", version=v),
    ]
    return [init("x"), *asked, describe("x")]


def _add_offsets(v: int) -> list[Step]:
    return [init("x"), add_offsets("x", "g", version=v), add_offsets("x", "g", "-1", v), describe("x")]


def _end(v: int) -> list[Step]:
    def end_transaction(epoch: str, commit: bool) -> Step:
        return ask("EndTxn", "coordinator of x", v, {**me("x", epoch), "committed": commit})

    start = begin() if v < 5 else [init("x"), write("x", "t-0", 0, "a", protocol=V2)]
    once = [end_transaction("", True), settle()]
    return [
        *start,
        end_transaction("-1", True),
        *once,
        *once,
        end_transaction("", False),
        end_transaction("+1", False),
        settle(),
        describe("x"),
    ]


def _produce(v: int) -> list[Step]:
    one = {"t-0": batch("x", 0, "ab")}
    first = [] if v >= 12 else [add("x", "t-0")]
    gap = {"t-0": batch("x", 5, "c")}
    plain = {"t-1": {"values": ["p"], "timestamp_ms": 0}}
    sent = [produce("x", one, v), produce("x", one, v), produce("x", gap, v), produce(None, plain, v)]
    fenced = produce("x", {"t-0": batch("x", 2, "d", "-1")}, v)
    return [init("x"), *first, *sent, fenced, fetch(isolation="read_uncommitted")]


def _fetch(v: int) -> list[Step]:
    both = [fetch(version=v), fetch(isolation="read_uncommitted", version=v)]
    return [*begin(), *both, end("x", False), settle(), *both, fetch(at=9, version=v)]


def _list_offsets(v: int) -> list[Step]:
    asked = [list_offsets(t, version=v) for t in (-1, -2, 0, 5, 99)]
    newer = [list_offsets(-3, version=v)] if v >= 7 else []
    stable = list_offsets(-1, "read_committed", version=v)
    return [append("t-0", "a"), append("t-0", "b", 5), *begin(), *asked, *newer, stable]


def _offset_commit(v: int) -> list[Step]:
    more = {"metadata": {"t-0": "m"}, "leader_epochs": {"t-0": 0}, "retention_time_ms": 1_000}
    stranger = commit_plain("g", {"t-0": 4}, v, generation_id=1, member_id="nobody")
    return [commit_plain("g", {"t-0": 3, "t-1": 4}, v, **more), stranger, offsets("g", ["t-0", "t-1"])]


def _offset_fetch(v: int) -> list[Step]:
    everything = [offsets("g", None, version=v)] if v >= 2 else []
    pending = [init("x"), add_offsets("x", "g"), commit_offsets("x", "g", {"t-0": 7})]
    asked = [offsets("g", ["t-0", "t-1"], stable, v) for stable in (False, True)]
    return [commit_plain("g", {"t-0": 3}), *asked, *everything, *pending, *asked, offsets("none", ["t-0"], version=v)]


def _txn_offset_commit(v: int) -> list[Step]:
    first = [] if v >= 5 else [add_offsets("x", "g")]
    asked = [commit_offsets("x", "g", {"t-0": 3, "t-1": 4}, e, v, metadata={"t-0": "m"}) for e in ("", "-1")]
    stranger = commit_offsets("x", "g", {"t-0": 9}, "", v, generation_id=3, member_id="nobody")
    closing = [end("x", True, V2 if v >= 5 else V1, once=True), settle(), offsets("g", ["t-0", "t-1"])]
    return [init("x"), *first, *asked, stranger, describe("x"), *closing]


def _api_versions(v: int) -> list[Step]:
    asked: list[Step] = [{}]
    if v >= 5:  # KIP-1242
        places = (CLUSTER_ID, "b1"), (CLUSTER_ID, "b2"), (CLUSTER_ID, ""), ("other", "b1"), ("", "b1"), (None, "b1")
        asked += [{"cluster_id": cluster, "node_id": node} for cluster, node in places]
    return [ask("ApiVersions", "b1", v, given) for given in asked]


def _find(v: int) -> list[Step]:
    types = (0, 1) if v >= 1 else (0,)
    return [ask("FindCoordinator", "b1", v, {"key": "k", "key_type": t}) for t in types]


def _join(v: int) -> list[Step]:
    start = join_group(v) if v >= 4 else [join("", v, {"as": "m"})]
    return [*start, sync(), join("nobody", v, {}), ask("DescribeGroups", GROUP, 6, {"groups": ["g"]})]


def _sync(v: int) -> list[Step]:
    wrong = ask("SyncGroup", GROUP, v, {**generation(number=7), "protocol_type": "consumer", "protocol_name": "range"})
    return [*join_group(), wrong, sync(v), sync(v)]


def _heartbeat(v: int) -> list[Step]:
    beats = [generation(), generation(number=7), generation("nobody")]
    return [*join_group(), sync(), *(ask("Heartbeat", GROUP, v, b) for b in beats)]


def _leave(v: int) -> list[Step]:
    rows = [{"member_id": m} for m in ("nobody", "$m.member_id")]
    leaving = [ask("LeaveGroup", GROUP, v, {"group_id": "g", "members": [row]}) for row in rows]
    return [*join_group(), sync(), *leaving, ask("DescribeGroups", GROUP, 6, {"groups": ["g"]})]


def _describe_groups(v: int) -> list[Step]:
    return [
        *join_group(),
        sync(),
        ask("DescribeGroups", GROUP, v, {"groups": ["g"]}),
        ask("DescribeGroups", "group coordinator of none", v, {"groups": ["none"]}),
    ]


def _delete_groups(v: int) -> list[Step]:
    deleting = ask("DeleteGroups", GROUP, v, {"groups": ["g"]})
    leaving = ask("LeaveGroup", GROUP, 5, {"group_id": "g", "members": [{"member_id": "$m.member_id"}]})
    return [
        deleting,
        *join_group(),
        sync(),
        commit_plain("g", {"t-0": 3}, generation_id="$m.generation_id", member_id="$m.member_id"),
        deleting,
        leaving,
        deleting,
        offsets("g", None),
    ]


def _offset_delete(v: int) -> list[Step]:
    deleting = [ask("OffsetDelete", GROUP, v, {"group_id": "g", "partitions": ["t-0", "nope-0"]})]
    return [*deleting, commit_plain("g", {"t-0": 3}), *deleting, offsets("g", None)]


def _create(v: int) -> list[Step]:
    topic = {"name": "new", "num_partitions": 2, "replication_factor": 1}
    rows = [
        topic,
        topic,
        {"name": "t", "num_partitions": 1, "replication_factor": 1},
        {"name": "none", "num_partitions": 0, "replication_factor": 1},
        {"name": "wide", "num_partitions": 1, "replication_factor": 9},
    ]
    tried = ask("CreateTopics", "b1", v, {"topics": [{**topic, "name": "tried"}], "validate_only": True})
    return [tried, *(ask("CreateTopics", "b1", v, {"topics": [row]}) for row in rows)]


def _delete_records(v: int) -> list[Step]:
    asked = [ask("DeleteRecords", "leader of t-0", v, {"offsets": {"t-0": at}}) for at in (1, 1, 0, 9, -1)]
    return [append("t-0", "abc"), *asked, fetch(), ask("DeleteRecords", "b1", v, {"offsets": {"nope-0": 0}})]


def _list_transactions(v: int) -> list[Step]:
    def list_transactions(**fields: object) -> Step:
        return ask("ListTransactions", "b1", v, fields)

    filters: list[Step] = [
        {},
        {"state_filters": ["Ongoing"]},
        {"state_filters": ["Odd"]},
        {"producer_id_filters": [700_000_001]},
        {"duration_filter_ms": 100_000},
        {"transactional_id_pattern": "y.*"},
        {"transactional_id_pattern": ""},
    ]
    return [*begin(), init("y"), *(list_transactions(**f) for f in filters)]


def _markers(v: int) -> list[Step]:
    from tests.kafka.making.steps import mark

    rows = [(0, True), (0, True)]
    return [
        *begin(),
        *(mark("$x.producer_id", "$x.producer_epoch", ["t-0", "t-1"], c, e, version=v) for e, c in rows),
        producers(),
        fetch(),
    ]


def _describe_transactions(v: int) -> list[Step]:
    return [*begin(), describe("x"), describe("nobody")]


def _describe_producers(v: int) -> list[Step]:
    return [*begin(), idempotent(), write_plain("p", "t-0", 0, "b"), producers("t-0", "t-1", "nope-0")]


MADE: dict[str, Callable[[int], list[Step]]] = {
    "InitProducerId": _init,
    "AddPartitionsToTxn": _add,
    "AddOffsetsToTxn": _add_offsets,
    "EndTxn": _end,
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "OffsetCommit": _offset_commit,
    "OffsetFetch": _offset_fetch,
    "TxnOffsetCommit": _txn_offset_commit,
    "FindCoordinator": _find,
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "DescribeGroups": _describe_groups,
    "DeleteGroups": _delete_groups,
    "OffsetDelete": _offset_delete,
    "CreateTopics": _create,
    "DeleteRecords": _delete_records,
    "ListTransactions": _list_transactions,
    "WriteTxnMarkers": _markers,
    "DescribeTransactions": _describe_transactions,
    "DescribeProducers": _describe_producers,
    "DescribeCluster": lambda v: [ask("DescribeCluster", "b1", v, {})],
    "ApiVersions": _api_versions,
}


def family() -> list[Script]:
    """Return one script for each version of each API; Produce 12 and the like at level 0 as well."""
    found = []
    for api, steps in MADE.items():
        for v in BY_NAME[api].versions:
            releases = [kafka for kafka in REFERENCES if v in BY_NAME[api].known_to(kafka)]
            newer = {} if USUAL in releases else {"kafka": releases}
            found.append(script(f"versions.{api}_{v}", *steps(v), **newer))
    return found


FAMILIES = {"versions": family()}
