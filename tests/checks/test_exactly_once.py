"""Consume-transform-produce: offsets and output that disagree, and how many effects every input has."""

from __future__ import annotations

import pytest

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.exactly_once import EFFECTS, INPUT, effects
from kafkalab.checks.view import view_of
from kafkalab.history.builder import HistoryBuilder
from kafkalab.history.positions import POSITION
from tests.checks.verdicts import OK, UNKNOWN, VIOLATED, Build, build_history, verdict

IN, OUT, OFFSETS = "in-0", "out-0", "__consumer_offsets-1"
TWICE = ("violated", ["forbidden", "forbidden"])


def inputs(m: HistoryBuilder, *values: str) -> None:
    for value in values:
        m.log(IN, value)


def process(
    m: HistoryBuilder, name: str, reads: tuple[int, ...], upto: int, pid: int, ending: str = "COMMIT",
    offsets_ending: str = "", transactional: bool = True, known: bool = True,
    polled: tuple[int, ...] | None = None, number: int = 1, declared: bool = True,
) -> None:  # fmt: skip
    """One round: read these offsets, write "+value" for each, commit the offset; all in one transaction, or not.

    `polled` is what the poll returned, if that is not what the round works off; () for no poll.
    """
    values = {r.offset: str(r.value) for r in m.rows["log"] if r.key == IN}
    if polled != ():
        m.poll(f"{name}/c", IN, *((o, values[o]) for o in polled or reads), process=name, known=known)
    n = number if transactional else -1
    for seq, offset in enumerate(reads):
        made_from = (f"kafkalab-source={IN}@{offset}",) if declared else ()
        m.send(name, OUT, f"+{values[offset]}", pid=pid if transactional else -1, seq=seq, n=n, headers=made_from)
    if transactional:
        m.operation(
            "offsets", client=name, process=name, producer_id=pid, producer_epoch=0, transaction=number, key=IN,
            value="g", offset=upto,
        )  # fmt: skip
        m.log(OFFSETS, str(upto), record_key=f"g/{IN}", pid=pid, epoch=0, seq=0, txn=True)
        m.end(name, "commit", number)
        if ending:
            m.marker(OUT, ending, pid=pid)
            m.marker(OFFSETS, offsets_ending or ending, pid=pid)
    else:
        m.log(OFFSETS, str(upto), record_key=f"g/{IN}")


def once(m: HistoryBuilder) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0, 1), 2, pid=1)


def both_instances(m: HistoryBuilder) -> None:
    once(m)
    process(m, "b", (0, 1), 2, pid=2)


def first_aborted(m: HistoryBuilder) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0, 1), 2, pid=1, ending="ABORT")
    process(m, "b", (0, 1), 2, pid=2)


def first_aborted_then_by_one_without_polls(m: HistoryBuilder) -> None:
    """Make a second maker without polls and offsets: it counts as a member of the first's group."""
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, ending="ABORT")
    m.send("b", OUT, "+10", pid=2, n=1, headers=(f"kafkalab-source={IN}@0",))
    m.end("b", "commit", 1)
    m.marker(OUT, "COMMIT", pid=2)
    m.log(OFFSETS, "1", record_key=f"g/{IN}")


def one_after_the_other(m: HistoryBuilder) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0,), 1, pid=1)
    process(m, "b", (1,), 2, pid=2)


def one_poll_two_transactions(m: HistoryBuilder) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0,), 1, pid=1, polled=(0, 1))
    process(m, "a", (1,), 2, pid=1, polled=(), number=2)


def the_rest_of_a_poll_done_by_another(m: HistoryBuilder) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0,), 1, pid=1, polled=(0, 1))
    process(m, "b", (1,), 2, pid=2)


def the_rest_of_a_poll_done_by_both(m: HistoryBuilder) -> None:
    the_rest_of_a_poll_done_by_another(m)
    process(m, "a", (1,), 2, pid=1, polled=(), number=2)


def an_input_left_out(m: HistoryBuilder) -> None:
    inputs(m, "10", "25", "30")
    process(m, "a", (0, 2), 3, pid=1)


