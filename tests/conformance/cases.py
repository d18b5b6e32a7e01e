"""Write docs/cases.md: every conformance case, by its id, with the sentences that tests of that id hold to be true.

`python -m tests.conformance.cases`, in the project's folder, writes the page; test_every_case.py compares.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path("docs") / "cases.md"
FOLDERS = ("conformance", "broker")
AREAS = {
    "PSM": "What a leader remembers of a producer",
    "LOG": "Appends, last stable offset, verification, restarts of a partition's log",
    "IDX": "The index of aborted transactions",
    "CLN": "Compaction with transactions",
    "MD": "The metadata of a transactional id",
    "TC": "What the transaction coordinator answers",
    "TSM": "The transaction coordinator's log and cache",
    "TMC": "Markers on their way",
    "AP": "Verification of partitions",
    "OFF": "Offsets of groups",
    "TXN": "Transactions end to end",
    "CL": "The producer's transaction manager",
    "CFG": "Settings of the producer",
    "CON": "What the consumer delivers",
    "LEG": "Kafka 0.11 and 1.0",
}
NAMED = re.compile(rf"(?<![A-Z])({'|'.join(AREAS)})[-_](\d\d)(?!\d)", re.IGNORECASE)
TOP = """\
# Conformance cases

What this Kafka must do, case by case. The areas follow Kafka's own test classes; the numbers have gaps. Each line is
the name of a test, after the ids of the cases that it covers, in tests/conformance or tests/broker.
`python -m tests.conformance.cases` writes this page.
"""


def find_ids(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the ids that a test carries, in its name or in its parameters: `["TSM-03", "TSM-04"]`."""
    nodes = [node for decorator in function.decorator_list for node in ast.walk(decorator)]
    texts = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    found = [f"{area}-{number}".upper() for text in (function.name, *texts) for area, number in NAMED.findall(text)]
    return list(dict.fromkeys(found))


def sentences(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield id, sentence and file of every test below `root` that carries the id of a case."""
    for path in sorted(p for folder in FOLDERS for p in (root / "tests" / folder).rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                words = NAMED.sub("", node.name.removeprefix("test_")).replace("_", " ").strip()
                yield from ((case, words, path.relative_to(root).as_posix()) for case in find_ids(node))


def page(root: Path) -> str:
    """Return the page: a table for each area, with a line for each test and the cases that it covers."""
    cases: dict[tuple[str, str, str], list[str]] = {}
    for case, words, file in sorted(set(sentences(root))):
        cases.setdefault((case.split("-")[0], words, file), []).append(case)
    lines = [TOP]
    for area, title in AREAS.items():
        lines += [f"## {area}: {title}", f'<a id="{area.lower()}"></a>', "", "| case | holds | test |", "|---|---|---|"]
        of_area = sorted((ids, words, file) for (where, words, file), ids in cases.items() if where == area)
        lines += [f"| {', '.join(ids)} | {words} | [{Path(file).name}](../{file}) |" for ids, words, file in of_area]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    (Path.cwd() / PAGE).write_text(page(Path.cwd()), encoding="utf-8")
    print(PAGE)
