"""Consume-transform-produce: offsets and output that disagree, and how many effects every input has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkalab import made_from
from kafkalab.checks.all import check_all
from kafkalab.checks.exactly_once import effects
from kafkalab.checks.view import view_of
from kafkalab.history.export import history_of
from kafkalab.sim.app import App
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Program, Scenario
from tests.checks.made import OK, UNKNOWN, VIOLATED, Made, verdict

IN, OUT, OFFSETS = "in-0", "out-0", "__consumer_offsets-1"
TWICE = ("violated", ["forbidden", "forbidden"])


def inputs(m: Made, *values: str) -> None:
    for value in values:
        m.log(IN, value)


def process(
    m: Made, name: str, reads: tuple[int, ...], upto: int, pid: int, ending: str = "COMMIT",
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
        m.rows["operations"][-2] = type(m.rows["operations"][-2])(
            **{k: getattr(m.rows["operations"][-2], k) for k in m.rows["operations"][-2]._fields} | {"offset": upto}
        )
        m.log(OFFSETS, str(upto), record_key=f"g/{IN}", pid=pid, epoch=0, seq=0, txn=True)
        m.end(name, "commit", number)
        if ending:
            m.marker(OUT, ending, pid=pid)
            m.marker(OFFSETS, offsets_ending or ending, pid=pid)
    else:
        m.log(OFFSETS, str(upto), record_key=f"g/{IN}")


def once(m: Made) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0, 1), 2, pid=1)


def both_instances(m: Made) -> None:
    once(m)
    process(m, "b", (0, 1), 2, pid=2)


def first_aborted(m: Made) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0, 1), 2, pid=1, ending="ABORT")
    process(m, "b", (0, 1), 2, pid=2)


def one_after_the_other(m: Made) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0,), 1, pid=1)
    process(m, "b", (1,), 2, pid=2)


def one_poll_two_transactions(m: Made) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0,), 1, pid=1, polled=(0, 1))
    process(m, "a", (1,), 2, pid=1, polled=(), number=2)


def the_rest_of_a_poll_done_by_another(m: Made) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0,), 1, pid=1, polled=(0, 1))
    process(m, "b", (1,), 2, pid=2)


def the_rest_of_a_poll_done_by_both(m: Made) -> None:
    the_rest_of_a_poll_done_by_another(m)
    process(m, "a", (1,), 2, pid=1, polled=(), number=2)


def an_input_left_out(m: Made) -> None:
    inputs(m, "10", "25", "30")
    process(m, "a", (0, 2), 3, pid=1)


def offsets_without_output(m: Made) -> None:
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, ending="ABORT", offsets_ending="COMMIT")


def undecided(m: Made) -> None:
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, ending="")


def not_yet_read(m: Made) -> None:
    once(m)
    inputs(m, "30")


def polls_not_known(m: Made) -> None:
    inputs(m, "10", "25")
    process(m, "a", (0, 1), 2, pid=1, known=False)


def with_tombstones(m: Made) -> None:
    once(m)
    m.send("a", OUT, None, pid=1, seq=2)  # type: ignore[arg-type]


def removed(m: Made, how: str = "deleted") -> None:
    """Every output has been deleted by retention, or compacted away."""
    m.rows["log"] = [r._replace(removed=how) if r.key == OUT and not r.control else r for r in m.rows["log"]]


def once_and_deleted(m: Made) -> None:
    once(m)
    removed(m)


def both_instances_compacted(m: Made) -> None:
    both_instances(m)
    removed(m, "compacted")


def twice_without_transactions(m: Made) -> None:
    inputs(m, "10")
    process(m, "a", (0,), 1, pid=1, transactional=False)
    process(m, "b", (0,), 1, pid=2, transactional=False)


CASES: list[tuple[str, Callable[[Made], None], tuple[str, list[str]]]] = [
    ("offset/output split", once, OK),
    ("offset/output split", both_instances, TWICE),
    ("offset/output split", first_aborted, OK),
    ("offset/output split", one_after_the_other, OK),
    ("offset/output split", one_poll_two_transactions, OK),
    ("offset/output split", the_rest_of_a_poll_done_by_another, OK),
    ("offset/output split", the_rest_of_a_poll_done_by_both, VIOLATED),
    ("offset/output split", an_input_left_out, VIOLATED),
    ("offset/output split", offsets_without_output, VIOLATED),
    ("offset/output split", undecided, UNKNOWN),
    ("exactly-once", once, OK),
    ("exactly-once", both_instances, TWICE),
    ("exactly-once", polls_not_known, OK),
    ("exactly-once", with_tombstones, OK),
    ("exactly-once", once_and_deleted, OK),
    ("exactly-once", both_instances_compacted, TWICE),
    ("exactly-once", first_aborted, OK),
    ("exactly-once", one_after_the_other, OK),
    ("exactly-once", an_input_left_out, VIOLATED),
    ("exactly-once", offsets_without_output, VIOLATED),
    ("exactly-once", undecided, ("ok", ["allowed"])),
    ("exactly-once", not_yet_read, ("ok", ["allowed"])),
    ("exactly-once", twice_without_transactions, ("ok", ["allowed"])),
]


@pytest.mark.parametrize(("name", "build", "expected"), CASES, ids=[f"{n}-{b.__name__}" for n, b, _ in CASES])
def test_the_check_says(name: str, build: Callable[[Made], None], expected: tuple[str, list[str]]) -> None:
    made = Made()
    build(made)
    assert verdict(made, name) == expected, made.check(name)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (once, [("10", "once", 1, 1), ("25", "once", 1, 1)]),
        (both_instances, [("10", "duplicated", 2, 2), ("25", "duplicated", 2, 2)]),
        (first_aborted, [("10", "once", 1, 2), ("25", "once", 1, 2)]),
        (an_input_left_out, [("10", "once", 1, 1), ("25", "lost", 0, 0), ("30", "once", 1, 1)]),
        (offsets_without_output, [("10", "lost", 0, 1)]),
        (undecided, [("10", "in flight", 0, 1)]),
        (not_yet_read, [("10", "once", 1, 1), ("25", "once", 1, 1), ("30", "in flight", 0, 0)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_input_has_so_many_effects(
    build: Callable[[Made], None], expected: list[tuple[str, str, int, int]]
) -> None:
    made = Made()
    build(made)
    rows = effects(view_of(made.history()))
    assert [(r.value, r.verdict, r.read_committed, r.read_uncommitted) for r in rows] == expected


def sent(m: Made, name: str, value: str, *, n: int, seq: int = 0, pid: int = 1, type: str = "ok", logged: bool = True,
         topic: str = "out", at: int = 0) -> None:  # fmt: skip
    headers = (f"kafkalab-source={IN}@{at}",)
    m.send(name, f"{topic}-0", value, pid=pid, seq=seq, n=n, type=type, logged=logged, headers=headers)


def two_outputs_of_one_value(m: Made) -> None:
    """One transaction writes the same value twice for one input: both are its effect."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    for seq in (0, 1):
        sent(m, "a", "ten", n=1, seq=seq)
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")


