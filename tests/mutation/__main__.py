"""Run mutation tests: break one expression at a time and require that a test fails.

`python -m tests.mutation` lists the parts of parts.toml; `python -m tests.mutation replication` runs one part with
mutmut; a file's path instead of a name breaks only this file of its part. The run fails if a mutant survives that
survivors.toml does not name, or if an entry there is out of date.
Each part runs in its own folder below build/mutants, so that the working copy is never changed.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterable
from contextlib import chdir
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PARTS = Path(__file__).with_name("parts.toml")
SURVIVORS = Path(__file__).with_name("survivors.toml")
BUILD = ROOT / "build" / "mutants"
START = "start"
"""A folder for Python's path; each process of a test begins with its sitecustomize.py."""
IGNORED = shutil.ignore_patterns(
    ".git", ".venv", "build", "*_cache", "__pycache__", ".hypothesis", "node_modules", "mutation"
)
"""Files that are not copied."""
MARKERS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["markers"]
SLOW = sorted({marker.partition(":")[0] for marker in MARKERS} - {"smoke", "subjects"})
QUICK = f"not ({' or '.join(SLOW)})"
DAILY = f"(smoke and not firefox) or {QUICK}"
"""The tests that each mutant gets; and those of `make test`, for mutants that no quick test reaches."""
PYTEST = {
    "pythonpath": ["."],
    "addopts": ["--import-mode=importlib", "-p", "no:cacheprovider", "-m", QUICK],
    "markers": [*MARKERS, "flaky", "anyio"],
}


@dataclass(frozen=True, order=True)
class Mutant:
    """One changed line: the function, the line as it is, and the line as the mutant has it."""

    function: str
    line: str
    changed: str


def parts() -> dict[str, Any]:
    """Every part by name: `mutate`, the files to break, and `tests`, the tests that must notice.

    A file belongs to the first part of which a pattern finds it; the patterns are relative to the root of the project.
    """
    found: dict[str, Any] = {}
    taken: set[str] = set()
    for name, part in tomllib.loads(PARTS.read_text("utf-8")).items():
        files = {str(file.relative_to(ROOT)) for pattern in part["mutate"] for file in ROOT.glob(pattern)} - taken
        found[name] = {**part, "mutate": sorted(files)}
        taken |= files
    return found


def read_listed(part: str) -> dict[Mutant, str]:
    """The survivors that survivors.toml names for the part, each with its reason."""
    entries = tomllib.loads(SURVIVORS.read_text("utf-8")).get(part, [])
    return {Mutant(e["function"], e["line"], e["changed"]): e["why"] for e in entries}


def with_plain_properties(source: str) -> str:
    """Write `@property def x` as `def x` and `x = property(x)`: mutmut passes over decorated functions."""
    lines = source.splitlines()
    functions = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    for node in sorted(filter(_is_property, functions), key=lambda n: -n.lineno):
        indent = " " * node.col_offset
        lines.insert(node.end_lineno or node.lineno, f"{indent}{node.name} = property({node.name})")
        del lines[node.decorator_list[0].lineno - 1]
    return "\n".join(lines) + "\n"


def _is_property(node: ast.FunctionDef) -> bool:
    decorators = node.decorator_list
    return len(decorators) == 1 and isinstance(decorators[0], ast.Name) and decorators[0].id == "property"


def part_of_the_day(day: int) -> str:
    """Return the name of the part whose turn it is: each day another one."""
    return list(parts())[day % len(parts())]


def find_part(word: str) -> tuple[str, dict[str, Any]] | None:
    """Find a part by its name, or by a file: then it is the part that breaks the file, with this file alone."""
    for name, part in parts().items():
        if word == name:
            return name, part
        if word in part["mutate"]:
            return name, {**part, "mutate": [word]}
    return None


def prepare(name: str, part: dict[str, Any]) -> Path:
    """Copy the package, the tests and a configuration of mutmut into the part's folder, and return the folder."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT, folder, ignore=IGNORED)
    (folder / START).mkdir()
    (folder / START / "sitecustomize.py").write_text("import importlib.metadata\n")  # mutmut forgets to
    for file in part["mutate"]:
        path = folder / file
        path.write_text(with_plain_properties(path.read_text("utf-8")), "utf-8")
    settings = {
        "source_paths": ["kafkalab"],
        "only_mutate": part["mutate"],
        "also_copy": sorted({path.name for path in folder.iterdir()} - {"kafkalab", "pyproject.toml"}),
        "pytest_add_cli_args_test_selection": part["tests"],
        "use_git_change_detection": False,
        "process_isolation": "forkserver",  # else tests of a mutant find what other tests have left in caches
        "timeout_constant": 3.0,
        "timeout_multiplier": 10.0,
    }
    tables = {"tool.mutmut": settings, "tool.pytest.ini_options": PYTEST}
    lines = [line for name, table in tables.items() for line in (f"[{name}]", *_toml(table))]
    (folder / "pyproject.toml").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


def _toml(table: dict[str, Any]) -> Iterable[str]:
    return (f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in table.items())


def environment(folder: Path) -> dict[str, str]:
    """PYTHONPATH must not lead to the unbroken package, and no plugin may import it before the mutants are in place."""
    return {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(folder / START)}


def mutmut(folder: Path, jobs: int, *names: str) -> None:
    """Run mutmut in the folder; its output goes to mutmut.log there."""
    with (folder / "mutmut.log").open("w") as log:
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(jobs), *names]
        run = subprocess.run(command, cwd=folder, env=environment(folder), stdout=log, stderr=log)
    if run.returncode:
        print((folder / "mutmut.log").read_text("utf-8")[-4000:])
        raise SystemExit(f"mutmut failed: see {folder / 'mutmut.log'}")


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a run: the mutants that were run, of how many there are, and those that no test killed."""

    run: int
    total: int
    timeouts: int
    survivors: tuple[Mutant, ...]


