"""The runs of L5.E4's questions, and what is true of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.course.lab00.exercise_1 import copies
from kafkalab.course.lab01.scenario import lab01
from kafkalab.course.lab03.scenario import lab03
from kafkalab.faults.link import Cut
from kafkalab.faults.node import Crash
from kafkalab.programs.orders import PARTITION
from kafkalab.programs.readers import BOOK
from kafkalab.programs.transfers import TRANSACTIONAL_ID
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

TIMES = ("never", "once", "twice")
COMMITTED_AT = 1
"""The offset after the only record, which the group of one question commits."""

# the runs


def restart(seed: int) -> Scenario:
    """Return the run of a shop that crashes before it gets its response, and of the one that is started again."""
    again = [["sleep", 5_000], ["send", "orders", "soup", None, 0], ["flush"]]
    first = lab01(orders=("soup",), seed=seed)
    crash = Crash("shop", at_step=ran(first).trace.frames["ProduceResponse#1"].sent_step)
    return Scenario(
        title="A shop that is started again",
        seed=seed,
        topics={"orders": 1},
        programs=(*first.programs, Program("shop-2", "operations", {"steps": again})),
        faults=(crash,),
    )


def start_one_broker(seed: int) -> Scenario:
    """Return the run of a new cluster with one broker and default settings."""
    return Scenario(
        title="One broker, default settings",
        seed=seed,
        brokers=1,
        fresh=True,
        topics={"accounts": 1},
        programs=(Program("app", "first_transaction", {"records": 0}),),
        config={"transaction_state_log_replication_factor": 3},
    )


def replace_coordinator(seed: int) -> Scenario:
    """Return the run of two instances of one name; the coordinator crashes between them."""
    begin: list[list[Any]] = [["init_transactions"]]
    named = {"transactional_id": TRANSACTIONAL_ID}
    programs = (
        Program("app", "operations", {**named, "steps": begin}),
        Program("app-2", "operations", {**named, "steps": [["sleep", 20_000], *begin]}),
    )
    scenario = Scenario(title="The next coordinator", seed=seed, topics={"accounts": 1}, programs=programs)
    return scenario.with_faults(Crash(ran(scenario).trace.frames["InitProducerId#1"].receiver, at_ms=5_000))


def crash_before_the_end(seed: int) -> Scenario:
    """Return the run of lab 3 in which the app crashes before it sends EndTxn."""
    return lab03(seed=seed).with_faults(Crash("app", at_step=step_sent(ran(lab03(seed=seed)), "EndTxn#1") - 1))


def crash_after_the_decision(seed: int) -> Scenario:
    """Return the run of lab 3 in which the app crashes once the commit is decided."""
    return lab03(seed=seed).with_faults(Crash("app", at_step=step_sent(ran(lab03(seed=seed)), "EndTxnResponse#1")))


def lose_order(seed: int) -> Scenario:
    """Return the run of a careless shop whose cut-off leader crashes with an acknowledged order."""
    careless = {"acks": 1, "enable_idempotence": False}
    orders = ["tea", "bun", "soup", "rice"]
    return Scenario(
        title="An acknowledged order is lost",
        seed=seed,
        topics={"orders": 1},
        programs=(Program("shop", "shop", {"orders": orders, "settings": careless, "gap_ms": 700}),),
        faults=(Cut("b2", ("b1", "b3"), at_ms=400), Crash("b2", at_ms=1_100)),
    )


def write_one_record(seed: int) -> Scenario:
    """Return the run of a transaction with one record, and of a group that reads it."""
    steps = [["init_transactions"], ["begin_transaction"], ["send", BOOK, "one", None, 0], ["commit_transaction"]]
    look = [["sleep", 500], ["assign", [f"{BOOK}-0"]], ["poll", 500], ["commit_sync", {f"{BOOK}-0": COMMITTED_AT}]]
    return Scenario(
        title="One record, and a group",
        seed=seed,
        topics={BOOK: 1},
        programs=(
            Program("app", "operations", {"transactional_id": "one-0", "steps": steps}),
            Program("books", "consumer_operations", {"steps": look, "group_id": "books"}),
        ),
    )


# what is true of them


def step_sent(cluster: Cluster, frame: str) -> int:
    """Return the step at which the frame was sent."""
    return cluster.trace.frames[frame].sent_step


def at_frame(name: str) -> Callable[[Cluster], int]:
    """Return what finds the step at which the frame of this name was sent."""
    return lambda cluster: step_sent(cluster, name)


def count_soups(cluster: Cluster) -> str:
    """Return how often soup is in the log."""
    return TIMES[copies(cluster)]


def find_append(partition: str, number: int = -1) -> Callable[[Cluster], int]:
    """Return what finds the leader's append of this number, from 0 on; -1 is the last."""

    def step(cluster: Cluster) -> int:
        leader = cluster.controller.metadata.leader(partition)
        return [e.step for e in cluster.trace.of("append", partition) if e.node == leader][number]

    return step