def another_value_the_second_time(m: Made) -> None:
    """The first attempt aborts; the second one makes another value of the same input."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    for n, ending in ((1, "ABORT"), (2, "COMMIT")):
        sent(m, "a", f"ten at {n}", n=n, seq=n)
        m.end("a", ending.lower(), n)
        m.marker(OUT, ending)
    m.log(OFFSETS, "1", record_key=f"g/{IN}", pid=1, epoch=0, seq=0, txn=True)
    m.marker(OFFSETS, "COMMIT")


def refused_and_sent_again(m: Made) -> None:
    """A send is refused and another one of the same transaction, for the same input, accepted."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    sent(m, "a", "ten", n=1, type="fail", logged=False)
    sent(m, "a", "ten", n=1, seq=1)
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")


def stored_twice(m: Made) -> None:
    """One send of a committed transaction lies in the log twice."""
    inputs(m, "10")
    m.poll("a/c", IN, (0, "10"), process="a")
    m.log(OUT, "ten", pid=1, epoch=0, seq=0, txn=True, headers=(f"kafkalab-source={IN}@0",))
    sent(m, "a", "ten", n=1)
    m.end("a", "commit", 1)
    m.marker(OUT, "COMMIT")


def for_two_groups(m: Made, second: str = "done") -> None:
    """Two groups make something of the same input; the second may not be done yet."""
    inputs(m, "10")
    for pid, (name, topic) in enumerate((("a", "charges"), ("b", "parcels")), 1):
        m.poll(f"{name}/c", IN, (0, "10"), process=name)
        polled = m.rows["polls"].pop()
        m.rows["polls"].append(polled._replace(group=f"group {name}"))
        sent(m, name, "ten", n=1, pid=pid, topic=topic)
        done = name == "a" or second == "done"
        m.end(name, "commit" if done else "abort", 1)
        m.marker(f"{topic}-0", "COMMIT" if done else "ABORT", pid=pid)
        if done:
            m.log(OFFSETS, "1", record_key=f"group {name}/{IN}", pid=pid, epoch=0, seq=0, txn=True)
            m.marker(OFFSETS, "COMMIT", pid=pid)


