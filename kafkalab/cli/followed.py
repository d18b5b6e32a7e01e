"""`kafkalab audit PATH --follow`: what the streaming audits find in a capture while it is written."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING

from kafkalab.checks.check import FORBIDDEN, UNKNOWN, VIOLATED, Finding
from kafkalab.cli.captured import lacking_of
from kafkalab.cli.command_line import CommandLineError, stoppable
from kafkalab.cli.spark_options import spark_for
from kafkalab.saved_data import CAPTURE

if TYPE_CHECKING:
    from kafkalab.spark.streaming.sink import FindingsFolder

WATCHED = "watched"
"""The folder in that of the capture that has the findings and how far the query is."""
LOOK_S = 1


def follow(options: argparse.Namespace, path: Path) -> int:
    """Print findings as they come, until Control-C, or until a capture that is finished has been read.

    Return 1 if anything forbidden was found, in this run or one before.
    """
    if not (path / CAPTURE).is_file():
        raise CommandLineError(f"{path} is no capture; `kafkalab capture --follow` makes one")
    lacking = lacking_of(path)
    with stoppable(), spark_for(options) as spark, _asked_to_stop() as stop:
        from kafkalab.spark.storage.history_files import INDEX
        from kafkalab.spark.streaming.captured import read_capture
        from kafkalab.spark.streaming.query import watch
        from kafkalab.spark.streaming.sink import FindingsFolder

        folder = FindingsFolder(path / WATCHED)
        query = watch(read_capture(spark, path), folder.path)
        told: list[str] = []
        try:
            print(f"watching {path}; Control-C ends it, and the same command goes on from there", flush=True)
            while not (path / INDEX).exists() and not stop.wait(LOOK_S):
                if not query.isActive:
                    query.awaitTermination()  # raises what ended it
                _tell(folder, told)
            if not stop.is_set():
                query.processAllAvailable()
        finally:
            query.stop()
    _tell(folder, told)
    found = [finding for _, finding in folder.read_findings()]
    print("\n".join(_verdicts(found, lacking)))
    return int(any(one.policy == FORBIDDEN for one in found))


@contextmanager
def _asked_to_stop() -> Iterator[Event]:
    """Give an event that Control-C and SIGTERM set: an exception in the middle of a call to Java would break it."""
    stop, numbers = Event(), (signal.SIGINT, signal.SIGTERM)
    if current_thread() is not main_thread():
        yield stop
        return
    before = [signal.signal(number, lambda *_: stop.set()) for number in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _tell(folder: FindingsFolder, told: list[str]) -> None:
    """Print the findings of the batches that were not told yet."""
    for file in folder.files():
        if file.name not in told:
            told.append(file.name)
            for _, one in folder.in_file(file):
                if one.policy != UNKNOWN:
                    print(f"{one.anomaly} ({one.policy}): {one.text}", flush=True)


def _verdicts(found: list[Finding], lacking: dict[str, str]) -> Iterator[str]:
    """Yield a line for each streaming audit. None says that all is well: more may come."""
    from kafkalab.spark.streaming.group import NAMES

    for name in NAMES:
        policies = [one.policy for one in found if one.anomaly == name]
        if FORBIDDEN in policies:
            yield f"{name}: {VIOLATED}, {policies.count(FORBIDDEN):,} found"
        elif UNKNOWN in policies:
            yield f"{name}: {UNKNOWN}; the audit needs {lacking.get(name, 'tables that the history lacks')}"
        else:
            yield f"{name}: {len(policies):,} found so far"
