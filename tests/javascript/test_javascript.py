"""The JavaScript and style sheets: lines up to 120 characters, Biome's format, no complaint of its linter."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab.widgets.views.source import FOLDER
from kafkalab.widgets.views.view import View
from tests.programs_found import give_up

HERE = Path(__file__).parent
COLUMNS = 120
MODULES = re.compile(r'_esm = code\(\s*((?:"[a-z_]+\.js",?\s*)+)\)')
SHARED = ("run.js", "walk.js")


def sources(root: Path) -> list[Path]:
    """Every script and style sheet of the project."""
    folders = (root / "kafkalab", root / "tests", root / "labs", root / "binder")
    return sorted(f for folder in folders for f in folder.rglob("*.[jc]s*") if f.suffix in (".js", ".css"))


def long_lines(text: str) -> list[int]:
    """Return the numbers of the lines that are longer than COLUMNS."""
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > COLUMNS]


@pytest.fixture(scope="session")
def biome(program: Callable[[str], str]) -> list[str]:
    """The command that runs Biome, of the version that package.json pins, installed once into the environment."""
    program("node")
    npm = program("npm")
    folder = Path(sys.prefix) / "javascript"
    wanted = (HERE / "package.json").read_text(encoding="utf-8")
    command = folder / "node_modules" / ".bin" / "biome"
    if not command.exists() or (folder / "package.json").read_text(encoding="utf-8") != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "package.json", folder / "package.json")
        install = [npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode:
            (folder / "package.json").unlink()
            reason = f"npm could not install what {HERE.name}/package.json names: {done.stderr.strip()[-200:]}"
            give_up(reason, "node")
    return [str(command)]


def run(command: list[str], *more: str, cwd: Path) -> str:
    """Return what Biome complains of; "" if of nothing."""
    done = subprocess.run([*command, *more], cwd=cwd, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr if done.returncode else ""


def joined_modules() -> dict[str, list[str]]:
    """By view: the files that its module is joined from, as its source says."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        for names in MODULES.findall(path.read_text(encoding="utf-8")):
            found[path.stem] = [*SHARED, *re.findall(r"[a-z_]+\.js", names)]
    return found


def test_lines_have_up_to_120_characters(root: Path) -> None:
    found = {f.name: long_lines(f.read_text(encoding="utf-8")) for f in sources(root)}
    assert len(found) > 30
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_long_line_is_found() -> None:
    assert long_lines("a\n" + "b" * 121 + "\n" + "ü" * 120) == [2]


def test_the_tools_are_pinned_and_no_lock_file_names_where_they_lie() -> None:
    tools = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    assert set(tools) == {"private", "description", "devDependencies"}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in tools["devDependencies"].values())


def test_every_view_with_a_module_of_its_own_is_known() -> None:
    views = {v.__module__.rsplit(".", 1)[1] for v in View.__subclasses__() if v.__module__.startswith("kafkalab.")}
    assert views <= set(joined_modules())


def test_format_and_linter_have_nothing_to_say(root: Path, biome: list[str]) -> None:
    files = [str(f.relative_to(root)) for f in sources(root)]
    config = f"--config-path={HERE}"
    assert run(biome, "format", config, *files, cwd=root) == ""
    assert run(biome, "lint", config, "--error-on-warnings", *files, cwd=root) == ""


def test_each_joined_module_knows_all_its_names_and_every_name_is_used_in_one(biome: list[str], tmp_path: Path) -> None:
    idle: dict[tuple[str, str], bool] = {}
    (tmp_path / "biome.json").write_text((HERE / "biome.json").read_text(encoding="utf-8"), encoding="utf-8")
    for view, names in joined_modules().items():
        text = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
        (tmp_path / f"{view}.js").write_text(text, encoding="utf-8")
        only = ("--only=correctness/noUndeclaredVariables", "--only=suspicious/noRedeclare")
        assert run(biome, "lint", *only, f"{view}.js", cwd=tmp_path) == ""
        unused = "--only=correctness/noUnusedVariables", "--max-diagnostics=none", "--error-on-warnings"
        told = run(biome, "lint", *unused, f"{view}.js", cwd=tmp_path)
        found = set(re.findall(r"(?:variable|function|class|parameter) (\w+) is unused", told))
        for name in names:
            source = (FOLDER / name).read_text(encoding="utf-8")
            for declared in set(re.findall(r"\b[A-Za-z_]\w*", source)):
                if (name, declared) not in idle or declared not in found:
                    idle[name, declared] = declared in found
    assert [place for place, unused_everywhere in idle.items() if unused_everywhere] == []
