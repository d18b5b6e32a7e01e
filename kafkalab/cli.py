"""The `kafkalab` command: `kafkalab lab` opens the labs in JupyterLab."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

START = "labs/00_start.ipynb"
PLACES = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "IPYTHONDIR": "ipython"}


def lab(extra: Sequence[str], root: Path) -> int:
    """JupyterLab has taken this process's place, open on the start page of the labs under `root`.

    Settings, history and run-time files stay inside the environment, so that the user's own Jupyter is left
    as it is. Returns 2, with a sentence on stderr, where `root` holds no labs.
    """
    if not (root / START).is_file():
        print(f"kafkalab lab: no {START} here; run it in the folder that holds labs/", file=sys.stderr)
        return 2
    for name, place in PLACES.items():
        folder = os.environ.setdefault(name, str(Path(sys.prefix) / "jupyter" / place))
        Path(folder).mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "jupyterlab", f"--LabApp.default_url=/lab/tree/{START}", "--log-level=WARN"]
    if os.geteuid() == 0:
        command.append("--allow-root")
    print("Starting JupyterLab. Control-C, twice, stops it.", flush=True)
    os.chdir(root)
    os.execv(sys.executable, [*command, *extra])


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of one command line."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["lab"]:
        return lab(arguments[1:], Path.cwd())
    print("usage: kafkalab lab [options of jupyter lab]", file=sys.stderr)
    return 0 if arguments[:1] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
