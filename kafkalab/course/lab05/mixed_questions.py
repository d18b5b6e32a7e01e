"""The questions of L5.E4, over labs 0 to 5: each has its own choices, a run, and a belief for each wrong choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafkalab.course.lab00.scenario import lab00
from kafkalab.course.lab01.scenario import lab01
from kafkalab.course.lab03.scenario import lab03
from kafkalab.course.lab05.mixed_runs import (
    COMMITTED_AT,
    TIMES,
    at_frame,
    compare_ids,
    count_halves,
    count_soups,
    crash_after_the_decision,
    crash_before_the_end,
    describe_first_look,
    describe_order,
    describe_response,
    find_append,
    find_fate,
    find_gap,
    find_refusal,
    look_for_sorry,
    lose_order,
    measure_to_end,
    replace_coordinator,
    restart,
    say_how_commit_ends,
    say_how_init_ends,
    start_one_broker,
    write_one_record,
)
from kafkalab.course.lab05.scenario import lab05, two_accounts
from kafkalab.faults.frame import Delay, Drop
from kafkalab.programs.orders import PARTITION
from kafkalab.programs.readers import BOOK
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario
from kafkalab.sim.scenario_names import SCENARIOS


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Hold one question: its lab, text, choices, run, the truth, the step that shows it, and the advice where to look.

    `beliefs` maps each wrong choice to the belief that leads to it.
    """

    lab: int
    says: str
    words: tuple[str, ...]
    run: Callable[[int], Scenario]
    truth: Callable[[Cluster], str]
    step: Callable[[Cluster], int]
    look: str
    beliefs: Mapping[str, str]


