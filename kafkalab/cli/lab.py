"""`kafkalab lab`: JupyterLab, open on the start page."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from kafkalab.cli.command_line import CommandLineError
from kafkalab.grading.builder import FIGURE, WIDGET

START = "labs/00_start.ipynb"
SLOW_IMPORT = "rfc3987_syntax"
"""jsonschema takes it for the format "iri", which nothing of Jupyter uses; its grammar costs a second and a half."""
PLACES = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "IPYTHONDIR": "ipython"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """All options are JupyterLab's."""
    parser.usage, parser.epilog = "kafkalab lab [OPTIONS OF jupyter lab]", "For example: kafkalab lab --port 9000"


def without_old_widgets(notebook: Any) -> bool:
    """Drop widgets from those outputs that have a picture, too; return whether there were any.

    A notebook that was saved names the widgets of a kernel that has ended. JupyterLab would write "model not found" in
    their places.
    """
    data = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    dropped = [one.pop(WIDGET) for one in data if FIGURE in one and WIDGET in one]
    return bool(dropped)


def sign_labs(root: Path) -> None:
    """Trust the labs' notebooks, as `jupyter trust` does: JupyterLab then shows their pictures before a first run.

    Pictures of an earlier session are shown, too. A file that is no notebook, or cannot be read, stays untrusted.
    """
    nbformat: Any = import_module("nbformat")
    notary: Any = import_module("nbformat.sign").NotebookNotary()
    for path in sorted((root / START).parent.glob("[0-9]*.ipynb")):
        with contextlib.suppress(OSError, ValueError):
            notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
            if without_old_widgets(notebook):
                nbformat.write(notebook, path, version=nbformat.NO_CONVERT)
            notary.sign(notebook)
    notary.store.close()


def act(options: argparse.Namespace, root: Path) -> int:
    """Be JupyterLab, open on the start page of the labs under `root`, which it trusts, until it is stopped.

    Settings, history and run-time files stay inside the environment, so that the user's own Jupyter does not change.
    """
    if not (root / START).is_file():
        raise CommandLineError(f"no {START} here; run it in the folder that holds labs/")
    for name, place in PLACES.items():
        folder = os.environ.setdefault(name, str(Path(sys.prefix) / "jupyter" / place))
        Path(folder).mkdir(parents=True, exist_ok=True)
    modules: dict[str, Any] = sys.modules
    modules.setdefault(SLOW_IMPORT, None)
    sign_labs(root)
    arguments = [f"--LabApp.default_url=/lab/tree/{START}", "--log-level=WARN"]
    if os.geteuid() == 0:
        arguments.append("--allow-root")
    print("Starting JupyterLab. Control-C, twice, stops it.", flush=True)
    os.chdir(root)
    import_module("jupyterlab.labapp").main([*arguments, *options.more])
    return 0
