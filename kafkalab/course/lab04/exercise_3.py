"""L4.E3: how many records a dump of a log holds, and what became of them; the learner's function, and mutants of it."""

from __future__ import annotations

from functools import cache, partial

from kafkalab.course.lab04.dumps import Row, Story, dump, scenario, story
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.sim.cluster import Cluster, ran

FORM = 'a function count(dump) that returns a dict with "committed", "aborted" and "open"'
CLEANED = ("", "compacted", "deleted", "compacted")
DUMPS = 24
Counts = dict[str, int]
FIXED = (
    Story(((7, ("tea", "bun")), (7, False), (None, ("cake",)), (7, ("bun", "cake")), (7, True), (8, ("tea",))), ""),
    Story(((7, ("tea", "bun", "tea")), (7, True), (None, ("bun", "cake")), (8, ("tea",)), (8, False)), "compacted"),
)
"""Among the dumps of every seed: a producer that aborts and then commits, and a batch that is thinned."""


@cache
def _list_dumps(of_seed: int) -> tuple[tuple[list[Row], Counts, Story], ...]:
    """Each dump, what is true of it, and its story; what is open is aborted in one run and committed in another."""
    random = random_for("L4.E3", of_seed)
    found: list[tuple[list[Row], Counts, Story]] = []
    while len(found) < DUMPS:
        told = FIXED[len(found)] if len(found) < len(FIXED) else story(random, CLEANED[len(found) % len(CLEANED)])
        aborting, committing = ran(scenario(told)), ran(scenario(told, ends=True))
        rows = dump(aborting, told)
        committed, either = _read(aborting, "read_committed"), _read(committing, "read_committed")
        all_of_them = _read(aborting, "read_uncommitted")
        if rows:
            counts = {"committed": committed, "aborted": all_of_them - either, "open": either - committed}
            found.append((rows, counts, told))
    return tuple(found)


def _read(cluster: Cluster, level: str) -> int:
    return len(cluster.results[level][0])


def cases(of_seed: int) -> tuple[Case, ...]:
    """The dumps, each a list of batches."""
    return tuple((rows,) for rows, _, _ in _list_dumps(of_seed))


def truth(rows: list[Row]) -> Counts:
    """Return what consumers read in the runs that this dump comes from."""
    return next(counts for known, counts, _ in _list_dumps(seed()) if known == rows)


def count_records(
    rows: list[Row],
    *,
    by_offsets: bool = False,
    markers: bool = False,
    any_marker: bool = False,
    last_marker: bool = False,
    unmarked: str = "open",
    plain: str = "committed",
) -> Counts:
    """The counts with some of the rules switched; with none they are those of the runs, which a test says."""
    found = {"committed": 0, "aborted": 0, "open": 0}
    for place, row in enumerate(rows):
        records = row["lastOffset"] - row["baseOffset"] + 1 if by_offsets else row["count"]
        if row["isControl"] and not markers:
            continue
        later = [r["endTxnMarker"] for r in rows[place:] if r["isControl"]
                 and (any_marker or r["producerId"] == row["producerId"])]  # fmt: skip
        fate = unmarked
        if not row["isTransactional"]:
            fate = plain
        elif later:
            fate = {"COMMIT": "committed", "ABORT": "aborted"}[later[-1 if last_marker else 0]]
        found[fate] += records
    return found


def all_committed(rows: list[Row]) -> Counts:
    """Every batch but the markers is committed."""
    return count_records([{**row, "isTransactional": False} for row in rows])


def places(rows: list[Row]) -> Counts:
    """Every place is a committed record."""
    return count_records([{**row, "isTransactional": False} for row in rows], by_offsets=True, markers=True)


MUTANTS = (
    Mutant("places", "each place in the log were a committed record", places, hint=0),
    Mutant("all committed", "everything in a log were committed", all_committed, hint=1),
    Mutant(
        "by offsets", "a batch held a record for each of its offsets", partial(count_records, by_offsets=True),
        hint="After compaction a batch keeps its offsets and has fewer records. Which field says how many are left?",
    ),
    Mutant("markers are records", "a marker were a record", partial(count_records, markers=True), hint=0),
    Mutant("any marker", "any marker decided for every producer", partial(count_records, any_marker=True), hint=1),
    Mutant(
        "the last marker", "a producer's last marker decided all of its transactions",
        partial(count_records, last_marker=True), hint=1,
    ),
    Mutant(
        "no marker is committed", "a record without a marker yet were "
        "committed", partial(count_records, unmarked="committed"),
        hint="A transaction without a marker is not decided yet. What is it called?",
    ),
    Mutant(
        "no marker is aborted", "a record without a marker yet were "
        "aborted", partial(count_records, unmarked="aborted"),
        hint="A transaction without a marker is not decided yet. What is it called?",
    ),
    Mutant(
        "plain is open", "records outside of transactions waited for a marker", partial(count_records, plain="open"),
        hint="A batch with isTransactional false waits for no marker. What is it to a read_committed consumer?",
    ),
)  # fmt: skip


def show_case(rows: list[Row]) -> Counterexample:
    """The tape of the dump's log, before what is open in it was ended."""
    told = next(story_ for known, _, story_ in _list_dumps(seed()) if known == rows)
    cluster = ran(scenario(told))
    last = rows[-1]["lastOffset"]
    ends = [e.step for e in cluster.trace.of("append") if e.name.startswith("orders") and e.data.base_offset > last]
    return {"run": cluster, "step": min(ends, default=cluster.trace.steps) - 1, "view": "LogTape"}


def _examples(of_seed: int) -> list[list[Row]]:
    """A dump of a whole log, which another seed has not, and one from which compaction has taken records of a batch."""
    dumps = [rows for rows, _, _ in _list_dumps(of_seed)]
    thinned = (rows for rows in dumps if count_records(rows) != count_records(rows, by_offsets=True))
    return [dumps[len(FIXED)], next(thinned, dumps[1])]


EXERCISE = Exercise(
    "L4.E3",
    lambda answer: against_mutants(answer, truth, MUTANTS, cases(seed()), FORM, show_case),
    (
        "Go through the batches. A batch with isControl true is a marker: it holds no record.",
        "The next marker with the same producerId decides a transactional batch. If there is none, the batch is open.",
        "For each batch with isControl false add its `count`: to committed if isTransactional is false or the next "
        "marker of its producer says COMMIT, to aborted if that says ABORT, to open if there is none.",
    ),
    points=8,
    misses=hints_of(MUTANTS),
    questions=(4, 5),
    question=_examples,
    afterwards=(
        "Why: only `count` counts records, and only the next marker of the same producer decides. A gap between two "
        "batches comes from cleaning, and shows no loss. Next: lab 5, and what a reader waits for."
    ),
)
