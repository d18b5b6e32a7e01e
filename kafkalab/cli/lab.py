"""`kafkalab lab`: JupyterLab, open on the start page. Into an empty folder it copies the labs first."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shutil
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kafkalab.cli.command_line import CommandLineError
from kafkalab.course.installation import Installed, install, is_installed, shipped_files
from kafkalab.course_files import SHIPPED, course_root
from kafkalab.grading.builder import FIGURE, WIDGET
from kafkalab.limits import NOTEBOOK, truncate
from kafkalab.saved_data import file_text

START = "labs/00_start.ipynb"
SLOW_IMPORT = "rfc3987_syntax"
"""jsonschema takes it for the format "iri", which nothing of Jupyter uses; its grammar costs a second and a half."""
PLACES = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "IPYTHONDIR": "ipython"}


OVERRIDES = SHIPPED / "binder" / "overrides.json"
"""JupyterLab's settings for the labs, as the wheel has them; a checkout's `make lab` puts them into .venv."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """--solutions; all other options are JupyterLab's."""
    parser.usage = "kafkalab lab [--solutions] [OPTIONS OF jupyter lab]"
    parser.epilog = "For example: kafkalab lab --port 9000"
    parser.add_argument("--solutions", action="store_true", help="where labs are copied: copy their solutions, too")


def without_old_widgets(notebook: Any) -> bool:
    """Drop widgets from those outputs that have a picture, too; return whether there were any.

    A notebook that was saved names the widgets of a kernel that has ended. JupyterLab would write "model not found" in
    their places.
    """
    data = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs") or ()]
    dropped = [one.pop(WIDGET) for one in data if FIGURE in one and WIDGET in one]
    return bool(dropped)


def sign_labs(root: Path) -> None:
    """Trust the labs' notebooks, as `jupyter trust` does: JupyterLab then shows their pictures before a first run.

    Pictures of an earlier session are shown, too. A file that is no notebook, or cannot be read, stays untrusted, and a
    line names it.
    """
    nbformat: Any = import_module("nbformat")
    notary: Any = import_module("nbformat.sign").NotebookNotary()
    labs = (root / START).parent
    for path in sorted([*labs.glob("[0-9]*.ipynb"), *labs.glob("new*_[0-9]*.ipynb")]):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what JupyterLab mends by itself, such as two cells of one id
                notebook = nbformat.reads(file_text(path, NOTEBOOK), as_version=nbformat.NO_CONVERT)
            if without_old_widgets(notebook):
                nbformat.write(notebook, path, version=nbformat.NO_CONVERT)
            notary.sign(notebook)
        except Exception as error:  # nbformat raises whatever a damaged notebook makes it stumble over
            why = truncate(error) or type(error).__name__
            print(f"{path.relative_to(root)} is damaged and left as it is ({why})", file=sys.stderr, flush=True)
    notary.store.close()


def copy_labs(root: Path, solutions: bool = False) -> None:
    """Copy the labs into `root`, or bring those that were copied up to date, and say what is new.

    A folder that has labs of its own, such as a checkout, stays as it is. CommandLineError for a folder that holds
    other things, cannot be written to, or is too full.
    """
    if not is_installed(root):
        if (root / START).is_file():
            return
        others = [p.name for p in root.iterdir() if not p.name.startswith(".") and not _holds_python(p)]
        if others:
            raise CommandLineError(
                f"no {START} here, and the folder is not empty, so no labs are copied into it; "
                "make a folder for them: mkdir kafka-labs && cd kafka-labs && kafkalab lab"
            )
    first = not (root / START).exists()
    files = shipped_files(course_root(), solutions or (root / "labs" / "solutions").is_dir())
    try:
        missing = sum(len(data) for name, data in files.items() if not (root / name).exists())
        if missing > shutil.disk_usage(root).free:
            raise OSError(errno.ENOSPC, "")
        installed = install(files, root)
    except OSError as error:
        raise CommandLineError(_advice(error, root)) from None
    print("".join(_news(installed, root, first)), end="", flush=True)


