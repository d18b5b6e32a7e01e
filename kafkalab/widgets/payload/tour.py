"""The walk through a run: which stops → takes, which steps are folded into one stop, which change a log or a state.

Every stop has a rank: what changes the picture for good is above what only travels, and what happens for the first time
is above its repetitions. A walk takes the highest ranks that are at most `AT_MOST` stops, or an eighth of all. What
lies between two stops can be opened. Of a run that goes on the last `AT_MOST` stops are part of the walk, too. Both the
browser and Python walk by the same ranks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Any

from kafkalab.protocol.partitions import OFFSETS_TOPIC, TRANSACTION_TOPIC, topic_of
from kafkalab.widgets.payload.chapters import NEW_MEMBER, Chapters
from kafkalab.widgets.payload.fields import OF_GROUP
from kafkalab.widgets.payload.text import ALWAYS, Payload, stops

AT_MOST, ONE_IN = 25, 8
"""A walk has at most this many stops, or one in so many where a run is long."""
CHANGES = ("batch", "truncate", "cleaned", "start", "hw", "lso", "txn", "group", "node", "leader", "isr", "cut")
"""The changes of the picture that are changes of a log or a state."""
CHAPTERS = {
    "init": 61,
    "begin": 50,
    "first write": 60,
    "offsets": 52,
    "commit": 54,
    "markers": 44,
    "complete": 58,
    "read": 58,
    "join": 45,
    "rebalance": 47,
}
"""The rank of a stop that begins one of these chapters; other chapters begin with something out of the ordinary."""
GROUP_STATES = {"Stable": 57, "PreparingRebalance": 46, "CompletingRebalance": 34, "Empty": 44}
"""The rank of a stop at which a group comes into this state."""
LISTS = ("chapters", "folds", "ranks")
LONGEST_STRETCH = 1_000
"""Events after which a stretch without a change is cut."""
RECORDS, AGAIN, LEAST = 62, 12, 1
"""The amounts that a repetition takes off a rank, and the lowest rank of a stop that is not folded."""


def with_walk(payload: Payload) -> Payload:
    """Return the payload with three more keys, "ranks", "folds" and "chapters"; the given one is not changed."""
    part = GrowingWalk().add(payload, payload["events"])
    return {**payload, **{name: part[name] for name in LISTS}}


def walk(
    payload: Payload,
    groups: tuple[str, ...],
    hidden: Iterable[str] = (),
    every: bool = False,
    opened: Collection[int] = (),
) -> list[int]:
    """Return the steps at which the cursor stops: those of `stops` that are not folded.

    With `every` nothing is folded. `opened` are stops of the walk; the steps before each, up to the stop before it, are
    part of the walk, too.
    """
    places = stops(payload, groups, hidden)
    ranks = payload.get("ranks")
    if every or ranks is None or not places:
        return places
    limit = max(AT_MOST, len(places) // ONE_IN)
    counts = Counter(ranks[step] for step in places[1:-1])
    least, taken = 0, 2
    for rank in sorted(counts, reverse=True):
        taken += counts[rank]
        if rank < LEAST or (taken > limit and least):
            break
        least = rank
    last = places[-AT_MOST:] if payload.get("live") else places[-1:]
    kept = [step for step in places if ranks[step] >= max(least, LEAST) or step >= last[0] or step == places[0]]
    if opened:
        inside = [(before, stop) for before, stop in pairwise([-1, *kept]) if stop in opened]
        stops_of_all = frozenset(kept)
        kept = [step for step in places if step in stops_of_all or any(a < step < b for a, b in inside)]
    return kept


def steps_in(places: Sequence[int], kept: Sequence[int], step: int) -> list[int]:
    """Return those of the stops `places` that are folded into the stop of the walk `kept` at `step` or after it."""
    stop = next((s for s in kept if s >= step), -1)
    before = max((s for s in kept if s < stop), default=-1)
    return [s for s in places if before < s < stop]


def fold_at(payload: Payload, step: int, places: Collection[int]) -> str:
    """Return what the stop at a step says of the repeated requests that are folded into it: "app asks 8 more times".

    "" for none, and where one of them is in `places`, the stops of the walk.
    """
    folds = (fold for fold in payload.get("folds", ()) if fold["to"] == step and fold["from"] not in places)
    return next((str(fold["text"]) for fold in folds), "")


def changes_at(payload: Payload, places: Iterable[int]) -> list[int]:
    """Return those of the steps that change a log or a state."""
    return [step for step in places if is_change(payload["events"][step])]


def is_change(event: dict[str, Any]) -> bool:
    """Return True if an event changes a log or a state."""
    return event["kind"] in ALWAYS or any(op[0] in CHANGES for op in event["patch"])


def _fold(payload: Payload, stretch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the fold of the requests in a stretch without any change; none for fewer than two repeated ones."""
    frames = [payload["frames"][event["frame"]] for event in stretch]
    again = [i for i, f in enumerate(frames) if f["kind"] == "request" and f["attempt"] > 1 and not f["copy_of"]]
    if len(again) < 2:
        return []
    first, last = again[0], again[-1]
    while last + 1 < len(frames) and frames[last + 1]["of"] in {f["id"] for f in frames[first : last + 1]}:
        last += 1
    asked: dict[tuple[str, str], list[int]] = {}
    for f in frames[first : last + 1]:
        if f["kind"] == "request":
            asked.setdefault((f["from"], f["name"]), []).append(f["attempt"])
    labels = {node["id"]: node["label"] for node in payload["nodes"]}
    parts = [
        f"{labels[node]} asks {_times_more(sum(len(n) for (who, _), n in asked.items() if who == node))}"
        f" ({', '.join(_attempts(name, n) for (who, name), n in asked.items() if who == node)})"
        for node in dict.fromkeys(node for node, _ in asked)
    ]
    return [{"from": stretch[first]["step"], "to": stretch[last]["step"], "text": f"{'; '.join(parts)}: no change."}]


