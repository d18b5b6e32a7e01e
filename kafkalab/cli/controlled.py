"""`kafkalab serve --control` and `kafkalab tap --control`: the same, with an HTTP server beside it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from typing import Any

from kafkalab.cli.command_line import CommandLineError
from kafkalab.cli.typed_faults import listen, print_struck
from kafkalab.control.http_server import ControlServer, is_loopback
from kafkalab.control.of_lab import OPERATIONS, strike
from kafkalab.faults.fault import describe_unused
from kafkalab.faults.registry import TYPES, fault_of_words
from kafkalab.testing.kafka_lab import KafkaLab
from kafkalab.wire.live import EXAMPLES

log = logging.getLogger("kafkalab.control")


def start_control(source: Any, table: Any, title: str, options: argparse.Namespace, *names: str) -> ControlServer:
    """Start the HTTP server where the options say, and warn if that is not this machine only."""
    server = ControlServer(source, table, title, options.control_host, options.control, tuple(filter(None, names)))
    if not is_loopback(options.control_host):
        log.warning("control listens on %s: whoever reaches it can press every fault", options.control_host)
    return server


def serve_controlled(options: argparse.Namespace, topics: dict[str, int], config: dict[str, Any]) -> int:
    """Serve until SIGTERM or Control-C; print where the brokers and the control are. ValueError for wrong options."""
    faults = [fault_of_words(text, TYPES.values(), EXAMPLES) for text in options.fault]
    places = {"port": options.port, "host": options.host, "advertised": options.advertise}
    config = {"allow_unused_faults": True, "group_initial_rebalance_delay_ms": 3_000, **config}
    with KafkaLab(options.brokers, options.cluster_level, topics, kafka=options.kafka, **places, **config) as lab:
        lab.do(lambda: setattr(lab.cluster.network.frame_faults, "when_struck", print_struck))
        for fault in faults:
            strike(lab, fault)
        control = start_control(lab, OPERATIONS, "kafkalab serve", options, options.advertise)
        try:
            typed = lambda line: strike(lab, fault_of_words(line, TYPES.values(), EXAMPLES))  # noqa: E731
            asyncio.run(_wait(lab.bootstrap_servers, control, typed))
        finally:
            control.close()
        was_sent = lab.cluster.network.was_sent
        for fault in lab.unused_faults:
            print(describe_unused(fault, was_sent), flush=True)
    return 0


def tap_controlled(options: argparse.Namespace, faults: list[Any], on_frame: Any) -> int:
    """Pass frames on until SIGTERM or Control-C; print where the doors and the control are."""
    from kafkalab.control.of_tap import OPERATIONS as OF_TAP
    from kafkalab.live.tap import Tap
    from kafkalab.wire.tap.gate import fault_of
    from kafkalab.wire.tap.proxy import TapError

    try:
        tap = Tap(options.address, options.port, True, options.host, options.save or "", on_frame=on_frame)
    except TapError as error:
        raise CommandLineError(str(error)) from None
    with tap:
        tap.gate.when_struck = print_struck
        tap.do(lambda: list(map(tap.gate.plan, faults)))
        control = start_control(tap, OF_TAP, "kafkalab tap", options)
        try:
            asyncio.run(_wait(tap.bootstrap_servers, control, lambda line: tap.strike(fault_of(line))))
        finally:
            control.close()
        unused = tap.do(tap.gate.describe_unused)
    print(*unused, sep="\n", end="\n" if unused else "", flush=True)
    print(f"{tap.run.trace.steps:,} events recorded", file=sys.stderr)
    return 0


async def _wait(bootstrap_servers: str, control: ControlServer, strike_words: Any = None) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    stop_listening = listen(strike_words) if strike_words is not None else lambda: None
    print(f"ready: {bootstrap_servers}\ncontrol: {control.url}", flush=True)
    await ended.wait()
    stop_listening()
