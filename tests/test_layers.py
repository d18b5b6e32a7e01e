"""Which part of kafkalab may import which: a layer imports only from its left, and the left half is pure."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate
from pathlib import Path

import pytest

LAYERS = (
    ("limits", "extras", "palette"),
    ("markup", "saved_data"),
    ("protocol", "trace"),
    ("log",),
    ("broker", "client"),
    ("faults",),
    ("sim",),
    ("programs",),
    ("run",),
    ("alternatives",),
    ("history",),
    ("checks",),
    ("explore",),
    ("wire", "spark", "widgets", "course_files"),
    ("grading", "reference", "live"),
    ("course", "testing"),
    ("control", "diagnose"),
    ("cli",),
    ("site", "__main__"),
)
"""From left to right: a part imports only from the layers to its left, and from a neighbour that TOGETHER names."""

TOGETHER = ({"protocol", "trace"},)
LAYER_OF = {part: place for place, layer in enumerate(LAYERS) for part in layer}
PURE = tuple(part for layer in LAYERS[:13] for part in layer)
IMPURE_MODULES = {
    *("asyncio", "concurrent", "multiprocessing", "selectors", "socket", "ssl", "subprocess", "threading", "_thread"),
    *("datetime", "sched", "secrets", "time", "uuid"),
}
MAY_DRAW = ("faults", "sim", "programs", "explore")
READERS_OF_RUNS = ("history", "checks", "explore", "widgets")
"""The parts that see a run from outside, whoever made it: a simulator, a tap, a live cluster."""
INSIDE_A_RUN = ("kafkalab.broker", "kafkalab.client", "kafkalab.sim.cluster")
NOT_AT_START = ("pyspark", "pyarrow", "pandas", "asyncio", "anywidget", "ipywidgets", "IPython", "traitlets")


def modules_and_names(source: str, package: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line, full name of the module, and the names taken from it, of all that a source in `package` imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name, []) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            yield node.lineno, ".".join([*above, *filter(None, [node.module])]), [name.name for name in node.names]


def imports(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a source in `package` imports: modules, those too that are taken from a folder."""
    for line, module, names in modules_and_names(source, package):
        folders = module in ("kafkalab", "kafkalab.sim")
        yield from ((line, f"{module}.{name}") for name in names) if folders else [(line, module)]


def fault(part: str, imported: str) -> str:
    """Return why `part` of kafkalab may not import `imported`; empty if it may."""
    top, *below = imported.split(".")
    if part not in LAYER_OF:
        return f"kafkalab.{part} has no layer in LAYERS"
    if top == "kafkalab":
        other = below[0] if below else ""
        if other not in LAYER_OF:
            return f"{imported} is no part that has a layer"
        if LAYER_OF[other] > LAYER_OF[part]:
            return f"{other} lies to the right of {part}"
        if other != part and LAYER_OF[other] == LAYER_OF[part] and {part, other} not in TOGETHER:
            return f"there is a wall between {part} and {other}"
        inside = part in READERS_OF_RUNS and f"{imported}.".startswith(tuple(f"{name}." for name in INSIDE_A_RUN))
        return f"{part} reads runs from outside" if inside else ""
    if part not in PURE:
        return ""
    if top not in sys.stdlib_module_names:
        return f"{part} is pure: the standard library only"
    if top in IMPURE_MODULES or (top == "random" and part not in MAY_DRAW):
        return f"{part} is pure: no {top}"
    return ""


def violations(path: Path, source: str) -> list[str]:
    """One line for each import that breaks a layer, in a file at `path`, relative to the folder of kafkalab/."""
    package = ".".join(path.parent.parts)
    part = path.with_suffix("").parts[1]
    found = ((line, name, fault(part, name)) for line, name in imports(source, package))
    return [f"{path}:{line} imports {name}: {why}" for line, name, why in found if why]


def test_every_import_points_to_the_left(root: Path) -> None:
    files = [f.relative_to(root) for f in sorted((root / "kafkalab").rglob("*.py"))]
    inner = [f for f in files if f != Path("kafkalab/__init__.py")]
    assert inner
    assert [line for f in inner for line in violations(f, (root / f).read_text())] == []


