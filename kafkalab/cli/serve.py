"""`kafkalab serve`: the simulator's brokers for any Kafka client, on loopback."""

from __future__ import annotations

import argparse
import gc
import logging
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from kafkalab.cli.command_line import CommandLineError, integer, number_from
from kafkalab.cli.typed_faults import listen, print_struck
from kafkalab.limits import quote, whole_number
from kafkalab.protocol.api import REFERENCES, USUAL

LAST_PORT = 65_535
THRESHOLDS = 5_000, 5, 5
"""Of the garbage collector: what waits for it is at most 125,000 objects, so memory stays flat."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Brokers, ports, cluster level, topics, settings."""
    parser.add_argument("--brokers", type=number_from(1, most=9), default=3, metavar="N", help="how many brokers (3)")
    port = number_from(0, "port", LAST_PORT)
    parser.add_argument("--port", type=port, default=9092, help="the first broker's port, the others follow; 0: any")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1: this machine only)")
    parser.add_argument("--advertise", default="", metavar="NAME", help="the host that clients are told (as --host)")
    parser.add_argument("--cluster-level", type=int, default=2, metavar="N", help="transaction.version: 2 or 1 (2)")
    parser.add_argument("--kafka", default=USUAL, choices=list(REFERENCES), help=f"the release to be ({USUAL})")
    parser.add_argument("--topics", default="", metavar="NAME:N,...", help="topics with their partitions")
    parser.add_argument(
        "--config", action="append", default=[], metavar="NAME=VALUE", help="a broker setting, as Kafka names it"
    )
    keep = "keep the logs in this folder, and go on from there"
    parser.add_argument("--data", type=_folder_name, metavar="DIR", help=keep)
    parser.add_argument("--fsync", action="store_true", help="with --data: wait for the disk at every append")
    words = (
        "Drop:EndTxnResponse#1, Delay:app:Produce#2:500 (of the client app), Late:TxnOffsetCommit#1:EndTxn#2 (just "
        "before), Crash:b2:3000 (ms after the start); also typed while it runs"
    )
    parser.add_argument("--fault", action="append", default=[], metavar="FAULT", help=words)
    add_control_options(parser, "record all, and control faults, clock and verdict over HTTP at this port; 0: any")


def add_control_options(parser: argparse.ArgumentParser, what: str) -> None:
    """Add where the control interface listens, if it does."""
    port = number_from(0, "port", LAST_PORT)
    parser.add_argument("--control", type=port, metavar="PORT", help=f"{what} (docs/control.md)")
    host = "where control listens (127.0.0.1); whoever reaches it can press every fault"
    parser.add_argument("--control-host", default="127.0.0.1", metavar="HOST", help=host)


def act(options: argparse.Namespace, root: Path) -> int:
    """Serve until SIGTERM or Control-C; print a line when ready, and one for each fault that strikes, or has not."""
    if options.port + options.brokers - 1 > LAST_PORT:
        raise CommandLineError(f"the brokers take ports from --port on, and the last port there is is {LAST_PORT:,}")
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    if options.control is not None:
        with _lean_imports():
            from kafkalab.cli.controlled import serve_controlled
        return _act_controlled(options, serve_controlled)
    with _lean_imports():
        import asyncio

        from kafkalab.wire.live import RealTime, fault_of, scenario_of
        from kafkalab.wire.server import Server
    folder = None
    try:
        config = dict(map(_setting, options.config))
        faults = list(map(fault_of, options.fault))
        scenario = scenario_of(options.cluster_level, options.brokers, _topics(options.topics), config, options.kafka)
        folder = _folder(options) if options.data is not None else None
        live = RealTime(scenario, prepare=folder.prepare if folder else None)
        for fault in faults:
            live.strike(fault)
    except (ValueError, argparse.ArgumentTypeError) as error:
        if folder:
            folder.close()
        raise CommandLineError(str(error)) from None
    except OSError as error:
        if folder:
            folder.close()
        why = (error.strerror or str(error)).lower()
        raise CommandLineError(f"{error.filename or options.data}: {why}; make room, or name another folder") from None
    _allow_many_files()
    try:
        asyncio.run(_serve(Server(live), options.host, options.port, options.advertise))
    finally:
        if folder:
            folder.close()
    return 0


def _act_controlled(options: argparse.Namespace, serve_controlled: Any) -> int:
    if options.data is not None:
        raise CommandLineError("--control records everything from the beginning, so it does not go with --data")
    _allow_many_files()
    try:
        config = dict(map(_setting, options.config))
        status: int = serve_controlled(options, _topics(options.topics), config)
    except (ValueError, TypeError, argparse.ArgumentTypeError) as error:
        raise CommandLineError(str(error)) from None
    return status


def _allow_many_files() -> None:
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))


def _folder_name(text: str) -> Path:
    """Return the folder of this name; an empty one, as of a variable that is not set, is none."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of a folder, not an empty text")
    return Path(text)


def _folder(options: argparse.Namespace) -> Any:
    from kafkalab.wire.data.folder import DataFolder  # its modules are a tenth of the start

    return DataFolder(options.data, options.fsync)


@contextmanager
def _lean_imports() -> Iterator[None]:
    """Within, no garbage is collected, and libraries do not find what they only need elsewhere.

    asyncio would load ssl, which plain text does not need (0.02 s), and crc32c would look its own version up in the
    installed packages (0.03 s).
    """
    gc.disable()
    no_versions: Any = ModuleType("importlib.metadata")
    no_versions.version = lambda name: ""
    hidden: dict[str, Any] = {"ssl": None, "importlib.metadata": no_versions}
    hidden = {name: instead for name, instead in hidden.items() if name not in sys.modules}
    sys.modules.update(hidden)
    try:
        yield
    finally:
        gc.enable()
        for name in hidden:
            del sys.modules[name]


def _topics(text: str) -> dict[str, int]:
    """`_topics("orders:3,payments") == {"orders": 3, "payments": 1}`."""
    topics = {}
    for word in filter(None, text.split(",")):
        name, _, count = word.partition(":")
        topics[name] = whole_number(count or "1")
        if topics[name] < 0:
            raise ValueError(f"--topics orders:3,payments:1, not {quote(word)}")
    return topics


def _setting(text: str) -> tuple[str, object]:
    """`_setting("min.insync.replicas=2") == ("min_insync_replicas", 2)`; Kafka's names are taken, and the lab's."""
    from kafkalab.broker.config_names import DESCRIBED  # the brokers are loaded by now

    name, _, value = text.partition("=")
    words = {"true": True, "false": False}
    if not value:
        raise ValueError(f"--config min.insync.replicas=2, not {quote(text)}")
    return DESCRIBED.get(name) or name.replace(".", "_"), words[value] if value in words else integer(value)


async def _serve(server: Any, host: str, port: int, advertised: str) -> None:
    import asyncio

    from kafkalab.wire.live import fault_of

    await server.listen(host, port, advertised)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    server.live.watch_faults(print_struck)
    stop_listening = listen(lambda line: server.live.strike(fault_of(line)))
    print(f"ready: {server.bootstrap_servers}", flush=True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    await ended.wait()
    stop_listening()
    for sentence in server.live.unused_faults():
        print(sentence, flush=True)
    await server.close()