def with_an_onlooker(m: Made) -> None:
    """A group that only reads has committed an offset behind an input that the processor has not done yet."""
    for_two_groups(m, second="not yet")
    m.log(OFFSETS, "1", record_key=f"onlookers/{IN}", pid=-1)


@pytest.mark.parametrize(
    ("build", "verdicts"),
    [
        (two_outputs_of_one_value, ["once"]),
        (another_value_the_second_time, ["once"]),
        (refused_and_sent_again, ["once"]),
        (stored_twice, ["duplicated"]),
        (for_two_groups, ["once"]),
        (lambda m: for_two_groups(m, second="not yet"), ["in flight"]),
        (with_an_onlooker, ["in flight"]),
    ],
)
def test_attempts_and_groups_are_told_apart(build: Callable[[Made], None], verdicts: list[str]) -> None:
    made = Made()
    build(made)
    rows = effects(view_of(made.history()))
    assert [r.verdict for r in rows] == verdicts, rows


@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_the_exactly_once_processor_is_called_exactly_once(profile: str) -> None:
    arguments = {"inputs": ["in-0", "in-1"], "output": "out"}
    scenario = Scenario(
        profile=profile,
        topics={"in": 2, "out": 2},
        records={"in-0": ("a", "b", "c"), "in-1": ("d",)},
        programs=(Program("p", "exactly_once_processor", arguments),),
    )
    cluster = Cluster(scenario)
    cluster.run()
    report = check_all(history_of(cluster))
    assert report.violated == ()
    result = report["exactly-once"]
    assert (result.verdict, result.examined) == ("ok", 4)


def test_a_program_of_a_learners_own_declares_its_inputs_with_made_from() -> None:
    async def work(app: App, declares: bool) -> None:
        consumer = app.consumer(group_id="g", auto_offset_reset="earliest", enable_auto_commit=False)
        consumer.assign(["in-0"])
        producer = app.producer(transactional_id="t")
        await producer.init_transactions()
        records = await consumer.poll()
        producer.begin_transaction()
        total = str(sum(int(record.value) for record in records))
        await producer.send("out", total, headers=made_from(*records) if declares else ())
        await producer.send_offsets_to_transaction({"in-0": len(records)}, consumer.group_metadata())
        await producer.commit_transaction()

    for declares, wanted in ((True, ("ok", 3)), (False, ("unknown", 0))):
        cluster = Cluster(Scenario(topics={"in": 1, "out": 1}, records={"in-0": ("1", "2", "3")}))
        cluster.spawn("p", work, declares=declares)
        cluster.run()
        result = check_all(history_of(cluster))["exactly-once"]
        assert (result.verdict, result.examined) == wanted


def test_outputs_that_declare_no_input_are_unknown_and_never_lost() -> None:
    made = Made()
    inputs(made, "10", "25")
    process(made, "a", (0,), 2, pid=1, declared=False)
    assert effects(view_of(made.history())) == []
    assert verdict(made, "exactly-once") == UNKNOWN