@pytest.mark.parametrize(
    ("path", "source", "why"),
    [
        ("protocol/acls.py", "from kafkalab.broker.state import BrokerState", "broker lies to the right of protocol"),
        ("broker/broker.py", "from ..sim import schedule", "sim lies to the right of broker"),
        ("log/cleaner.py", "import json\nimport time", "log is pure: no time"),
        ("broker/handlers/fetch.py", "def f():\n    from asyncio import sleep", "broker is pure: no asyncio"),
        ("client/promise.py", "import random", "client is pure: no random"),
        ("client/connection.py", "from kafkalab.broker.port import Port", "there is a wall between client and broker"),
        ("broker/port.py", "from kafkalab.client.promise import Promise", "there is a wall between broker and client"),
        ("trace.py", "import anywidget", "trace is pure: the standard library only"),
        ("checks/g0.py", "from kafkalab import lab03", "kafkalab.lab03 is no part that has a layer"),
        ("explore/search.py", "import multiprocessing", "explore is pure: no multiprocessing"),
        ("explore/result.py", "import kafkalab.widgets", "widgets lies to the right of explore"),
        ("wire/server.py", "from kafkalab.widgets.views.view import View", "there is a wall between wire and widgets"),
        ("wire/live.py", "from kafkalab.live.cluster import LiveCluster", "live lies to the right of wire"),
        ("grading/grade.py", "import kafkalab.course.outline", "course lies to the right of grading"),
        ("cli_run.py", "import json", "kafkalab.cli_run has no layer in LAYERS"),
        ("checks/g0.py", "import kafkalab.broker.state", "checks reads runs from outside"),
        ("checks/g0.py", "from kafkalab.sim.cluster import Cluster", "checks reads runs from outside"),
        ("checks/g0.py", "from kafkalab.sim import cluster", "checks reads runs from outside"),
    ],
)
def test_an_import_that_breaks_a_layer_is_found(path: str, source: str, why: str) -> None:
    assert [line.split(": ", 1)[1] for line in violations(Path("kafkalab") / path, source)] == [why]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("broker/handlers/end_txn.py", "from kafkalab.protocol.errors import Error\nfrom .. import effects"),
        ("trace.py", "from kafkalab.protocol.errors import Error"),
        ("sim/network.py", "from random import Random\nfrom . import schedule"),
        ("checks/g0.py", "from ..history import History\nfrom __future__ import annotations"),
        ("wire/server.py", "import asyncio\nfrom kafkalab.sim.cluster import Cluster"),
        ("cli/main.py", "from kafkalab.widgets.views.sequence import Sequence"),
    ],
)
def test_an_import_that_points_to_the_left_is_let_through(path: str, source: str) -> None:
    assert violations(Path("kafkalab") / path, source) == []


def test_importing_kafkalab_loads_neither_spark_nor_widgets_nor_an_event_loop(root: Path) -> None:
    code = f"import sys, kafkalab; print([m for m in {NOT_AT_START!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("[]\n", "")


def graph(root: Path) -> dict[str, set[str]]:
    """Return what each module of kafkalab imports of kafkalab, anywhere in the file, for type checking too."""
    files = sorted((root / "kafkalab").rglob("*.py"))
    modules = {".".join(f.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): f for f in files}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        found[module] = {name for name in imported_names(path.read_text(), package) if name in modules} - {module}
    return found


def imported_names(source: str, package: str) -> Iterator[str]:
    """Full names of modules, and of what is taken from modules, that a source in `package` imports."""
    for _, module, names in modules_and_names(source, package):
        yield from (module, *(f"{module}.{name}" for name in names))


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return nodes that import each other in a ring, the first one again at the end; empty if there is none."""
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def folders_of(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return what each folder imports of the folders that stand beside it in the same package, at any depth.

    A package's own modules are in no folder beside others: some are what its folders share (broker/state.py), others
    put the folders together (broker/broker.py).
    """
    packages, found = {module.rpartition(".")[0] for module in graph}, dict[str, set[str]]()
    for module, imported in graph.items():
        for other in imported:
            ways = (accumulate(name.split("."), "{}.{}".format) for name in (module, other))
            folder, beside = next((pair for pair in zip(*ways, strict=False) if len(set(pair)) > 1), ("", ""))
            if folder != beside and {folder, beside} <= packages:
                found.setdefault(folder, set()).add(beside)
    return found


def test_no_modules_import_each_other_in_a_circle(root: Path) -> None:
    modules = graph(root)
    assert len(modules) > 300
    del modules["kafkalab"]  # names every public place, and imports none of them at the start
    assert circle(modules) == []


def test_a_circle_is_found_also_one_of_types_only(tmp_path: Path) -> None:
    folder = tmp_path / "kafkalab" / "log"
    folder.mkdir(parents=True)
    for_types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from kafkalab.log.b import B\n"
    (folder / "a.py").write_text(for_types)
    (folder / "b.py").write_text("def late():\n    from . import c\n")
    (folder / "c.py").write_text("import kafkalab.log.a\n")
    ring = circle(graph(tmp_path))
    assert sorted(set(ring)) == ["kafkalab.log.a", "kafkalab.log.b", "kafkalab.log.c"]


def test_no_folders_import_each_other_in_a_circle(root: Path) -> None:
    folders = folders_of(graph(root))
    assert "kafkalab.spark.storage" in folders["kafkalab.spark.audits"]
    assert circle(folders) == []


def test_a_circle_of_folders_is_found_where_no_modules_have_one() -> None:
    modules = {"k.a.one": {"k.b.x.two"}, "k.b.x.two": set[str](), "k.b.y.three": {"k.a.four", "k.b.x.two"}}
    modules |= {"k.a.four": {"k.shared", "k"}, "k.shared": {"k.b.y.three"}, "k.b.y": set()}
    assert folders_of(modules) == {"k.a": {"k.b"}, "k.b": {"k.a"}, "k.b.y": {"k.b.x"}}
    assert sorted(set(circle(folders_of(modules)))) == ["k.a", "k.b"]
