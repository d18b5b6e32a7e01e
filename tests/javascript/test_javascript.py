"""The scripts and style sheets: Biome's format and linter, the TypeScript compiler, and a build that is up to date."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from kafkalab.widgets.views.parts import BUILT
from tests.javascript.tools import PICTURES, TOOLS, node

__all__ = ["node"]
COLUMNS = 120


def sources(root: Path) -> list[Path]:
    """Every script and style sheet of the project that somebody wrote."""
    folders = (root / "kafkalab", root / "tests", root / "labs", root / "binder", root / "pictures")
    found = (f for folder in folders for f in folder.rglob("*.*s*") if f.suffix in (".js", ".mjs", ".ts", ".css"))
    return sorted(f for f in found if f.parent != BUILT and TOOLS not in f.parents)


def long_lines(text: str) -> list[int]:
    """Return the numbers of the lines that are longer than COLUMNS."""
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]


def run(*command: str, cwd: Path) -> str:
    """Return what a tool complains of; "" if of nothing."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr if done.returncode else ""


def test_lines_have_up_to_120_characters(root: Path) -> None:
    found = {f.name: long_lines(f.read_text(encoding="utf-8")) for f in sources(root)}
    assert len(found) > 30
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_long_line_is_found() -> None:
    assert long_lines("a\n" + "b" * 121 + "\n" + "ü" * 120) == [2]


def test_the_tools_are_pinned_and_no_lock_file_names_where_they_lie() -> None:
    tools = json.loads((PICTURES / "package.json").read_text(encoding="utf-8"))
    assert set(tools) == {"private", "description", "type", "devDependencies"}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in tools["devDependencies"].values())


def test_format_and_linter_have_nothing_to_say(root: Path, node: str) -> None:
    biome = str(TOOLS / ".bin" / "biome")
    files = [str(f.relative_to(root)) for f in sources(root)]
    assert run(biome, "format", *files, cwd=root) == ""
    assert run(biome, "lint", "--error-on-warnings", *files, cwd=root) == ""


def test_the_types_are_right(node: str) -> None:
    assert run(str(TOOLS / ".bin" / "tsc"), cwd=PICTURES) == ""


def test_what_draws_nothing_is_right_without_a_browser(node: str, tmp_path: Path) -> None:
    tests = [str(path) for path in sorted((PICTURES / "test").glob("*.test.ts"))]
    assert tests
    build = ["--bundle", "--platform=node", "--format=esm", "--out-extension:.js=.mjs", "--loader:.css=empty"]
    assert run(str(TOOLS / ".bin" / "esbuild"), *tests, *build, f"--outdir={tmp_path}", cwd=PICTURES) == ""
    assert run(node, "--test", *map(str, sorted(tmp_path.glob("*.mjs"))), cwd=PICTURES) == ""


def test_the_built_files_are_those_of_the_sources(node: str, tmp_path: Path) -> None:
    assert run(node, "build.mjs", str(tmp_path), cwd=PICTURES) == ""
    again, committed = ({f.name: f.read_bytes() for f in folder.iterdir()} for folder in (tmp_path, BUILT))
    assert sorted(again) == sorted(committed)
    differing = [name for name, data in again.items() if committed[name] != data]
    assert differing == [], "make pictures builds them again"
