"""Make what learners open, labs/NN.ipynb, from labs/solutions/NN.ipynb, and run the latter to refresh its outputs.

A solution's cells carry nbgrader's metadata (schema 3). Between `### BEGIN SOLUTION` and `### END SOLUTION` stands what
learners are to write, between `### BEGIN HIDDEN TESTS` and `### END HIDDEN TESTS` what they are not to see.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from kafkalab.grading.landing import GLOSSARY, Landings, land, landings_of
from kafkalab.grading.progress import VARIABLE
from kafkalab.limits import NOTEBOOK
from kafkalab.saved_data import json_file

Notebook = dict[str, Any]
Cell = dict[str, Any]

SOLUTIONS, LABS = Path("labs/solutions"), Path("labs")
REGION = re.compile(
    r"^(?P<indent>[ \t]*)### BEGIN (?P<what>SOLUTION|HIDDEN TESTS)\n.*?^[ \t]*### END (?P=what)(?:\n|\Z)", re.M | re.S
)
MARK = re.compile(r"### (BEGIN|END) (SOLUTION|HIDDEN TESTS)")
CELL_SECONDS = 300
"""The limit for one cell, in seconds."""

FIGURE, WIDGET = "image/svg+xml", "application/vnd.jupyter.widget-view+json"
STOPS_NOTHING = "raises-exception"
"""The tag of a cell whose error does not keep "Run All" from running the cells after it."""


def student(solution: Notebook) -> Notebook:
    """Return the learner's copy: solutions blank, outputs removed but for figures. ValueError for a damaged region."""
    copy: Notebook = json.loads(json.dumps(solution))
    for cell in copy["cells"]:
        if cell["cell_type"] != "code":
            continue
        source = "".join(cell["source"])
        cell["source"] = blank(source, cell["id"]).splitlines(keepends=True)
        cell["outputs"] = [o for o in cell["outputs"] if FIGURE in o.get("data", {})]
        cell["execution_count"] = None
        for output in cell["outputs"]:
            if output["output_type"] == "execute_result":
                output["execution_count"] = None
        if is_check(cell):
            cell["metadata"]["tags"] = sorted({*cell["metadata"].get("tags", []), STOPS_NOTHING})
    return copy


def blank(source: str, where: str) -> str:
    """The source without what is between the marks: `...` where a body needs a statement, nothing elsewhere."""

    def replacement(found: re.Match[str]) -> str:
        return f"{found['indent']}...\n" if found["indent"] and found["what"] == "SOLUTION" else ""

    stripped = REGION.sub(replacement, source).rstrip("\n")
    if MARK.search(stripped):
        raise ValueError(f"cell {where}: every ### BEGIN needs its ### END, and no region may stand inside another")
    if stripped == source:
        return source
    try:
        ast.parse(stripped)
    except SyntaxError as error:
        raise ValueError(f"cell {where}: without its solution it is no Python any more ({error.msg})") from None
    return stripped


def is_check(cell: Cell) -> bool:
    """Return whether this cell is graded: in a blank notebook it fails, in a solved one it passes."""
    return bool(cell["metadata"].get("nbgrader", {}).get("grade"))


def read(path: Path) -> Notebook:
    """The notebook as plain data; ValueError with the file's name if it is none."""
    notebook: Notebook = json_file(path, NOTEBOOK)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError(f"{path} is no notebook: it has no cells")
    return notebook


def as_text(notebook: Notebook) -> str:
    """The notebook as Jupyter writes it, so that saving it without a change changes nothing."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def build(root: Path) -> list[Path]:
    """Make every labs/NN.ipynb from its solution; return the paths that changed. Notebooks without a solution stay."""
    return write_changed({root / LABS / name: text for name, text in copies(root).items()})


def copies(root: Path) -> dict[str, str]:
    """Return the text of each learner's copy, by file name."""
    landings = landings_in(root)
    return {source.name: as_text(land(student(read(source)), landings)) for source in sources(root)}