def _holds_python(path: Path) -> bool:
    """Return whether the environment of this command is in `path`: people make it in the folder of their labs."""
    return path.is_dir() and Path(sys.prefix).resolve().is_relative_to(path.resolve())


def _advice(error: OSError, root: Path) -> str:
    """Return what to do about a file that could not be written."""
    at = Path(str(error.filename)) if error.filename else root
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"cannot write in {root}; run it in a folder of your own: mkdir ~/kafka-labs && cd ~/kafka-labs"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space left in {root}: the labs need 5 MB. Make room and run it again; what was copied is whole"
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        there = next(path for path in (at, *at.parents) if os.path.lexists(path))
        kind = "a folder" if there.is_dir() else "a file"
        return f"{there} is {kind}, and the labs need its name; move it away and run it again"
    return f"{at}: {(error.strerror or 'failed').lower()}"


def _news(installed: Installed, root: Path, first: bool) -> list[str]:
    """Return the lines that say what was done; each ends with a line break."""
    if first:
        return [f"Copied the labs into {root}. Run `kafkalab lab` here again to go on; what you write stays.\n"]
    lines = []
    for done, names in (("new", installed.added), ("newer; you had not changed it", installed.replaced)):
        labs = [name for name in names if name.endswith(".ipynb")]
        lines += [f"  {name}: {done}\n" for name in labs]
        if len(labs) < len(names):
            lines.append(f"  files of data/ and docs/ that are {done.partition(';')[0]}: {len(names) - len(labs)}\n")
    lines += [f"  {name}: yours, it stays; the newer one is {there}\n" for name, there in installed.beside.items()]
    return ["The course has changed since it was copied here:\n", *lines] if lines else []


def settings_folder() -> Path:
    """Return where JupyterLab keeps its own files: inside the environment, or, if that is not ours, below the home."""
    prefix = Path(sys.prefix)
    return (prefix if os.access(prefix, os.W_OK) else Path.home() / ".kafkalab") / "jupyter"


def _silence_deprecations() -> None:
    """Hide what jupyter_server says of its own options when an extension reads them.

    Voila, where it is installed, is one of JupyterLab's extensions. It shows such warnings to everybody from its import
    on, so it is imported first.
    """
    with contextlib.suppress(ImportError):
        import_module("voila")
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="traitlets")


def act(options: argparse.Namespace, root: Path) -> int:
    """Be JupyterLab, open on the start page of the labs under `root`, which it trusts, until it is stopped.

    CommandLineError, before anything is written, where JupyterLab is not installed.

    Settings, history and run-time files stay inside the environment, so that the user's own Jupyter does not change.
    """
    if find_spec("jupyterlab") is None:
        raise CommandLineError("JupyterLab is missing: pip install 'kafkalab-course[lab]'")
    copy_labs(root, options.solutions)
    ours = "JUPYTER_CONFIG_DIR" not in os.environ
    for name, place in PLACES.items():
        folder = os.environ.setdefault(name, str(settings_folder() / place))
        Path(folder).mkdir(parents=True, exist_ok=True)
    if ours and OVERRIDES.is_file():
        settings = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "labconfig" / "default_setting_overrides.json"
        settings.parent.mkdir(exist_ok=True)
        shutil.copyfile(OVERRIDES, settings)
    modules: dict[str, Any] = sys.modules
    modules.setdefault(SLOW_IMPORT, None)
    sign_labs(root)
    arguments = [f"--LabApp.default_url=/lab/tree/{START}", "--log-level=WARN"]
    if os.geteuid() == 0:
        arguments.append("--allow-root")
    print("Starting JupyterLab. Control-C, twice, stops it.", flush=True)
    os.chdir(root)
    start = import_module("jupyterlab.labapp").main
    _silence_deprecations()
    start([*arguments, *options.more])
    return 0


if __name__ == "__main__":  # binder/postBuild
    sign_labs(Path.cwd())
