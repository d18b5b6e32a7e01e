"""The `kafkalab` command: opens the labs, runs saved scenarios and asks about them, makes notebooks and pages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkalab.cli.pages import atlas, bugs, profiles, protocol, rules

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


def build_labs(extra: Sequence[str], root: Path) -> int:
    """Every labs/NN.ipynb under `root` is what labs/solutions/NN.ipynb makes; with --run that was run anew before."""
    from kafkalab.cli.build_labs import build_labs as build

    return build(extra, root)


def _run(extra: Sequence[str], root: Path) -> int:
    from kafkalab.cli.run import run

    return run(extra, root)


def _transactions(extra: Sequence[str], root: Path) -> int:
    from kafkalab.cli.transactions import transactions

    return transactions(extra, root)


def _grade(extra: Sequence[str], root: Path) -> int:
    from kafkalab.cli.grade import grade

    return grade(extra, root)


def _audit(extra: Sequence[str], root: Path) -> int:
    from kafkalab.cli.audit import audit

    return audit(extra, root)


def _workload(extra: Sequence[str], root: Path) -> int:
    from kafkalab.cli.workload import workload

    return workload(extra, root)


COMMANDS = {
    "lab": lab,
    "run": _run,
    "workload": _workload,
    "audit": _audit,
    "transactions": _transactions,
    "build-labs": build_labs,
    "grade": _grade,
    "rules": rules,
    "bugs": bugs,
    "atlas": atlas,
    "profiles": profiles,
    "protocol": protocol,
}
USAGE = """usage: kafkalab lab [options of jupyter lab]   open the labs
       kafkalab run FILE.klab [--json]         run a saved scenario, say what became of it
       kafkalab workload KIND --out PATH       make histories with known faults: simulated or synthetic (Spark)
       kafkalab audit PATH [--html FILE]       say which guarantees held in such histories (Spark)
       kafkalab transactions COMMAND FILE.klab list, describe, describe-producers, find-hanging or abort transactions
       kafkalab build-labs [--run]             make labs/ from labs/solutions/, which --run runs anew before
                           [--clean DIR]       and the same without explanations, for a retake
       kafkalab grade FOLDER --out report.csv  grade a folder of notebooks (--help: limits, seed, tokens)
       kafkalab rules                          make docs/rules.md from the scenarios in data/rules/
       kafkalab atlas                          make docs/errors.md from the scenarios in data/errors/
       kafkalab bugs                           make docs/bugs.md from the scenarios in data/bugs/
       kafkalab profiles                       make docs/profiles.md: the same questions put to every profile
       kafkalab protocol                       make docs/protocol.md from the tables and registries of the code"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status of one command line."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    command = COMMANDS.get(arguments[0]) if arguments else None
    if command is None:
        print(USAGE, file=sys.stderr)
        return 2
    return command(arguments[1:], Path.cwd())


if __name__ == "__main__":
    sys.exit(main())