def find_refusal(error: str) -> Callable[[Cluster], int]:
    """Return what finds the step of the first answer with this error."""
    return lambda cluster: next(f.sent_step for f in cluster.trace.frames.values() if f.error == error)


def describe_order(cluster: Cluster) -> str:
    """Return how the records of lab 1 are in the log."""
    values = [r.value for b in cluster.log_of(PARTITION).batches for r in b.records]
    expected = list(lab01().programs[0].args["orders"])
    return "in order" if values == expected else "out of order" if sorted(values) == sorted(expected) else "one lost"


def say_how_init_ends(cluster: Cluster) -> str:
    """Return how init_transactions() ended."""
    result = str(cluster.results["app"])
    return "it returns" if result == "initialised" else "it times out" if "Timeout" in result else "an error at once"


def compare_ids(cluster: Cluster) -> str:
    """Return whether the last producer id is that of the first InitProducerId."""
    answers = [f for f in cluster.trace.frames.values() if f.name == "InitProducerIdResponse" and f.error == "NONE"]
    ids = [answer.body.producer_id for answer in answers]
    return "none" if len(ids) < 2 else "the same id" if ids[0] == ids[-1] else "a new id"


def find_fate(cluster: Cluster) -> str:
    """Return what became of the transaction in accounts-0."""
    if cluster.outcome().committed["accounts-0"]:
        return "committed"
    mark = [e.data for e in cluster.trace.of("state", "watermark") if e.data["partition"] == "accounts-0"][-1]
    return "aborted" if mark["last_stable_offset"] == mark["high_watermark"] else "open for ever"


def say_how_commit_ends(cluster: Cluster) -> str:
    """Return how commit_transaction() ended."""
    result = str(cluster.results["app"])
    return "it returns" if result == "committed" else "it times out" if "Timeout" in result else "it is fenced"


def measure_to_end(partition: str, begin: int = 0) -> Callable[[Cluster], str]:
    """Return what says how far the end of the partition is from `begin`."""
    return lambda cluster: str(cluster.log_of(partition).high_watermark - begin)


def find_gap(cluster: Cluster) -> str:
    """Return what the offsets show of the acknowledged orders."""
    offsets = [offset for batch in cluster.log_of(PARTITION).batches for offset in batch.offsets]
    acknowledged = cluster.results["shop"]
    if len(offsets) == len(acknowledged):
        return "nothing is lost"
    return "no gap" if offsets == list(range(len(offsets))) else "a gap"


def list_seen(look: int) -> Callable[[Cluster], list[str]]:
    """Return what lists the values of the reader's look of this number."""
    return lambda cluster: [value for _, value in cluster.results["reader"][look]]


def describe_first_look(cluster: Cluster) -> str:
    """Return what the reader of lab 5 was given at its first look."""
    seen = list_seen(0)(cluster)
    return {0: "nothing", 2: "the two entries", 3: "all three"}[len(seen)]


def look_for_sorry(cluster: Cluster) -> str:
    """Return whether the reader was given the aborted record at its second look."""
    return "it gets it" if "sorry" in list_seen(1)(cluster) else "it does not"


def describe_response(cluster: Cluster) -> str:
    """Return which records the broker sent to the reader."""
    batches = cluster.trace.frames["FetchResponse#1"].body.partitions[f"{BOOK}-0"].batches
    return "aborted ones, too" if "sorry" in [r.value for b in batches for r in b.records] else "committed ones only"


def count_halves(cluster: Cluster) -> str:
    """Return how much of the transfer the reader was given at its first look."""
    return ("neither half", "one half", "both halves")[len(list_seen(0)(cluster))]
