"""The process in which one student's notebook runs: `python -m kafkalab.grading.worker`, started by `kafkalab grade`.

It reads a job from standard input and writes a line of JSON for each thing that happens to the descriptor that the job
names; whatever ends the process, the lines written before are kept. A check cell is not run: the answer is taken from
its variable. Plain data goes to the grader, who checks it where nothing of the notebook has ever run.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any

from kafkalab.grading.process_tree import adopt_orphans
from kafkalab.grading.restore import Original
from kafkalab.grading.sandbox import enter_sandbox

DATA_MAX = 100_000


def main() -> None:
    """Run the notebook from top to bottom, then end the process, with whatever threads the notebook has started."""
    job = json.load(sys.stdin)
    out = os.fdopen(os.dup(job["descriptor"]), "w", encoding="utf-8")
    os.close(job["descriptor"])

    def tell(**row: Any) -> None:
        out.write(json.dumps(row) + "\n")
        out.flush()

    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from kafkalab.grading import check as checks

    for exercise in {c["exercise"] for c in job["cells"] if c.get("exercise")}:
        checks.find(exercise)
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    shell: Any = InteractiveShell.instance(config=settings)
    shell.showtraceback = shell.showsyntaxerror = lambda *given, **named: None
    original, genuine = Original(), checks.check
    readable, hidden = ([Path(p) for p in job[name]] for name in ("readable", "hidden"))
    adopt_orphans()
    enter_sandbox(Path(job["folder"]), readable, hidden, job["memory_mb"], job["time_s"])
    tell(kind="ready")
    for cell in job["cells"]:
        tell(kind="cell", cell=cell["id"])
        if not cell.get("exercise"):
            done = shell.run_cell(cell["source"], store_history=False)
            error = done.error_before_exec or done.error_in_exec
            if error is not None:
                tell(kind="error", cell=cell["id"], error=described(error))
            continue
        changed = original.restore()
        if changed:
            tell(kind="changed", names=changed[:5])
        tell(kind="check", exercise=cell["exercise"], **verdict(genuine, cell, shell.user_ns, job["checks_here"]))
    tell(kind="end")
    os._exit(0)


def verdict(check: Any, cell: dict[str, Any], names: dict[str, Any], here: bool = False) -> dict[str, Any]:
    """Return what became of one answer: the data that the grader must check, or the result of the check made here.

    With `here` data is checked here, too: a query in SQL is a text, but it is run.
    """
    if cell["answer"] not in names:
        return {"solved": False, "part": 0.0, "reason": f"there is no variable {cell['answer']}"}
    answer = names[cell["answer"]]
    text = "" if here else as_data(answer)
    return {"data": text} if text else outcome(check, cell["exercise"], answer)


def outcome(check: Any, exercise: str, answer: Any) -> dict[str, Any]:
    """Check the answer; return whether it is right, how much of it is, and the check's own words."""
    try:
        said = check(exercise, answer)
    except (Exception, SystemExit) as error:
        part = getattr(error, "part", 0.0)
        return {"solved": False, "part": part if isinstance(part, float) else 0.0, "reason": described(error)}
    return {"solved": True, "part": 1.0, "reason": str(said)}


def as_data(answer: Any) -> str:
    """Return the answer as text if it consists of plain data; else "" (a function, a widget, a table)."""
    try:
        text = repr(answer)
        return text if len(text) <= DATA_MAX and ast.literal_eval(text) == answer and _plain(answer) else ""
    except Exception:
        return ""


def _plain(value: Any) -> bool:
    if type(value) in (list, tuple, set, frozenset):
        return all(_plain(v) for v in value)
    if type(value) is dict:
        return all(_plain(k) and _plain(v) for k, v in value.items())
    return type(value) in (str, int, float, bool, type(None), bytes, type(...))


def described(error: BaseException) -> str:
    """Return the error as a few lines for the teacher."""
    try:
        text = str(error)[:1000]
    except Exception:
        text = "an error that cannot be shown"
    told = type(error).__name__ in ("WrongAnswer", "WrongType", "WrongValue")
    return text if told else f"{type(error).__name__}: {text}".rstrip(": ")


if __name__ == "__main__":
    main()