def offsets_without_output(m: HistoryBuilder) -> None:
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, ending="ABORT", offsets_ending="COMMIT")


def leave_undecided(m: HistoryBuilder) -> None:
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, ending="")


def not_yet_read(m: HistoryBuilder) -> None:
    once(m)
    inputs(m, "30")


def polls_not_known(m: HistoryBuilder) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0, 1), 2, pid=1, known=False)


def with_tombstones(m: HistoryBuilder) -> None:
    once(m)
    m.send("a", OUT, None, pid=1, seq=2)  # type: ignore[arg-type]


def remove_outputs(m: HistoryBuilder, how: str = "deleted") -> None:
    """Every output has been deleted by retention, or compacted away."""
    m.rows["log"] = [r._replace(removed=how) if r.key == OUT and not r.control else r for r in m.rows["log"]]


def once_and_deleted(m: HistoryBuilder) -> None:
    once(m)
    remove_outputs(m)


def both_instances_compacted(m: HistoryBuilder) -> None:
    both_instances(m)
    remove_outputs(m, "compacted")


def twice_without_transactions(m: HistoryBuilder) -> None:
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, transactional=False)
    process(m, "b", (0,), 1, pid=2, transactional=False)


def twice_in_one_transaction(m: HistoryBuilder) -> None:
    """The application sends each output twice; both are committed."""
    inputs(m, "10")
    process(m, "a", (0, 0), 1, pid=1)


def several_values_in_one_transaction(m: HistoryBuilder) -> None:
    """A debit and a credit are made of one input: two values, one effect."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    for seq, value in enumerate(("-10", "+10")):
        m.send("a", OUT, value, seq=seq, n=1, headers=(f"kafkalab-source={IN}@0",))
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")
    m.log(OFFSETS, "1", record_key=f"g/{IN}")


def only_one_of_two_values(m: HistoryBuilder, lost: str) -> None:
    """A debit and a credit are made of one input: the credit has another end than the debit, or is in no log."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    m.send("a", OUT, "-10", seq=0, n=1, headers=(f"kafkalab-source={IN}@0",))
    m.send("a", "out-1", "+10", seq=0, n=1, headers=(f"kafkalab-source={IN}@0",), logged=lost != "in no log")
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")
    if lost == "aborted":
        m.marker("out-1", "ABORT")
    m.log(OFFSETS, "1", record_key=f"g/{IN}", pid=1, epoch=0, seq=0, txn=True)
    m.marker(OFFSETS, "COMMIT")


def expect(build: Build, *numbers: str) -> Build:
    """Return what `build` makes, with labels that say how many effects there should be."""

    def act(m: HistoryBuilder) -> None:
        build(m)
        for number in numbers:
            m.label(EFFECTS, number)

    return act


def positions_elsewhere(m: HistoryBuilder, *positions: str) -> None:
    """A sink keeps its positions outside Kafka; the second of three inputs has no output."""
    inputs(m, "10", "25", "30")
    m.poll("a/c", IN, (0, "10"), (1, "25"), (2, "30"), process="a")
    for seq, offset in enumerate((0, 2)):
        m.send("a", OUT, f"+{offset}", seq=seq, headers=(f"kafkalab-source={IN}@{offset}",))
    for position in positions:
        m.label(POSITION, position)


def all_of_another_partition_lost(m: HistoryBuilder, *positions: str) -> None:
    """A sink keeps its positions outside Kafka, and makes outputs of one of two partitions only."""
    for key in (IN, "in-1"):
        m.log(key, "10")
        m.poll("a/c", key, (0, "10"), process="a")
    m.send("a", OUT, "+10", headers=(f"kafkalab-source={IN}@0",))
    for position in positions:
        m.label(POSITION, position)


def a_group_commits_beside_it(m: HistoryBuilder, *positions: str) -> None:
    """A sink with transactions goes on from its checkpoint, and commits offsets for monitoring only."""
    positions_elsewhere(m, *positions)
    m.log(OFFSETS, "3", record_key=f"monitoring/{IN}")


