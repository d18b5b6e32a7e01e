"""The table of who decides, who waits, who can finish, and what is undone: each cell of the table is found by runs.

A cell is a word of `WORDS`, and the run that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kafkalab.alternatives.presses import MODELS, Transfer, crashed_at, run, run_shared_press
from kafkalab.alternatives.world import Entry

COLUMNS = ("decided by", "blocks", "survivors finish", "undo")
WORDS = {
    "decided by": ("one log", "one log after votes", "a replicated log", "a majority"),
    "blocks": ("nobody", "the parts", "everybody"),
    "survivors finish": ("yes", "no", "nobody is left"),
    "undo": ("old values", "nothing", "the tail"),
}
"""For each column its words."""
SLOW_MS = 1_000
"""A decision that takes longer than this waits for a copy that is down."""


@dataclass(frozen=True)
class Cell:
    """The word for a machine in one column, the run that shows it, the step that decides, and a sentence."""

    word: str
    run: Transfer
    step: int
    says: str


@cache
def cell(model: str, column: str, seed: int = 1) -> Cell:
    """Fill one cell of the table by runs. ValueError for a machine or a column that does not exist."""
    if model not in MODELS or column not in COLUMNS:
        raise ValueError(f"no cell {(model, column)!r}; there are {', '.join(MODELS)}, and {', '.join(COLUMNS)}")
    finders = {"decided by": _decided_by, "blocks": _blocks, "survivors finish": _finish, "undo": _undo}
    return finders[column](model, seed)


@cache
def deciding_step(model: str, seed: int = 1) -> tuple[int, Transfer]:
    """The first step after which the transaction commits although coordinator and client crash; and that crashed run.

    Where no survivor decides, the coordinator starts again.
    """
    whole = run(model, seed=seed)
    for step in range(whole.moments["asked"], whole.moments["told"] + 1):
        if whole.trace.events[step].kind not in ("append", "state"):
            continue
        crashed = crashed_at(model, step, again=model in ("two-phase commit", "MVCC"), seed=seed)
        if "committed" in crashed.parts.values():
            return step, crashed
    raise AssertionError(f"no step of {model} decides")


def _decided_by(model: str, seed: int) -> Cell:
    """One log or several; of several, whether the decision waits for a copy that is down."""
    step, crashed = deciding_step(model, seed)
    votes = any(frame.name == "Vote" for frame in crashed.trace.frames.values())
    copies = _copies(run(model, seed=seed), step)
    if copies == 1:
        word = "one log after votes" if votes else "one log"
        says = f"It is decided when {copies} log has it" + (", after every vote." if votes else ".")
        return Cell(word, crashed, step, says)
    waits = run(model, (("other", "written"),), seed=seed)
    took = _at(waits, "decided") - _at(waits, "asked")
    word = "a replicated log" if took > SLOW_MS else "a majority"
    return Cell(word, waits, waits.moments["decided"], f"{copies} logs have it; with a copy down it takes {took} ms.")


def _copies(whole: Transfer, step: int) -> int:
    """Return how many logs have the deciding entry at the step, or, if replicated, at the next appends of the same."""
    deciding = whole.trace.events[step]
    if deciding.kind == "append" and isinstance(deciding.data, Entry):
        same = [e for e in whole.trace.events[: step + 1] if e.kind == "append" and e.data == deciding.data]
        return len({e.node for e in same})
    entry = max(e.step for e in whole.trace.events[: step + 1] if e.kind == "append" and e.name.startswith("__"))
    data = whole.trace.events[entry].data
    same = [e for e in whole.trace.events[: step + 1] if e.kind == "append" and e.data == data]
    return len({e.node for e in same})


def _at(done: Transfer, moment: str) -> int:
    return done.trace.events[done.moments[moment]].at_ms


def _blocks(model: str, seed: int) -> Cell:
    done = run_shared_press(model, "coordinator", seed=seed)
    last = len(done.trace.events) - 1
    if done.waiting:
        first = next(e.step for e in done.trace.events if (e.kind, e.name) == ("state", "in doubt"))
        return Cell("the parts", done, first, f"{' and '.join(done.waiting)} keep their locks and ask, for ever.")
    if all(state == "down" for state in done.parts.values()):
        return Cell("everybody", done, last, "There is one server, and it is down.")
    return Cell("nobody", done, last, "Another process takes over and finishes.")


def _finish(model: str, seed: int) -> Cell:
    done = run_shared_press(model, "coordinator and participant", seed=seed)
    last = len(done.trace.events) - 1
    states = [state for state in done.parts.values() if state != "down"]
    if not states:
        return Cell("nobody is left", done, last, "Nobody is left to finish anything.")
    if "in doubt" in states:
        return Cell("no", done, last, f"{' and '.join(done.waiting)} cannot know, or may not decide alone.")
    return Cell("yes", done, done.moments["told"], "Who is left finishes what the log says.")


def _undo(model: str, seed: int) -> Cell:
    """Return what an abort does to what was written; a broadcast has none, only a proposal lost with its leader."""
    if model == "atomic broadcast":
        done = run(model, (("coordinator", "asked"),), again=True, seed=seed)
    else:
        done = run_shared_press(model, "abort", seed=seed)
    for e in done.trace.events:
        if e.kind == "truncate" and done.world is not None:
            return Cell("the tail", done, e.step, f"{e.node} discards the end of its log.")
        if (e.kind, e.name) == ("state", "undo"):
            return Cell("old values", done, e.step, f"{e.node} {e.data['says']}.")
    return Cell("nothing", done, done.moments["decided"], "What was written stays; readers leave it out.")


def matrix(seed: int = 1) -> dict[str, dict[str, str]]:
    """The whole table: by machine and column the word."""
    return {model: {column: cell(model, column, seed).word for column in COLUMNS} for model in MODELS}
