"""Which part of kafkalab may import which: a layer imports only from its left, and the left half is pure."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

LAYERS = (
    ("protocol", "trace"),
    ("log",),
    ("broker", "client"),
    ("sim",),
    ("programs",),
    ("history",),
    ("checks",),
    ("explore", "wire", "spark", "widgets"),
    ("grading", "reference"),
    ("course",),
    ("cli",),
)
"""From left to right: a part imports only from the layers to its left, and from a neighbour that TOGETHER names."""

TOGETHER = ({"protocol", "trace"},)
LAYER_OF = {part: place for place, layer in enumerate(LAYERS) for part in layer}
PURE = tuple(part for layer in LAYERS[:7] for part in layer)
IMPURE_MODULES = {
    *("asyncio", "concurrent", "multiprocessing", "selectors", "socket", "ssl", "subprocess", "threading", "_thread"),
    *("datetime", "sched", "secrets", "time", "uuid"),
}
MAY_DRAW = ("sim", "programs")
NOT_AT_START = ("pyspark", "pyarrow", "pandas", "asyncio", "anywidget", "ipywidgets", "IPython", "traitlets")


def imports(source: str, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a source in `package` imports: modules, and names taken from kafkalab."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")
            above = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            if module == "kafkalab":
                yield from ((node.lineno, f"kafkalab.{name.name}") for name in node.names)
            else:
                yield node.lineno, module


def fault(part: str, imported: str) -> str:
    """Why `part` of kafkalab may not import `imported`; empty if it may."""
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
        return ""
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


def test_every_import_points_to_the_left(root: Path):
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
        ("wire/server.py", "from kafkalab.widgets.views.view import View", "there is a wall between wire and widgets"),
        ("grading/grade.py", "import kafkalab.course.outline", "course lies to the right of grading"),
        ("cli_run.py", "import json", "kafkalab.cli_run has no layer in LAYERS"),
    ],
)
def test_an_import_that_breaks_a_layer_is_found(path: str, source: str, why: str):
    assert [line.split(": ", 1)[1] for line in violations(Path("kafkalab") / path, source)] == [why]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("broker/handlers/end_txn.py", "from kafkalab.protocol.errors import Error\nfrom .. import effects"),
        ("trace.py", "from kafkalab.protocol.errors import Error"),
        ("sim/network.py", "from random import Random\nfrom . import schedule"),
        ("checks/g0.py", "from ..history import History\nfrom __future__ import annotations"),
        ("wire/server.py", "import asyncio\nimport kio\nfrom kafkalab.sim.cluster import Cluster"),
        ("cli/main.py", "from kafkalab.widgets.views.sequence import Sequence"),
    ],
)
def test_an_import_that_points_to_the_left_is_let_through(path: str, source: str):
    assert violations(Path("kafkalab") / path, source) == []


def test_importing_kafkalab_loads_neither_spark_nor_widgets_nor_an_event_loop(root: Path):
    code = f"import sys, kafkalab; print([m for m in {NOT_AT_START!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("[]\n", "")
