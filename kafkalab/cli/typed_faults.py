"""Faults typed into `kafkalab serve` or `tap` while it runs, one a line: `Crash:b2`, `Drop:EndTxnResponse#3`."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

log = logging.getLogger("kafkalab.wire")


def listen(strike: Callable[[str], None]) -> Callable[[], None]:
    """Call `strike` with each line of stdin; return a function that stops listening.

    Each fault is logged, or the reason for which `strike` raises ValueError. Files and /dev/null are not listened to,
    nor is a terminal while another job has it: reading would stop the process.
    """
    import asyncio  # here, so that `serve` decides what comes with it

    loop, rest = asyncio.get_running_loop(), bytearray()
    number = sys.stdin.fileno() if sys.stdin is not None else -1

    def stop() -> None:
        loop.remove_reader(number)

    def read() -> None:
        data = os.read(number, 65_536) if _is_ours(number) else b""
        if not data:
            stop()
        rest.extend(data)
        while b"\n" in rest:
            line, _, after = bytes(rest).partition(b"\n")
            rest[:] = after
            fault = line.decode(errors="replace").strip()
            try:
                strike(fault)
                log.warning("a fault is typed: %s", fault)
            except ValueError as error:
                log.warning("%s", error)

    try:
        loop.add_reader(number, read)
    except (OSError, ValueError):  # a file, or no stdin
        return lambda: None
    return stop


def _is_ours(number: int) -> bool:
    return not os.isatty(number) or os.tcgetpgrp(number) == os.getpgrp()


def print_struck(fault: object) -> None:
    """Print a line for a fault that strikes."""
    print(f"struck: {fault!r}", flush=True)
