"""What every file of the project has in common: a first sentence, a modest size, nothing left over."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

FILE_LINES = 320
FUNCTION_LINES = 60
DECISIONS_LINES = 150
DECISION = re.compile(r".*[^.] \(\d{4}-\d\d-\d\d\)")
START = re.compile(r"^Start at (`.+)\.$", re.M)
LAB = re.compile(r"lab\d\d")
NAMELESS = {"utils", "helpers", "manager", "base"}
PARTICIPLE = re.compile(
    r"_*((?!(embed|feed|need|seed|shed|speed|weed)$)[a-z]+ed|begun|bought|bound|broken|brought|built|caught|chosen|dealt|"
    r"done|drawn|driven|fallen|felt|flown|forgotten|found|frozen|given|gone|got|grown|heard|held|hidden|kept|known|laid|"
    r"led|left|lent|lost|made|meant|met|paid|said|seen|sent|shaken|shown|spent|spoken|stood|struck|stuck|taken|taught|"
    r"thought|thrown|told|torn|understood|won|worn|written)"
)
"""A name that is a participle and nothing else: it says neither what is done nor what is returned."""
PARTICIPLES = {
    "kafkalab/client/consumer/consumer.py": {"committed", "paused"},  # as in Java's client
    "kafkalab/course/lab09/for_real.py": {"torn"},  # a cell of lab 9 prints it
    "kafkalab/course/lab12/topic_sink.py": {"delivered"},  # a cell of lab 12 imports it
    "tests/wire/clients/aio_client.py": {"assigned", "committed"},  # as in the clients' libraries
    "tests/wire/clients/application.py": {"assigned"},
    "tests/wire/clients/python_clients.py": {"assigned", "committed"},
    "tests/wire/clients/script.py": {"assigned", "committed"},
    "tests/wire/clients/told.py": {"assigned", "committed"},
}
"""The functions that keep such a name."""
SCRIPTS = {".css", ".js", ".mjs", ".ts"}
TEXT = {"", ".cfg", ".html", ".ipynb", ".json", ".jsonl", ".md", ".py", ".svg", ".toml", ".txt", ".yml"} | SCRIPTS
SKIPPED_FOLDERS = re.compile(r"^(\.(?!ci$).*|build|__pycache__|.*\.egg-info|built|node_modules)$")
LOCK_FILE = re.compile(r"(.*\.lock|.*-lock\.(json|ya?ml))")

# Written in two halves, so that this file does not find itself.
LEFT_OVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w/.:-])/(wo" r"rk|ro" r"ot|ho" r"me|Us" r"ers)/")
REGISTRY = re.compile(r"(py" r"pi\.org|pythonho" r"sted\.org|npm" r"js\.(org|com)|repo\.mav" r"en)")


def files(root: Path) -> Iterator[Path]:
    """The project's own files, without what tools leave behind."""
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not SKIPPED_FOLDERS.match(name))
        yield from (Path(folder, name) for name in sorted(names) if name not in (".DS_Store", ".git"))


def opens_with_a_sentence(path: Path, text: str) -> bool:
    """True if a Python file has a docstring, or another source a comment, whose first paragraph is a sentence."""
    if path.suffix == ".py":
        first = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
    else:
        comment = re.match(r"\s*(?://\s*(.+)|/\*+\s*([^*]+))", text)
        first = next(filter(None, comment.groups()), "") if comment else ""
    return first.strip().endswith((".", ":", "?"))


def long_functions(text: str) -> list[str]:
    """Name and length of each function that is longer than FUNCTION_LINES."""
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    lengths = ((n.name, (n.end_lineno or n.lineno) - n.lineno + 1) for n in functions)
    return [f"{name}: {lines} lines" for name, lines in lengths if lines > FUNCTION_LINES]


def participles(text: str) -> set[str]:
    """Return the functions and methods whose whole name is a participle; properties and fixtures may have one."""
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    found = (n for n in functions if PARTICIPLE.fullmatch(n.name))
    return {n.name for n in found if not re.search("property|fixture|setter", "".join(map(ast.dump, n.decorator_list)))}


def left_over(text: str) -> list[str]:
    """Return what should not be handed on: marks of unfinished work, one machine's paths, registries."""
    return [found.group() for pattern in (LEFT_OVER, MACHINE_PATH, REGISTRY) for found in pattern.finditer(text)]


def test_every_source_opens_with_a_sentence(root: Path) -> None:
    sources = [f for f in files(root) if f.suffix in {".py"} | SCRIPTS]
    assert [str(f.relative_to(root)) for f in sources if not opens_with_a_sentence(f, f.read_text())] == []


def test_every_package_says_where_to_start_reading(root: Path) -> None:
    texts = {path: path.read_text() for path in sorted((root / "kafkalab").glob("*/**/__init__.py"))}
    starts = {path: START.findall(text) for path, text in texts.items() if not LAB.fullmatch(path.parent.name)}
    assert len(starts) > 40
    assert [str(path) for path, lines in starts.items() if len(lines) != 1] == []
    named = [path.parent / name for path, (line,) in starts.items() for name in re.findall(r"`([^`]+)`", line)]
    assert len(named) > len(starts)
    assert [str(path) for path in named if not path.is_file()] == []


