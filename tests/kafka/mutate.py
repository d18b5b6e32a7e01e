"""Break single lines of the broker and ask the recordings alone whether they notice.

A mutation that no recording notices changes no answer that a script asks for: write the script that sees it, or give
the reason in mutations.json why no answer changes.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import FrameType

from tests.kafka.differences import compare, find_unexplained
from tests.kafka.lab_side import run
from tests.kafka.mutations import read_mutations
from tests.kafka.script import HERE, belongs, read_recorded, scripts_of

ROOT = HERE.parents[1]
PARTS = ("kafkalab/broker/handlers",)
CHANGES = (
    (r" == ", " != "), (r" != ", " == "), (r" is not ", " is "), (r" is (?!not )", " is not "),
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" and ", " or "), (r" or ", " and "), (r"\bnot (?!in\b)", ""), (r" \+ 1\b", ""),
    (r"\bError\.(?!NONE)[A-Z_]+", "Error.NONE"), (r"\bTrue\b", "False"), (r"\bFalse\b", "True"),
)  # fmt: skip
"""A pattern and what replaces its first match in a line."""
UNCHANGED = ("#", "from ", "import ", "assert ", "raise ", "class ", "@")
TIMEOUT_S = 3600


@dataclass(frozen=True, slots=True)
class Mutation:
    """One changed line of a file."""

    file: str
    number: int
    line: str
    changed: str

    def write(self, root: Path) -> str:
        """Change the line in the copy below `root` and return the text of the file before."""
        path = root / self.file
        before = path.read_text("utf-8")
        lines = before.splitlines(keepends=True)
        lines[self.number - 1] = self.changed + "\n"
        path.write_text("".join(lines), "utf-8")
        return before


def mutations(parts: Sequence[str] = PARTS) -> list[Mutation]:
    """Return every mutation of the folders, in the order of their files and lines."""
    files = sorted(f for part in parts for f in (ROOT / part).rglob("*.py"))
    return [m for file in files for m in _of_file(str(file.relative_to(ROOT)), file.read_text("utf-8"))]


def _of_file(file: str, text: str) -> Iterator[Mutation]:
    strings = {n for node in ast.walk(ast.parse(text)) if _is_text(node) for n in _lines(node)}
    for number, line in enumerate(text.splitlines(), 1):
        if number in strings or line.strip().startswith(UNCHANGED) or "__" in line or " -> " in line:
            continue
        for pattern, other in CHANGES:
            changed = re.sub(pattern, other, line, count=1)
            if changed != line:
                yield Mutation(file, number, line, changed)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _lines(node: ast.AST) -> range:
    assert isinstance(node, ast.Expr)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def draw(count: int, seed: int, parts: Sequence[str] = PARTS) -> list[Mutation]:
    """Return `count` mutations by chance, at most one a line; the same ones for the same seed."""
    found = mutations(parts)
    Random(seed).shuffle(found)
    return list({(m.file, m.number): m for m in reversed(found)}.values())[::-1][:count]


def visits(recordings: Sequence[str], files: set[str]) -> dict[tuple[str, int], list[tuple[str, str]]]:
    """Return the scripts, each with its recording, that call a function of the files, by file and first line."""
    found: dict[tuple[str, int], list[tuple[str, str]]] = {}
    called: set[tuple[str, int]] = set()
    wanted = {str(ROOT / file): file for file in files}

    def note_call(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename in wanted:
            called.add((wanted[code.co_filename], code.co_firstlineno))

    for recording in recordings:
        for script in (s for s in scripts_of() if belongs(s, recording)):
            called.clear()
            sys.settrace(note_call)
            try:
                run(script, recording)
            finally:
                sys.settrace(None)
            for place in called:
                found.setdefault(place, []).append((recording, script["name"]))
    return found


def _reaching(mutation: Mutation, by_function: dict[tuple[str, int], list[tuple[str, str]]]) -> list[tuple[str, str]]:
    """Return the scripts that call the function of the line, or any of the file if the line is in none."""
    function = _function_of(mutation)
    found = [s for (f, line), s in by_function.items() if f == mutation.file and function in (None, line)]
    reached = list(dict.fromkeys(script for scripts in found for script in scripts))
    Random(mutation.number).shuffle(reached)  # those that notice it lie together in one family
    return reached


def _function_of(mutation: Mutation) -> int | None:
    """Return the first line of the innermost function around the line, with its decorators; None outside of any."""
    tree = ast.parse((ROOT / mutation.file).read_text("utf-8"))
    around = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    lines = [_first(n) for n in around if _first(n) <= mutation.number <= (n.end_lineno or 0)]
    return max(lines, default=None)


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


def noticed_by(mutation: Mutation, root: Path, scripts: list[tuple[str, str]]) -> str:
    """Return "RECORDING SCRIPT" of the first script whose answers differ in the copy below `root`, or ""."""
    before = mutation.write(root)
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "tests.kafka.mutate"]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, timeout=TIMEOUT_S,
            input=json.dumps(scripts), text=True,
        )  # fmt: skip
        return (done.stdout.strip() or "does not run") if done.returncode else ""
    except subprocess.TimeoutExpired:
        return "does not end"
    finally:
        (root / mutation.file).write_text(before, "utf-8")


def _first_that_differs(scripts: list[tuple[str, str]]) -> str:
    known = {s["name"]: s for s in scripts_of()}
    recordings = {r: read_recorded(r) for r, _ in scripts}
    for recording, name in scripts:
        if find_unexplained(compare(recording, [known[name]], recordings[recording])):
            return f"{recording} {name}"
    return ""


def mutate(count: int, seed: int, parts: Sequence[str], recordings: Sequence[str]) -> list[dict[str, str]]:
    """Try `count` mutations one after the other in a copy, print each, and return them as rows of mutations.json."""
    reasons = {(r["file"], r["line"], r["changed"]): r["why"] for r in read_mutations() if "why" in r}
    chosen, rows = draw(count, seed, parts), []
    by_function = visits(recordings, {m.file for m in chosen})
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for tree in ("kafkalab", "tests/kafka", "data/recorded"):
            shutil.copytree(ROOT / tree, root / tree, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        for number, one in enumerate(chosen, 1):
            reached = _reaching(one, by_function)
            by = noticed_by(one, root, reached) if reached else ""
            row = {"file": one.file, "line": one.line.strip(), "changed": one.changed.strip()}
            rows.append(row | ({"by": by} if by else {"why": reasons.get((one.file, row["line"], row["changed"]), "")}))
            verdict = by or f"NOT NOTICED by {len(reached)} scripts that reach it"
            print(f"{number:3} {one.file}:{one.number} | {row['line']} -> {row['changed']} | {verdict}", flush=True)
    return rows


if __name__ == "__main__":
    differs = _first_that_differs(json.load(sys.stdin))
    print(differs)
    sys.exit(bool(differs))
