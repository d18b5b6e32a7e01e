"""The types of a payload as the browser has it, unpacked.

`python -m tests.widgets.payload_types` writes them in TypeScript. JSON has no tuples: a tuple is a list of this length.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

Category: TypeAlias = Literal["transaction", "verification", "replication", "metadata"]
NodeState: TypeAlias = Literal["up", "down", "paused"]
Field: TypeAlias = tuple[str, str]
"""The name of a field, and its value as text."""


class Batch(TypedDict):
    """A batch of a log: see `batch_shown`."""

    base: int
    last: int
    kind: Literal["data", "COMMIT", "ABORT"]
    pid: int
    epoch: int
    seq: int
    txn: bool
    le: int
    ts: int
    records: list[tuple[str, str]]
    decoded: str
    ce: NotRequired[int]
    offs: NotRequired[list[int]]
    headers: NotRequired[list[list[str]]]
    fields: NotRequired[list[list[Field]]]


class Transaction(TypedDict):
    """A coordinator's entry of a transactional id."""

    state: str
    pending: str
    producer_id: int
    epoch: int
    partitions: list[str]
    node: str


class Client(TypedDict, total=False):
    """The changes of a client: the last call, or the state of its producer."""

    last: str
    state: str
    producer_id: int
    epoch: int
    tid: str


class Group(TypedDict):
    """A coordinator's entry of a consumer group."""

    state: str
    generation: int
    leader: str
    members: dict[str, list[str]]
    node: str


class LeaderMemory(TypedDict):
    """A leader's memory of a producer id: its epoch; by batch its first and last sequence number, and offset."""

    epoch: int
    batches: list[tuple[int, int, int]]


Op: TypeAlias = (
    tuple[Literal["node"], str, NodeState]
    | tuple[Literal["roles"], str, list[str]]
    | tuple[Literal["leader"], str, str]
    | tuple[Literal["batch"], str, str, Batch]
    | tuple[Literal["truncate"], str, str, int]
    | tuple[Literal["cleaned"], str, str, list[int], int]
    | tuple[Literal["start", "hw", "lso"], str, str, int]
    | tuple[Literal["txn"], str, Transaction]
    | tuple[Literal["client"], str, Client]
    | tuple[Literal["group"], str, Group]
    | tuple[Literal["memory"], str, str, dict[str, LeaderMemory]]
    | tuple[Literal["position"], str, str, int, str]
    | tuple[Literal["isr"], str, list[str], list[str]]
    | tuple[Literal["cut"], str, str, bool]
    | tuple[Literal["held"], str, bool]
)
"""A change of the picture: see `apply` of `ViewState`."""


class RunEvent(TypedDict):
    """A step of the run, with a sentence and the changes that it makes to the picture."""

    step: int
    at: int
    node: str
    kind: str
    name: str
    cause: int
    category: Category
    stop: bool
    frame: str
    txn: str
    text: str
    patch: list[Op]


Frame = TypedDict(
    "Frame",
    {
        "id": str,
        "name": str,
        "kind": Literal["request", "response"],
        "from": str,
        "to": str,
        "category": Category,
        "sent": int,
        "at": int,
        "received": int | None,
        "received_at": int | None,
        "fate": str,
        "of": str,
        "copy_of": str,
        "attempt": int,
        "error": str,
        "txn": str,
        "fields": list[Field],
        "about": str,
    },
)


class RunNode(TypedDict):
    """A node of the cluster, or a client."""

    id: str
    kind: Literal["broker", "controller", "client"]
    label: str


class Chapter(TypedDict):
    """A chapter of the walk: where it begins, its name, and its name in a link."""

    step: int
    name: str
    slug: str


Fold = TypedDict("Fold", {"from": int, "to": int, "text": str})


class Homes(TypedDict):
    """By transactional id and by group: the partition whose leader coordinates it."""

    ids: dict[str, str]
    groups: dict[str, str]


class Charts(TypedDict):
    """The states of a transaction, in their order."""

    states: list[str]


class Actions(TypedDict):
    """The reasons why a press would change nothing: by key, each with the step from which on it holds; "" for none."""

    fixed: str
    start: int
    limits: dict[str, tuple[int, int, str]]
    reasons: dict[str, list[tuple[int, str | None]]]


class Tails(TypedDict):
    """From which index on the walk's lists replace what was known."""

    chapters: int
    folds: int
    ranks: int


Payload = TypedDict(
    "Payload",
    {
        "version": int,
        "title": str,
        "profile": str,
        "seed": int | None,
        "faults": list[str],
        "nodes": list[RunNode],
        "categories": list[Category],
        "partitions": list[str],
        "internal": list[str],
        "charts": Charts,
        "initial": list[Op],
        "homes": Homes,
        "frames": dict[str, Frame],
        "events": list[RunEvent],
        "transactions": list[str],
        "meanings": dict[str, str],
        "marks": dict[str, str],
        "ends": dict[str, int],
        "chapters": list[Chapter],
        "folds": list[Fold],
        "ranks": list[int],
        "ending": str,
        "actions": NotRequired[Actions],
        "live": NotRequired[str],
        "from": NotRequired[int],
        "tails": NotRequired[Tails],
    },
)