def landings_in(root: Path) -> Landings:
    """Return the landings of all notebooks with solutions, and of the glossary, where there is one."""
    glossary = root / GLOSSARY
    text = glossary.read_text(encoding="utf-8") if glossary.exists() else ""
    return landings_of({source.name: read(source) for source in sources(root)}, text)


def write_changed(texts: Mapping[Path, str]) -> list[Path]:
    """Write each text to its path, unless the file has it already; return the paths that changed."""
    changed = [path for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(texts[path], encoding="utf-8")
    return changed


def sources(root: Path) -> list[Path]:
    """Return the notebooks with solutions, in order; ValueError if there are none under `root`."""
    found = sorted((root / SOLUTIONS).glob("[0-9]*.ipynb"))
    if not found:
        raise ValueError(f"no {SOLUTIONS}/NN.ipynb here; run it in the folder that holds labs/")
    return found


def execute(notebook: Notebook, folder: Path, allow_errors: bool = False, keeps_progress: bool = True) -> Notebook:
    """Run the notebook from top to bottom in its own kernel, in `folder`; return it with the outputs.

    What only that run could use (the state and the views of its widgets, times) is left out. Unless it
    `keeps_progress`, its checks are not counted as a learner's, and its map of the course is empty.
    """
    nbformat: Any = import_module("nbformat")
    client_of: Any = import_module("nbclient").NotebookClient
    node = nbformat.reads(json.dumps(notebook), as_version=4)
    quiet = ["--IPKernelApp.log_level=ERROR"]
    client = client_of(
        node, timeout=CELL_SECONDS, kernel_name="python3", allow_errors=allow_errors, record_timing=False,
        store_widget_state=False, coalesce_streams=True, extra_arguments=quiet,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    env = dict(os.environ) if keeps_progress else {**os.environ, VARIABLE: "off"}
    asyncio.run(client.async_execute(env=env))  # `execute()` would leave the event loop of this thread open
    done: Notebook = json.loads(nbformat.writes(node, version=nbformat.NO_CONVERT))
    return without_leftovers(done)


def without_leftovers(notebook: Notebook) -> Notebook:
    """Remove from the notebook what differs in the next run or means nothing without its kernel."""
    notebook["metadata"].pop("widgets", None)
    notebook["metadata"]["language_info"] = {"name": "python"}
    for cell in (c for c in notebook["cells"] if c["cell_type"] == "code"):
        cell["metadata"].pop("execution", None)
        for output in cell["outputs"]:
            output.get("data", {}).pop(WIDGET, None)
            if output["output_type"] == "error":
                output["traceback"] = [str(line) for line in output["traceback"]]
    return notebook


def _failed_cell(notebook: Notebook, told: str) -> str:
    """Return "cell 'e1-look', " of the cell whose source nbclient's message quotes; "" if none is found."""
    code = (c for c in notebook["cells"] if c["cell_type"] == "code")
    return next((f"cell {c['id']!r}, " for c in code if f"---\n{''.join(c['source'])}\n---" in told), "")


def refresh(root: Path, only: Sequence[str] = ()) -> list[Path]:
    """Run the solutions and save them with their outputs; return the paths that changed. ValueError if a cell fails.

    `only` are beginnings of names, such as "04"; all solutions are run if it is empty.
    """
    changed = []
    chosen = [path for path in sources(root) if not only or path.name.startswith(tuple(only))]
    if not chosen:
        raise ValueError(f"no solution has a name that begins with {' or '.join(only)}")
    for path in chosen:
        notebook = read(path)
        if all(c["cell_type"] != "code" for c in notebook["cells"]):
            continue
        problems = import_module("nbclient.exceptions")
        try:
            text = as_text(execute(notebook, path.parent, keeps_progress=False))
        except problems.CellTimeoutError:
            raise ValueError(f"{path} does not end: a cell takes more than {CELL_SECONDS} s") from None
        except problems.CellExecutionError as error:
            where = _failed_cell(notebook, str(error))
            raise ValueError(f"{path} does not run: {where}{error.ename}: {error.evalue}") from None
        changed += write_changed({path: text})
    return changed