def verdicts(folder: Path, files: Iterable[str], tests: Iterable[str], known: Container[Mutant] = ()) -> Verdicts:
    """Read what mutmut found. A timeout counts as a kill: on an idle machine only an endless loop takes 30 s.

    mutmut knows no test of a function that only runs in other processes or in tests marked smoke, and of a function
    whose results are cached only the test that came first. So for each survivor that is not `known` all tests of the
    part that `make test` has are run in a new process.
    """
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code

    run, total, timeouts = 0, 0, 0
    doubtful: list[tuple[str, Mutant]] = []
    with chdir(folder):
        for file in files:
            data = SourceFileMutationData(path=file)
            data.load()
            for name, code in data.exit_code_by_key.items():
                status = status_by_exit_code[code]
                total += 1
                run += status != "not checked"
                timeouts += status == "timeout"
                if status not in ("killed", "timeout", "not checked"):
                    mutant = _mutant(name, get_diff_for_mutant(name, path=file))
                    doubtful.append((name, mutant))
    survivors = [mutant for _, mutant in doubtful if mutant in known]
    doubtful = [(name, mutant) for name, mutant in doubtful if mutant not in known]
    if doubtful and fails(folder, tests):
        raise SystemExit(f"tests of {', '.join(tests)} fail in {folder} without a mutant")
    survivors += [mutant for name, mutant in doubtful if not fails(folder, tests, name)]
    return Verdicts(run, total, timeouts, tuple(survivors))


def fails(folder: Path, tests: Iterable[str], mutant: str = "") -> bool:
    """Return True if a test fails with this mutant in a new process and in those that it starts."""
    found = {**environment(folder), "MUTANT_UNDER_TEST": mutant}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", DAILY, *tests]
    return bool(subprocess.run(command, cwd=folder / "mutants", env=found, stdout=subprocess.DEVNULL).returncode)


def _mutant(name: str, diff: str) -> Mutant:
    function = name.removeprefix("kafkalab.").rpartition("__mutmut_")[0]
    function = function.replace(".xǁ", ".").replace("ǁ", ".").replace(".x_", ".")
    changes = [line for line in diff.splitlines()[2:] if line[:1] in "+-"]
    was = " ".join(line[1:].strip() for line in changes if line[0] == "-")
    now = " ".join(line[1:].strip() for line in changes if line[0] == "+")
    return Mutant(function, was, now)


def sample(folder: Path, files: Iterable[str], count: int, seed: int) -> list[str]:
    """Names of `count` mutants, chosen by a hash of seed and name: the same ones in every run, others for each seed."""
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    names: list[str] = []
    with chdir(folder):  # mutmut reads its configuration there
        for file in files:
            made = mutate_file_contents(file, Path(file).read_text("utf-8"))
            names += [get_mutant_name(Path(file), name) for name in made.mutant_names]
    return sorted(names, key=lambda name: sha256(f"{seed} {name}".encode()).digest())[:count]


def check(name: str, part: dict[str, Any], jobs: int, count: int, seed: int) -> bool:
    """Run one part and print its verdict; True if every survivor is named and every name is a survivor."""
    folder, files = prepare(name, part), part["mutate"]
    mutmut(folder, jobs, *(sample(folder, files, count, seed) if count else []))
    modules = tuple(f.removeprefix("kafkalab/").removesuffix(".py").replace("/", ".") + "." for f in files)
    known = {m: why for m, why in read_listed(name).items() if m.function.startswith(modules)}
    found = verdicts(folder, files, part["tests"], known)
    unlisted = sorted(m for m in found.survivors if m not in known)
    stale = sorted(m for m in known if m not in found.survivors) if found.run == found.total else []
    counts = f"{len(found.survivors)} survived, {len(unlisted)} unlisted, {found.timeouts} timed out"
    print(f"{name}: {found.run} of {found.total} mutants run, {counts}")
    for mutant in unlisted:
        print(f"\n  survived: {mutant.function}\n    - {mutant.line}\n    + {mutant.changed}")
    for mutant in stale:
        print(f"\n  no longer a survivor, drop it: {mutant.function}\n    - {mutant.line}\n    + {mutant.changed}")
    return not unlisted and not stale


def main() -> int:
    """Run the parts named on the command line; without one, list them."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("parts", nargs="*", help="a part of parts.toml, a file of one, `all`, or today's: `turn`")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that run at a time")
    parser.add_argument("--sample", type=int, default=0, help="run only this many mutants of each part")
    parser.add_argument("--seed", type=int, default=0, help="with --sample: which ones; another seed, others")
    chosen = parser.parse_args()
    known = parts()
    if chosen.parts == ["turn"]:
        chosen.seed = date.today().toordinal()
        chosen.parts = [part_of_the_day(chosen.seed)]
    found = {word: find_part(word) for word in (known if chosen.parts == ["all"] else chosen.parts)}
    if unknown := [word for word, part in found.items() if not part]:
        parser.error(f"no part is called {', '.join(unknown)}; the parts are {', '.join(known)}")
    if not found:
        print("Parts (make mutants PART=name, or PART=all):", *known, sep="\n  ")
        return 0
    results = [check(*part, chosen.jobs, chosen.sample, chosen.seed) for part in found.values() if part]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