def _attempts(name: str, numbers: list[int]) -> str:
    """ "Produce up to attempt 9": sentences and arrows count attempts, too; only the name if each was the first."""
    last = max(numbers)
    if last == 1:
        return name
    return f"{name} attempt {last}" if len(numbers) == 1 else f"{name} up to attempt {last}"


def _times_more(count: int) -> str:
    return "once more" if count == 1 else f"{count} more times"


class GrowingWalk:
    """The chapters, folds and ranks of a run that goes on; `add` reads only what is new.

    A fold is each stretch in which a node only repeats requests: {"from", "to", "text"}, its first and last step. A
    rank is 0 for events that are no stop or are folded. As long as a stretch goes on, its ranks may change.
    """

    def __init__(self) -> None:
        self._chapters = Chapters()
        self._known: dict[str, list[Any]] = {name: [] for name in LISTS}
        self._over = 0
        """Folds whose stretch is over."""
        self._stretch: list[dict[str, Any]] = []
        self._open: list[dict[str, Any]] = []
        """The events since the stretch began: they are ranked again when its fold is another."""
        self._open_fold: list[dict[str, Any]] = []
        self._counted: list[Any] = []
        self._seen: Counter[Any] = Counter()
        self._stable: dict[str, int] = {}

    def add(self, payload: Payload, events: list[dict[str, Any]]) -> dict[str, Any]:
        """Read `events`, which follow those that were read; `payload` has their frames and nodes.

        Return the ends of the three lists, and under "tails" the index from which on each replaces what was known.
        """
        known, old_chapters = self._known, len(self._chapters.found)
        self._chapters.add(payload, events)
        chapters = known["chapters"] if len(self._chapters.found) == old_chapters else self._chapters.list_chapters()
        same = next((i for i, (a, b) in enumerate(zip(known["chapters"], chapters, strict=False)) if a != b), None)
        tails = {
            "chapters": min(len(known["chapters"]), len(chapters)) if same is None else same,
            "folds": self._over,
        }
        began = self._stretch[:1]
        over, folds = self._folds(payload, events)
        again = [*self._open, *events]
        old = len(self._open) if folds[:1] == self._open_fold else 0
        if not old:
            self._seen.subtract(self._counted)
        if not old or self._stretch[:1] != began:
            self._counted = []
        tails["ranks"] = len(known["ranks"]) - len(self._open) + old
        ranks = self._ranks(payload, again[old:], folds)
        ends = {"chapters": chapters[tails["chapters"] :], "folds": folds, "ranks": ranks}
        for name, values in ends.items():
            known[name][tails[name] :] = values
        self._over += over
        if len(again) > LONGEST_STRETCH:
            self._stretch, self._over, self._counted = [], len(known["folds"]), []
        self._open = again[self._stretch[0]["step"] - again[0]["step"] :] if self._stretch else []
        self._open_fold = folds[over:] if self._stretch else []
        return {**ends, "tails": tails}

    def _folds(self, payload: Payload, events: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]]]:
        """Return the folds from the open stretch on, and how many of them are over."""
        found: list[dict[str, Any]] = []
        for event in events:
            if event["kind"] == "send" and event["category"] != "replication":
                self._stretch.append(event)
            elif is_change(event) or event["kind"] in ("append", "invoke", "complete"):
                found += _fold(payload, self._stretch)
                self._stretch = []
        return len(found), found + _fold(payload, self._stretch)

    def _ranks(self, payload: Payload, events: list[dict[str, Any]], folds: list[dict[str, Any]]) -> list[int]:
        """Return the ranks of these events; count those of the open stretch, in case they are ranked again."""
        first = events[0]["step"] if events else 0
        latest = takewhile(lambda chapter: chapter[0] >= first, reversed(self._chapters.found))
        begins = {step: (name.rstrip("0123456789 "), who) for step, name, who in latest}
        inside = {step for fold in folds for step in range(fold["from"], fold["to"])}
        ends = {fold["to"] for fold in folds}
        still_open = self._stretch[0]["step"] if self._stretch else first + len(events)
        ranks = []
        for event in events:
            step = event["step"]
            rank, sign = _weight(payload, event, self._stable)
            for op in event["patch"]:
                if op[0] == "lso":
                    self._stable[op[2]] = op[3]
            if not event["stop"] or step in inside:
                ranks.append(0)
                continue
            if event["kind"] in ALWAYS or step in ends:
                rank = 100
            elif step in begins and (told := CHAPTERS.get(begins[step][0].rpartition(": ")[2], 80)) > rank:
                rank, sign = told, ("chapter", *begins[step])
            again = 1 if rank == RECORDS else AGAIN
            ranks.append(max(LEAST, rank - again * min(self._seen[sign], 2)))
            self._seen[sign] += 1
            if step >= still_open:
                self._counted.append(sign)
        return ranks


