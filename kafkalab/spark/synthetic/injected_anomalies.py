"""The scenes of every anomaly that can be injected, by the name of its check; those of one anomaly take turns.

The check says what is found in a scene's history. It may be more than its own anomaly; nothing here says what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kafkalab.faults.fault import Fault
from kafkalab.faults.frame import Delay, Drop
from kafkalab.faults.link import Cut, Heal
from kafkalab.faults.node import Crash, Restart
from kafkalab.history.history import History
from kafkalab.protocol import rules
from kafkalab.spark.synthetic.plays import READ, Scene


def _explain_moved(why: str) -> Callable[[History], History]:
    """Say why a position moved that a seek has moved: no client of the simulator moves one without reason."""
    return lambda h: replace(h, polls=tuple(p._replace(moved=why) if p.moved == "seek" else p for p in h.polls))


def _one_read_less(h: History) -> History:
    """Leave out the second read: a consumer of the simulator returns all that it goes over."""
    return replace(h, reads=(h.reads[0], *h.reads[2:]))


def _one_read_more(h: History) -> History:
    """Repeat the last read: a consumer of the simulator returns each record once."""
    return replace(h, reads=(*h.reads, h.reads[-1]._replace(index=h.reads[-1].index + 1)))


def _stable_offset_goes_back(h: History) -> History:
    """Let the second of three stable offsets lie below the first: a leader of the simulator takes none back."""
    return replace(h, watermarks=(h.watermarks[0], h.watermarks[1]._replace(last_stable_offset=0), *h.watermarks[2:]))


UNVERIFIED = (rules.PRODUCE_EPOCH, rules.VERIFICATION, rules.SEQUENCE_GAPS)
"""Without these rules a leader takes a transactional batch that came too late."""
THREE = "i0 send out-0 a; i0 send out-0 b; i0 send out-0 c"
BEGIN = "p0 init; p0 begin"
BOTH_BEGIN = f"{BEGIN}; p1 init; p1 begin"
TAKEN = f"i0 send own-0 a; {BEGIN}; p0 poll own-0; p0 send out-0 +a own-0@0"
ALSO_TAKEN = "p1 init; p1 begin; p1 poll own-0; p1 send out-1 +a own-0@0"
"""A program reads the first record of own-0 and writes what it makes of it; it has yet to commit."""
OVERTAKEN = (Delay("Produce#1", 3_000),)
SKIP = f"i0 send out-0 a; {READ}; i0 send out-0 b; i0 send out-0 c; committed0 seek out-0 2"
AGAIN = f"{THREE}; {READ}; committed0 seek out-0 2"
IN_SYNC = ("b2", "b3")
FALLEN_BEHIND: tuple[Fault, ...] = (
    Cut("b1", IN_SYNC, at_ms=2_000),
    *(Crash(broker, at_ms=90_000) for broker in IN_SYNC),
    Heal("b1", IN_SYNC, at_ms=91_000),
    *(Restart(broker, at_ms=100_000) for broker in IN_SYNC),
)
"""The replicas in sync are lost, and the one that is elected is not in sync."""

SCENES: dict[str, tuple[Scene, ...]] = {
    "inconsistent-offsets": (  # a reader sees what only the leader has, and the leader is lost
        Scene("n0 post own-0 a; w0 poll own-0; sleep 20000; n1 send own-0 b; w1 poll own-0",
            off=(rules.HIGH_WATERMARK,), brokers=3,
            faults=(Cut("b2", ("b1", "b3"), at_ms=0), Crash("n0", at_ms=4_000), Crash("b2", at_ms=5_000))),
    ),
    "G1a": (Scene(f"{BEGIN}; p0 send out-0 a; p0 abort", off=(rules.ABORTED_FILTER,)),),
    "precommitted-read": (Scene(f"{BEGIN}; p0 send out-0 a; p0 poll out-0; p0 commit", off=(rules.LSO_BOUND,)),),
    "lost-write": (
        # A batch that no log holds is acknowledged as one that was there long ago.
        Scene("i0 post own-0 a/b; i0 post own-0 c; sleep 60000; w0 poll own-0", off=(rules.OLD_BATCHES,),
            faults=(Drop("Produce#1"),)),
        # An acknowledged record is lost with its leaders; an aborted one takes its place.
        Scene(f"i0 send own-0 a; sleep 60000; i0 send own-0 b; sleep 60000; {BEGIN}; p0 send own-0 c; p0 abort; "
            "i1 send own-0 d; w0 poll own-0", off=(rules.CLEAN_ELECTION,), brokers=3, faults=FALLEN_BEHIND),
    ),
    "unseen": (Scene("i0 send own-0 a; w0 poll own-0; i0 send own-0 b"),),
    "duplicate": (
        Scene("i0 send out-0 a; admin append out-0 a 0 0 1"),  # a copy under the next sequence
        Scene("i0 send out-0 a; i0 send out-0 a"),  # the application's own
        Scene("i0 send out-0 a; sleep 60000", off=(rules.DEDUPLICATION,), faults=(Drop("ProduceResponse#1"),)),
    ),
    "poll-skip": (Scene(SKIP, edit=_explain_moved("")), Scene(SKIP, edit=_explain_moved("rebalance"))),
    "int-poll-skip": (Scene(THREE, edit=_one_read_less),),
    "nonmonotonic-poll": (Scene(AGAIN, edit=_explain_moved("")), Scene(AGAIN)),
    "int-nonmonotonic-poll": (Scene(THREE, edit=_one_read_more),),
    "nonmonotonic-send": (
        Scene("i0 post out-0 a; i0 post out-0 b; sleep 5000", off=(rules.SEQUENCE_GAPS,), faults=OVERTAKEN),
        Scene("n0 post out-0 a; n0 post out-0 b; sleep 5000", faults=OVERTAKEN),
    ),
    "int-nonmonotonic-send": (
        Scene(f"{BEGIN}; p0 post out-0 a; p0 post out-0 b; sleep 5000; p0 commit", faults=OVERTAKEN,
            off=(rules.SEQUENCE_GAPS, rules.FIRST_SEQUENCE_ZERO, rules.LOWEST_SEQUENCE)),
    ),
    "int-send-skip": (Scene(f"{BEGIN}; p0 send out-0 a; i0 send out-0 b; p0 send out-0 c; p0 commit"),),
    "G0": (
        Scene(f"{BOTH_BEGIN}; p0 send out-0 a; p1 send out-0 b; p1 send out-1 c; p0 send out-1 d; p0 commit; "
            "p1 commit"),
    ),
    "G1c": (
        Scene(f"{BOTH_BEGIN}; p0 send own-0 a; p1 send own-1 b; p0 poll own-1; p1 poll own-0; p0 send out-0 c; "
            "p1 send out-0 d; p0 commit; p1 commit", off=(rules.LSO_BOUND,)),
        # Only the order of the log closes the circle.
        Scene(f"{BOTH_BEGIN}; p0 send out-0 a; p1 send out-0 b; p1 send own-0 c; p1 commit; p0 poll own-0; "
            "p0 send out-1 d; p0 commit"),
    ),
    "torn transaction": (
        # While a COMMIT marker is on its way, an administrator takes its transaction for a hanging one.
        Scene(f"{BEGIN}; p0 send out-0 a; p0 send out-1 b; p0 commit; admin mark out-1 ABORT 0 BUMP; sleep 5000",
            brokers=3, faults=(Delay("WriteTxnMarkers#2", 3_000),)),
        # An EndTxn that is late ends a part of the next transaction (KAFKA-17754).
        Scene(f"{BEGIN}; p0 send out-0 a; p0 send out-1 b; p0 commit; p0 begin; p0 send out-0 c; sleep 40000; "
            "p0 send out-1 d; p0 abort", off=(rules.EPOCH_PER_TRANSACTION,), faults=(Delay("EndTxn#1", 31_500),)),
        # What a producer left behind is committed with its successor's transaction.
        Scene(f"{BEGIN}; p0 send out-0 a; q0 init; q0 begin; q0 send out-0 b; q0 send out-1 c; q0 commit",
            off=(rules.ABORT_ON_INIT,)),
    ),
    "partial visibility": (  # a poll between the two markers
        Scene(f"{BEGIN}; p0 send out-0 a; p0 send out-1 b; p0 commit; {READ}; sleep 5000", brokers=3,
            faults=(Delay("WriteTxnMarkers#2", 3_000),)),
    ),
    "zombie write": (  # which an administrator aborts
        Scene(f"{BEGIN}; p0 send out-0 a; p0 commit; admin init t0; admin append out-0 b 0 0 1 t0; "
            "admin mark out-0 ABORT 0 1", off=UNVERIFIED),
    ),
    "hanging transaction": (
        Scene("admin append own-0 a 77 0 0 t0", off=UNVERIFIED),  # no coordinator has heard of the producer
        Scene(f"{BEGIN}; p0 send own-0 a; p0 commit; admin append own-0 b 0 0 1 t0", off=UNVERIFIED),
    ),
    "offset/output split": (
        # The offset is that of a record which came after the poll.
        Scene(f"{TAKEN}; i0 send own-0 b; p0 offsets own-0 2; p0 commit; w0 poll own-0"),
        # Two process the same input.
        Scene(f"{TAKEN}; {ALSO_TAKEN}; p0 offsets own-0 1; p0 commit; p1 offsets own-0 1; p1 commit"),
        # The markers of one transaction say COMMIT for the offsets and ABORT for the output.
        Scene(f"{TAKEN}; p0 offsets own-0 1; p0 commit; admin mark out-0 ABORT 1 0; sleep 5000", brokers=3,
            faults=(Delay("WriteTxnMarkers#2", 3_000),)),
    ),
    "sequence gap": (
        Scene("i0 send out-0 a; admin append out-0 b 0 0 2", off=(rules.SEQUENCE_GAPS,)),
        Scene("i0 send out-0 a; admin append out-0 b 0 0 0", off=(rules.SEQUENCE_GAPS, rules.DEDUPLICATION)),
    ),
    "LSO regression": (Scene(THREE, edit=_stable_offset_goes_back),),
    "marker without decision": (Scene(f"{BEGIN}; p0 send out-0 a; admin mark out-0 COMMIT 0 0; p0 commit"),),
    "decision without marker": (
        Scene(f"{BEGIN}; p0 send own-0 a; p0 commit; sleep 60000", off=(rules.REDRIVE_PREPARE,), brokers=3,
            faults=(Drop("WriteTxnMarkers#1"), Crash("b1", at_ms=5_500))),
    ),
    "exactly-once": (
        Scene(f"{TAKEN}; p0 commit; {ALSO_TAKEN}; p1 offsets own-0 1; p1 commit"),  # twice
        Scene(f"i1 send own-0 b; {TAKEN}; p0 offsets own-0 2; p0 commit"),  # one of two not at all
        Scene(f"{TAKEN}; p0 abort"),  # not yet
    ),
}  # fmt: skip
