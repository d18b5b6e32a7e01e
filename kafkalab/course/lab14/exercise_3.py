"""L14.E3: which version of a row a snapshot sees; the learner's function beside the model's, and mutants of it."""

from __future__ import annotations

from functools import cache, partial
from random import Random
from typing import Any, TypeAlias

from kafkalab.alternatives.mvcc import ABORTED, COMMITTED, IN_PROGRESS, Snapshot, Version, visible
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.grading.tables import Table

FORM = "a function visible(version, snapshot, status) that returns True or False"
CASES = 300
Facts: TypeAlias = dict[str, Any]


def reference(version: Facts, snapshot: Facts, status: dict[int, str]) -> bool:
    """Return what the table of kafkalab/alternatives/mvcc.py shows."""
    taken = Snapshot(snapshot["xmax"], tuple(snapshot["running"]), snapshot["own"])
    return visible(Version("row", 0, version["xmin"], version["xmax"]), taken, status)


def is_visible(
    version: Facts, snapshot: Facts, status: dict[int, str], *, running: bool = True, later: bool = True,
    own: bool = True, undone: bool = True, crashed: bool = True, replaced: bool = True, deleter: bool = True,
) -> bool:  # fmt: skip
    """The rule with some of its parts switched off; with none it is the reference, which a test says."""

    def counts(xid: int, careful: bool = True) -> bool:
        if own and xid == snapshot["own"] and xid:
            return True
        if later and careful and xid >= snapshot["xmax"]:
            return False
        if running and careful and xid in snapshot["running"]:
            return False
        if not undone:
            return True
        return status.get(xid) == COMMITTED or (not crashed and status.get(xid, IN_PROGRESS) == IN_PROGRESS)

    if not counts(version["xmin"]):
        return False
    if not replaced or version["xmax"] == 0:
        return True
    return not (counts(version["xmax"], careful=deleter))


def is_visible_undeleted(version: Facts, snapshot: Facts, status: dict[int, str]) -> bool:
    """The rule of one for whom an xmax is the end, whoever has set it."""
    return is_visible({**version, "xmax": 0}, snapshot, status) and version["xmax"] == 0


MUTANTS = (
    Mutant("xmax is the end", "a version were gone as soon as it has an xmax", is_visible_undeleted, hint=1),
    Mutant("xmax means nothing", "a version were never replaced", partial(is_visible, replaced=False), hint=1),
    Mutant("running counts", "transactions that ran when the snapshot was taken counted",
           partial(is_visible, running=False), hint=0),
    Mutant("later counts", "transactions that began after the snapshot counted",
           partial(is_visible, later=False), hint=0),
    Mutant("aborted counts", "aborted transactions counted", partial(is_visible, undone=False),
           hint="An abort removes nothing: the version is still there. Which status must its maker have?"),
    Mutant("not aborted is committed", "a transaction without a status were committed",
           partial(is_visible, crashed=False),
           hint="The server crashed, and no log says how that transaction ended. It no longer runs. Did it commit?"),
    Mutant("not its own", "a transaction did not see its own changes", partial(is_visible, own=False),
           hint="`own` is the id of the transaction that looks. It must see its own changes, although it has not "
           "committed yet."),
    Mutant("a replacer at any time", "the transaction that replaced a version counted at once, even after the snapshot",
           partial(is_visible, deleter=False),
           hint="Ask the same of the replacer as of the maker: had it ended, committed, when the snapshot was "
           "taken?"),
)  # fmt: skip


def _case(random: Random) -> Case:
    ids = list(range(100, 108))
    status = {xid: random.choice((COMMITTED, COMMITTED, ABORTED, IN_PROGRESS)) for xid in ids}
    for xid in random.sample(ids, 2):
        del status[xid]
    taken = random.randint(102, 108)
    running = [xid for xid in ids if xid < taken and random.random() < 0.3]
    own = random.choice((0, 0, random.choice(ids)))
    if own:
        status[own] = IN_PROGRESS
    version = {"xmin": random.choice(ids), "xmax": random.choice((0, random.choice(ids), random.choice(ids)))}
    return version, {"xmax": taken, "running": running, "own": own}, status


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """A version, a snapshot, and what the commit log says of each transaction."""
    random = random_for("L14.E3", of_seed)
    return tuple(_case(random) for _ in range(CASES))


def rows_of(given: Any, version: Facts, snapshot: Facts, status: dict[int, str]) -> Table:
    """The case as rows: who made and who replaced the version, and what the snapshot and the commit log say of them."""
    rows = []
    for name in ("xmin", "xmax"):
        xid = version[name]
        when = "its own" if xid and xid == snapshot["own"] else "running" if xid in snapshot["running"] else ""
        when = when or ("began later" if xid >= snapshot["xmax"] else "had ended" if xid else "nobody")
        rows.append((name, xid, when, status.get(xid, "no entry") if xid else ""))
    title = f"The snapshot has xmax {snapshot['xmax']}, running {snapshot['running']}. Your function says {given!r}."
    return Table(title=title, columns=("field", "id", "for the snapshot", "commit log"), rows=tuple(rows))


EXERCISE = Exercise(
    "L14.E3",
    lambda answer: against_mutants(answer, reference, MUTANTS, cases(seed()), FORM, rows_of=rows_of),
    (
        "Write a small function first: do the changes of transaction `xid` count for this snapshot? It must have ended "
        "before the snapshot, and committed.",
        "A version is seen if its maker counts and its replacer does not. If xmax is 0, no transaction replaced it; "
        "and a replacer that aborted, or does not count yet, has replaced nothing.",
        "counts(xid): True if it is `own`; else False if xid >= snapshot xmax, or in running; else whether status says "
        "committed. No entry means: it crashed. visible: counts(xmin) and not (xmax and counts(xmax)).",
    ),
    points=7,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: cases(of_seed)[:3],
    afterwards=(
        "Why: when a transaction ends, nothing is moved or removed. One word in the commit log decides about all "
        "versions with its id. Kafka's marker is that word, one for each partition. Next: any lab that is left, with "
        "the same question: who decides, and where is it written?"
    ),
)
