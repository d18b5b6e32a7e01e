"""Go's franz-go and JavaScript's kafkajs as the program's clients; both are installed once, into build/clients."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.programs_found import give_up
from tests.wire.clients.told import BUILD, HERE, Told


def go(servers: str) -> Told:
    """Start the program in Go."""
    return Told(servers, [str(go_program())], ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"))


def javascript(servers: str) -> Told:
    """Start the program in JavaScript."""
    command = ("node", str(HERE / "javascript" / "client.js"))
    fenced = ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
    return Told(servers, command, fenced, {"NODE_PATH": str(node_modules())})


def go_program() -> Path:
    """Build go/client.go, unless that is done; skip the test without Go or its modules."""
    made, sources = BUILD / "franz-go", [HERE / "go" / name for name in ("client.go", "go.mod", "go.sum")]
    if not made.exists() or made.stat().st_mtime < max(one.stat().st_mtime for one in sources):
        _need("go", "Go's client needs go")
        command = ("go", "build", "-mod=readonly", "-o", str(made), ".")
        _install(command, HERE / "go", "Go's client could not be built")
    return made


def node_modules() -> Path:
    """Install what javascript/package.json pins, unless that is done; skip the test without Node or its packages."""
    _need("node", "the JavaScript client needs node")
    folder, wanted = BUILD / "javascript", HERE / "javascript" / "package.json"
    here = folder / "package.json"
    if not here.exists() or here.read_text(encoding="utf-8") != wanted.read_text(encoding="utf-8"):
        _need("npm", "the JavaScript client needs npm")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(wanted, here)
        command = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
        try:
            _install(command, folder, "the JavaScript client could not be installed")
        except BaseException:
            here.unlink()
            raise
    return folder / "node_modules"


def _need(program: str, why: str) -> None:
    if shutil.which(program) is None:
        give_up(why, program)


def _install(command: tuple[str, ...], folder: Path, what: str) -> None:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if run.returncode:
        give_up(f"{what}: {run.stderr.strip()[-300:]}", command[0])
