"""`kafkalab tap HOST:PORT`: a proxy before a running Kafka that prints every frame, and can save them for pictures."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from kafkalab.cli.command_line import CommandLineError, number_from
from kafkalab.cli.serve import LAST_PORT, add_control_options
from kafkalab.cli.typed_faults import listen, print_struck
from kafkalab.limits import place_of


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options: where the Kafka is, where the doors are, faults, a file."""
    parser.add_argument("address", metavar="HOST:PORT", help="a broker of the running Kafka, without TLS")
    port = number_from(0, "port", LAST_PORT)
    parser.add_argument("--port", type=port, default=19092, help="the first broker's door, the others follow; 0: any")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1: this machine only)")
    parser.add_argument(
        "--faults", action="append", default=[], metavar="FAULT",
        help="Drop:EndTxnResponse#1, Delay:app:Produce#2:500 (of the client app), Hold:EndTxn#1, Release:EndTxn#1:3000 "
        "(ms after the start), Late:TxnOffsetCommit#1:EndTxn#2 (just before); also typed while it runs; without any "
        "the tap only reads",
    )  # fmt: skip
    parser.add_argument("--save", metavar="FILE", help="write every frame; load_tap(FILE) in a notebook shows them")
    parser.add_argument("--quiet", action="store_true", help="no line for each frame")
    add_control_options(parser, "allow faults, and control them over HTTP at this port; 0: any")


def act(options: argparse.Namespace, root: Path) -> int:
    """Pass frames on until SIGTERM or Control-C; print the doors when ready."""
    from kafkalab.wire.tap.gate import fault_of
    from kafkalab.wire.tap.proxy import TapError

    try:
        faults, upstream = list(map(fault_of, options.faults)), place_of(options.address)
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    logging.basicConfig(format="%(asctime)s %(message)s", stream=sys.stderr)
    logging.getLogger("kafkalab.tap").setLevel(logging.INFO)
    if options.control is not None:
        from kafkalab.cli.controlled import tap_controlled

        return tap_controlled(options, faults, None if options.quiet else _print)
    try:
        with open(options.save, "w", encoding="utf-8") if options.save else nullcontext() as file:
            asyncio.run(_tap(options, upstream, faults, file))
    except TapError as error:
        raise CommandLineError(str(error)) from None
    return 0


async def _tap(options: argparse.Namespace, upstream: tuple[str, int], faults: list[Any], file: Any) -> None:
    from kafkalab.wire.tap.gate import Gate
    from kafkalab.wire.tap.proxy import Proxy
    from kafkalab.wire.tap.recorder import Recorder
    from kafkalab.wire.tap.session import Session

    gate = Gate(allowed=bool(faults), when_struck=print_struck)
    recorder = Recorder(f"tap of {options.address}", most_events=0, on_frame=None if options.quiet else _print)
    proxy = Proxy(upstream, Session(recorder, file), gate, options.host, options.port)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        await proxy.open()
        for fault in faults:
            gate.plan(fault)
        stop_listening = listen(partial(type_fault, gate))
        print(f"ready: {proxy.bootstrap_servers}", flush=True)
        await ended.wait()
        stop_listening()
    finally:
        await proxy.close()
    for sentence in gate.describe_unused():
        print(sentence, flush=True)
    print(f"{recorder.frames_seen:,} frames passed", file=sys.stderr)


def type_fault(gate: Any, line: str) -> None:
    """Plan a fault that was typed; who types one allows it."""
    from kafkalab.wire.tap.gate import fault_of

    fault, gate.allowed = fault_of(line), True
    gate.plan(fault)


def _print(frame: Any) -> None:
    """One line for each frame as it passes: when, who to whom, its name, and the error of an answer."""
    error = f"  {frame.error}" if frame.error not in ("", "NONE") else ""
    print(f"{frame.sent_ms / 1000:10.3f}  {frame.sender} → {frame.receiver}  {frame.id} v{frame.version}{error}",
          flush=True)  # fmt: skip