def test_no_file_has_a_name_that_says_nothing(root: Path) -> None:
    assert [str(f.relative_to(root)) for f in files(root) if f.stem in NAMELESS] == []


@pytest.mark.parametrize("folder", ["kafkalab", "tests"])
def test_functions_are_named_by_verbs(root: Path, folder: str) -> None:
    found = {f.relative_to(root).as_posix(): participles(f.read_text()) for f in sorted((root / folder).rglob("*.py"))}
    kept = {path: names for path, names in PARTICIPLES.items() if path.startswith(folder)}
    assert {path: names for path, names in found.items() if names} == kept


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("def shown(): ...", True),
        ("async def _locked(): ...", True),
        ("class A:\n    def sent(self): ...", True),
        ("def f():\n    def seen(): ...", True),
        ("class A:\n    @property\n    def closed(self): ...", False),
        ("def feed(): ...", False),
        ("def shown_first(): ...", False),
    ],
)
def test_a_participle_is_seen(line: str, is_one: bool) -> None:
    assert bool(participles(line)) is is_one


def test_files_and_functions_are_short(root: Path) -> None:
    sources = {f: f.read_text() for f in sorted((root / "kafkalab").rglob("*.py"))}
    lines = {f.name: len(text.splitlines()) for f, text in sources.items()}
    assert {name: n for name, n in lines.items() if n > FILE_LINES} == {}
    assert {f.name: found for f, text in sources.items() if (found := long_functions(text))} == {}


def test_decisions_are_short_and_dated(root: Path) -> None:
    pages = {page: page.read_text().splitlines() for page in files(root) if page.name == "DECISIONS.md"}
    assert len(pages) > 15
    assert {str(page): len(lines) for page, lines in pages.items() if len(lines) > DECISIONS_LINES} == {}
    entries = [line.removeprefix("## ") for lines in pages.values() for line in lines if line.startswith("##")]
    assert [entry for entry in entries if not DECISION.fullmatch(entry)] == []


def test_nothing_is_left_over(root: Path) -> None:
    texts = [f for f in files(root) if f.suffix in TEXT]
    found = {str(f.relative_to(root)): marks for f in texts if (marks := left_over(f.read_text()))}
    assert found == {}


def test_there_is_no_lock_file(root: Path) -> None:
    assert [f.name for f in files(root) if LOCK_FILE.fullmatch(f.name)] == []


def test_every_notebook_is_valid_and_carries_no_widget_state(root: Path) -> None:
    notebooks = sorted((root / "labs").rglob("[0-9]*.ipynb"))
    assert notebooks
    for path in (p for p in notebooks if ".ipynb_checkpoints" not in p.parts):
        notebook = nbformat.read(path, nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        facts = (notebook.nbformat, notebook.nbformat_minor, notebook.metadata.kernelspec.name, path.name)
        assert facts == (4, 5, "python3", path.name)
        assert "widgets" not in notebook.metadata, path.name


def lint(root: Path, *command: str) -> tuple[int, str]:
    """Exit status and output of one of the tools in this environment."""
    run = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, timeout=600)
    return run.returncode, run.stdout + run.stderr


def test_ruff_has_nothing_to_say(root: Path) -> None:
    status, output = lint(root, "ruff", "check", "--quiet", "--output-format=concise", ".")
    assert status == 0, output


def test_mypy_strict_has_nothing_to_say(root: Path) -> None:
    status, output = lint(root, "mypy", "--no-error-summary")
    assert status == 0, output


@pytest.mark.parametrize(
    ("name", "text", "good"),
    [
        ("a.py", '"""The log of one partition."""\n', True),
        ("a.py", "import json\n", False),
        ("a.py", '"""partition log"""\n', False),
        ("a.js", "// Draws the lanes.\n", True),
        ("a.css", "/* Colours and sizes of the lanes. */\n", True),
        ("a.css", ".lane { color: red }\n", False),
    ],
)
def test_a_missing_first_sentence_is_found(name: str, text: str, good: bool) -> None:
    assert opens_with_a_sentence(Path(name), text) is good


def test_a_long_function_is_found() -> None:
    body = "".join(f"    {n}\n" for n in range(FUNCTION_LINES))
    assert long_functions(f"def f():\n{body}") == [f"f: {FUNCTION_LINES + 1} lines"]
    assert long_functions(f"def f():\n{body}".rsplit("    ", 1)[0]) == []


def test_what_is_left_over_is_found() -> None:
    text = "TO" "DO: read /ro" "ot/notes, see py" "pi.org and http://localhost/home/"
    assert left_over(text) == ["TO" "DO", "/ro" "ot/", "py" "pi.org"]