QUESTIONS: tuple[Situation, ...] = (
    Situation(
        lab=0,
        says="A producer uses acks=1 and no idempotence. The response to soup is lost, and it sends soup again. How "
        "often is soup in the log?",
        words=TIMES,
        run=lambda seed: lab00(seed).with_faults(Drop("ProduceResponse#1")),
        truth=count_soups,
        step=find_append(PARTITION),
        look="Had the leader appended soup before the response was lost? What could show it that the second is a copy?",
        beliefs={"never": "no answer, no record", "once": "a retry is recognised"},
    ),
    Situation(
        lab=0,
        says="The same producer, but the request with soup is lost. How often is soup in the log?",
        words=TIMES,
        run=lambda seed: lab00(seed).with_faults(Drop("Produce#1")),
        truth=count_soups,
        step=find_append(PARTITION),
        look="What did the leader receive? Count the arrivals, not the requests.",
        beliefs={"never": "no answer, no record", "twice": "a retry is a copy"},
    ),
    Situation(
        lab=1,
        says="An idempotent producer. The response to soup is lost, and it sends soup again. How often is soup in the "
        "log?",
        words=TIMES,
        run=lambda seed: lab01(orders=("soup",), seed=seed).with_faults(Drop("ProduceResponse#1")),
        truth=count_soups,
        step=at_frame("ProduceResponse#2"),
        look="Compare the sequence numbers of the two requests. What does the leader answer to the second?",
        beliefs={"never": "no answer, no record", "twice": "a retry is a copy"},
    ),
    Situation(
        lab=1,
        says="An idempotent producer's process crashes before it gets the response to soup. It is started again, and "
        "its program sends soup again. How often is soup in the log?",
        words=TIMES,
        run=restart,
        truth=count_soups,
        step=find_append(PARTITION),
        look="Compare the producer ids of the two batches.",
        beliefs={"never": "no answer, no record", "once": "idempotence outlives the process"},
    ),
    Situation(
        lab=1,
        says="An idempotent producer has two batches in flight. The first of them is lost, and the leader refuses the "
        "second with OUT_OF_ORDER_SEQUENCE_NUMBER. How are the records in the log in the end?",
        words=("in order", "out of order", "one lost"),
        run=lambda seed: lab01(seed=seed).with_faults(Drop("Produce#2")),
        truth=describe_order,
        step=find_refusal("OUT_OF_ORDER_SEQUENCE_NUMBER"),
        look="What does the producer send again after the refusal, and in which order?",
        beliefs={"out of order": "idempotence keeps no order", "one lost": "a refused batch is lost"},
    ),
    Situation(
        lab=2,
        says="A new cluster has one broker and default settings. A program calls init_transactions(). What happens?",
        words=("it returns", "it times out", "an error at once"),
        run=start_one_broker,
        truth=say_how_init_ends,
        step=find_refusal("INVALID_REPLICATION_FACTOR"),
        look="How many copies of __transaction_state does the broker ask for?",
        beliefs={"it returns": "defaults fit one broker", "an error at once": "the client hears the reason"},
    ),
    Situation(
        lab=2,
        says="A program has called init_transactions(). Its coordinator crashes. The program is started again and "
        "calls init_transactions() under the same name. Which producer id does it get?",
        words=("the same id", "a new id", "none"),
        run=replace_coordinator,
        truth=compare_ids,
        step=lambda cluster: [e.step for e in cluster.trace.of("complete", "init_transactions")][-1],
        look="Where is the id stored, and how many copies does that log have?",
        beliefs={"a new id": "state dies with its broker", "none": "state dies with its broker"},
    ),
    Situation(
        lab=3,
        says="A program has written all records of a transaction, and crashes before it sends EndTxn. It never comes "
        "back. What becomes of the transaction?",
        words=("committed", "aborted", "open for ever"),
        run=crash_before_the_end,
        truth=find_fate,
        step=find_append("accounts-0"),
        look="Which clock still runs when the client is gone?",
        beliefs={"committed": "written is committed", "open for ever": "only the client ends it"},
    ),
    Situation(
        lab=3,
        says="A program crashes after its coordinator has stored PrepareCommit, and before it gets the answer. What "
        "becomes of the transaction?",
        words=("committed", "aborted", "open for ever"),
        run=crash_after_the_decision,
        truth=find_fate,
        step=find_append("accounts-0"),
        look="Who sends the markers, and does it need the program for that?",
        beliefs={"aborted": "the client has to hear it", "open for ever": "only the client ends it"},
    ),
    Situation(
        lab=3,
        says="The response to EndTxn(COMMIT) is lost. The client asks again. How does commit_transaction() end?",
        words=("it returns", "it times out", "it is fenced"),
        run=lambda seed: lab03(seed=seed).with_faults(Drop("EndTxnResponse#1")),
        truth=say_how_commit_ends,
        step=at_frame("EndTxnResponse#2"),
        look="What does a coordinator answer to a request for the decision that it has already made?",
        beliefs={"it times out": "the client has to hear it", "it is fenced": "asking again is refused"},
    ),
    Situation(
        lab=4,
        says="A transaction with one record is committed in an empty partition. What is the end offset then?",
        words=("1", "2", "3"),
        run=write_one_record,
        truth=measure_to_end(f"{BOOK}-0"),
        step=find_append(f"{BOOK}-0"),
        look="Count the places in the log, not the records.",
        beliefs={"1": "offsets count records", "3": "a transaction begins in the log"},
    ),
    Situation(
        lab=4,
        says="tea and bun are committed in one transaction, cake is aborted in a second, soup is committed in a third. "
        "How much is the end offset minus the beginning?",
        words=("3", "4", "7"),
        run=lambda seed: SCENARIOS["lab04"](seed=seed),
        truth=measure_to_end(PARTITION),
        step=find_append(PARTITION),
        look="What is at each place of the log?",
        beliefs={"3": "an abort deletes", "4": "offsets count records"},
    ),
    Situation(
        lab=4,
        says="A producer with acks=1 writes four orders. A cut-off leader acknowledges the third alone, and crashes. "
        "What do the offsets in the log show?",
        words=("a gap", "no gap", "nothing is lost"),
        run=lose_order,
        truth=find_gap,
        step=find_append(PARTITION),
        look="Which offset does the next leader give to the fourth order?",
        beliefs={"a gap": "a loss leaves a gap", "nothing is lost": "acknowledged is safe"},
    ),
    Situation(
        lab=4,
        says="A partition holds one committed record. Its consumer group has read it, and has committed the offset "
        "after it. What does kafka-consumer-groups.sh print as LAG?",
        words=("0", "1", "2"),
        run=write_one_record,
        truth=measure_to_end(f"{BOOK}-0", COMMITTED_AT),
        step=at_frame("OffsetCommit#1"),
        look="What comes after the record in the log?",
        beliefs={"0": "offsets count records", "2": "a transaction begins in the log"},
    ),
    Situation(
        lab=5,
        says="slow has written a record and has not decided. quick has written two more after it, and committed. What "
        "does a read_committed consumer get?",
        words=("nothing", "the two entries", "all three"),
        run=lambda seed: lab05(seed=seed),
        truth=describe_first_look,
        step=at_frame("ListOffsetsResponse#1"),
        look="Where is the last stable offset at that moment?",
        beliefs={"the two entries": "committed is visible", "all three": "the consumer keeps records back"},
    ),
    Situation(
        lab=5,
        says="A transaction with the record sorry is aborted. Later a read_uncommitted consumer reads from the "
        "beginning. Does it get sorry?",
        words=("it gets it", "it does not"),
        run=lambda seed: lab05("read_uncommitted", seed=seed),
        truth=look_for_sorry,
        step=lambda cluster: [e.step for e in cluster.trace.of("complete", "poll")][-1],
        look="What does an abort write, and what does it remove?",
        beliefs={"it does not": "an abort deletes"},
    ),
    Situation(
        lab=5,
        says="A read_committed consumer fetches from a partition with committed and aborted records. Which records "
        "does the broker send?",
        words=("committed ones only", "aborted ones, too"),
        run=lambda seed: lab05(seed=seed),
        truth=describe_response,
        step=at_frame("FetchResponse#1"),
        look="Open the response and look at its batches.",
        beliefs={"committed ones only": "the broker filters"},
    ),
    Situation(
        lab=5,
        says="A transfer writes one half to each of two partitions, and is committed. The marker of one of them comes "
        "late. What does a read_committed consumer see meanwhile?",
        words=("both halves", "one half", "neither half"),
        run=lambda seed: two_accounts(seed).with_faults(Delay("WriteTxnMarkers#1", 1_000)),
        truth=count_halves,
        step=lambda cluster: next(e.step for e in cluster.trace.of("complete", "poll")),
        look="Each partition has its own marker. Which last stable offsets have moved by then?",
        beliefs={"both halves": "a transaction is seen whole", "neither half": "a transaction is seen whole"},
    ),
)