def another_partition_not_read(m: HistoryBuilder, *positions: str) -> None:
    """A group commits its offsets of one partition in Kafka, and has not come to the other one."""
    once(m)
    m.log("in-1", "10")
    m.label(INPUT, "in")
    for position in positions:
        m.label(POSITION, position)


def only_record_lost(m: HistoryBuilder, *positions: str) -> None:
    """The one output of the one input is aborted."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    m.send("a", OUT, "+10", n=1, headers=(f"kafkalab-source={IN}@0",))
    m.end("a", "abort", 1)
    m.marker(OUT, "ABORT")
    for position in positions:
        m.label(POSITION, position)


def nothing_done_yet(m: HistoryBuilder) -> None:
    """Nobody has made an output or committed an offset."""
    inputs(m, "10")
    m.label(INPUT, "in")


CASES: list[tuple[str, Build, tuple[str, list[str]]]] = [
    ("offset/output split", once, OK),
    ("offset/output split", both_instances, TWICE),
    ("offset/output split", first_aborted, OK),
    ("offset/output split", one_after_the_other, OK),
    ("offset/output split", one_poll_two_transactions, OK),
    ("offset/output split", the_rest_of_a_poll_done_by_another, OK),
    ("offset/output split", the_rest_of_a_poll_done_by_both, VIOLATED),
    ("offset/output split", an_input_left_out, VIOLATED),
    ("offset/output split", offsets_without_output, VIOLATED),
    ("offset/output split", leave_undecided, UNKNOWN),
    ("exactly-once", once, OK),
    ("exactly-once", both_instances, TWICE),
    ("exactly-once", polls_not_known, OK),
    ("exactly-once", with_tombstones, OK),
    ("exactly-once", once_and_deleted, OK),
    ("exactly-once", both_instances_compacted, TWICE),
    ("exactly-once", first_aborted, OK),
    ("exactly-once", first_aborted_then_by_one_without_polls, OK),
    ("exactly-once", one_after_the_other, OK),
    ("exactly-once", an_input_left_out, VIOLATED),
    ("exactly-once", offsets_without_output, VIOLATED),
    ("exactly-once", leave_undecided, ("unknown", ["allowed"])),
    ("exactly-once", not_yet_read, ("ok", ["allowed"])),
    ("exactly-once", twice_without_transactions, ("ok", ["allowed"])),
    ("exactly-once", twice_in_one_transaction, VIOLATED),
    ("exactly-once", expect(twice_in_one_transaction, "2"), OK),
    ("exactly-once", expect(twice_in_one_transaction, f"{IN}@0=2"), OK),
    ("exactly-once", expect(twice_in_one_transaction, f"{IN}@1=2"), VIOLATED),
    ("exactly-once", expect(once, "2"), TWICE),
    ("exactly-once", expect(once, f"{IN}@1=0"), VIOLATED),
    ("exactly-once", expect(an_input_left_out, f"{IN}@1=0"), OK),
    ("exactly-once", expect(not_yet_read, f"{IN}@2=0"), ("ok", ["allowed"])),
    ("exactly-once", expect(leave_undecided, "0"), ("unknown", ["allowed"])),
    ("exactly-once", several_values_in_one_transaction, OK),
    ("exactly-once", expect(several_values_in_one_transaction, "1"), ("ok", ["allowed"])),
    ("exactly-once", expect(several_values_in_one_transaction, "2"), OK),
    ("exactly-once", lambda m: only_one_of_two_values(m, "aborted"), VIOLATED),
    ("exactly-once", lambda m: only_one_of_two_values(m, "in no log"), VIOLATED),
    ("exactly-once", lambda m: only_one_of_two_values(m, "undecided"), ("unknown", ["allowed"])),
    ("exactly-once", positions_elsewhere, ("unknown", ["unknown"])),
    ("exactly-once", lambda m: positions_elsewhere(m, f"{IN}@3"), VIOLATED),
    ("exactly-once", lambda m: positions_elsewhere(m, f"{IN}@1"), ("ok", ["allowed"])),
    ("exactly-once", lambda m: positions_elsewhere(m, "in"), ("unknown", ["unknown"])),
    ("exactly-once", all_of_another_partition_lost, ("unknown", ["unknown"])),
    ("exactly-once", lambda m: all_of_another_partition_lost(m, "in-1@1"), VIOLATED),
    ("exactly-once", lambda m: all_of_another_partition_lost(m, "in-0@1"), ("unknown", ["unknown"])),
    ("exactly-once", lambda m: all_of_another_partition_lost(m, "in-0@1", "in-1@0"), ("ok", ["allowed"])),
    ("exactly-once", a_group_commits_beside_it, ("unknown", ["unknown"])),
    ("exactly-once", lambda m: a_group_commits_beside_it(m, "in"), ("unknown", ["unknown"])),
    ("exactly-once", lambda m: a_group_commits_beside_it(m, f"{IN}@1"), ("ok", ["allowed"])),
    ("exactly-once", lambda m: a_group_commits_beside_it(m, f"{IN}@3"), VIOLATED),
    ("exactly-once", another_partition_not_read, ("ok", ["allowed"])),
    ("exactly-once", lambda m: another_partition_not_read(m, "in-0@2"), ("unknown", ["unknown"])),
    ("exactly-once", only_record_lost, ("unknown", ["allowed"])),
    ("exactly-once", lambda m: only_record_lost(m, "in"), ("unknown", ["unknown"])),
    ("exactly-once", lambda m: only_record_lost(m, f"{IN}@1"), VIOLATED),
    ("exactly-once", nothing_done_yet, ("unknown", ["allowed"])),
]


@pytest.mark.parametrize(("name", "build", "expected"), CASES)
def test_the_check_says(name: str, build: Build, expected: tuple[str, list[str]]) -> None:
    assert verdict(build_history(build), name) == expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (once, [("10", "once", 1, 1), ("25", "once", 1, 1)]),
        (both_instances, [("10", "duplicated", 2, 2), ("25", "duplicated", 2, 2)]),
        (first_aborted, [("10", "once", 1, 2), ("25", "once", 1, 2)]),
        (an_input_left_out, [("10", "once", 1, 1), ("25", "lost", 0, 0), ("30", "once", 1, 1)]),
        (offsets_without_output, [("10", "lost", 0, 1)]),
        (leave_undecided, [("10", "in flight", 0, 1)]),
        (not_yet_read, [("10", "once", 1, 1), ("25", "once", 1, 1), ("30", "in flight", 0, 0)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_input_has_so_many_effects(build: Build, expected: list[tuple[str, str, int, int]]) -> None:
    rows = effects(view_of(build_history(build)))
    assert [(r.value, r.verdict, r.read_committed, r.read_uncommitted) for r in rows] == expected


def test_outputs_that_declare_no_input_are_unknown_and_never_lost() -> None:
    made = HistoryBuilder()
    inputs(made, "10", "25")
    process(made, "a", (0,), 2, pid=1, declared=False)
    assert effects(view_of(made.history())) == []
    assert verdict(made.history(), "exactly-once") == UNKNOWN


def test_an_input_is_in_flight_whatever_a_group_that_makes_no_output_has_committed() -> None:
    m = HistoryBuilder()
    inputs(m, "10", "25")
    m.poll("a/c", IN, process="a", group="g")
    process(m, "a", (0,), 1, pid=1, transactional=False)
    m.poll("audit/c", IN, (0, "10"), (1, "25"), process="audit", group="audit")
    m.log(OFFSETS, "2", record_key=f"audit/{IN}")
    assert [(e.value, e.verdict) for e in effects(view_of(m.history()))] == [("10", "once"), ("25", "in flight")]


def test_an_output_that_has_a_key_is_no_committed_offset() -> None:
    m = HistoryBuilder()
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    m.log(OUT, "+10", record_key="account-7", pid=1, txn=True)
    m.log(OFFSETS, "1", record_key=f"g/{IN}", pid=1, txn=True)
    m.marker(OUT, "ABORT", pid=1)
    m.marker(OFFSETS, "COMMIT", pid=1)
    (found,) = BY_NAME["offset/output split"](m.history()).findings
    assert "its offsets committed, its output aborted" in found.text