def _weight(payload: Payload, event: dict[str, Any], stable: dict[str, int]) -> tuple[int, Any]:
    """Return the rank of a stop that is the first of its kind, and what kind that is."""
    kind, name = event["kind"], event["name"]
    match kind, name:
        case "send", _:
            return _frame_weight(event, payload["frames"][event["frame"]])
        case "append", _:
            return _append_weight(event)
        case "state", "watermark":
            return _watermark_weight(event, stable)
        case "state", "transaction":
            state = next((op[2]["state"] for op in event["patch"] if op[0] == "txn"), "")
            return 56, (kind, name, state)
        case "state", "group":
            state = next((op[2]["state"] for op in event["patch"] if op[0] == "group"), "")
            return GROUP_STATES.get(state, 80), (kind, name, state)
        case "state", "member":
            return 59, (kind, name, event["node"])
        case "complete", "poll":
            return (80, (kind, name, event["text"])) if "gets nothing" not in event["text"] else (30, (kind, name, ""))
        case "complete", _:
            return (80 if "returns" not in event["text"] else 28), (kind, name)
        case "invoke", _:
            return 38, (kind, name)
        case "timer", _:
            return 80, (kind, name)
    return 80, (kind, event["text"])


def _frame_weight(event: dict[str, Any], frame: dict[str, Any]) -> tuple[int, Any]:
    between_brokers = event["node"].startswith("b") and frame["to"].startswith("b")
    if frame["error"] not in ("", "NONE", NEW_MEMBER):
        rank = 48 if between_brokers else 70
    elif frame["kind"] == "request":
        rank = 40
    else:
        rank = 35 if between_brokers else 37
    return rank, (frame["name"], frame["error"])


def _append_weight(event: dict[str, Any]) -> tuple[int, Any]:
    batch = next(op[3] for op in event["patch"] if op[0] == "batch")
    topic = topic_of(event["name"])
    sign = ("append", topic, batch["kind"])
    if topic == TRANSACTION_TOPIC:
        return 42, (*sign, batch["decoded"].split(", ")[0])
    if topic == OFFSETS_TOPIC and batch["decoded"].startswith(OF_GROUP):
        return 32, (*sign, OF_GROUP)
    return (RECORDS if batch["kind"] == "data" and topic != OFFSETS_TOPIC else 60), sign


def _watermark_weight(event: dict[str, Any], stable: dict[str, int]) -> tuple[int, Any]:
    partition, lso = next((op[2], op[3]) for op in event["patch"] if op[0] == "lso")
    moved = stable.get(partition, 0) != lso
    of_groups = topic_of(partition) == OFFSETS_TOPIC
    return (46 if not moved else 52 if of_groups else 58), ("watermark", of_groups, moved)
