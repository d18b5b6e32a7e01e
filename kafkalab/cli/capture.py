"""`kafkalab capture HOST:PORT --topics orders --out night`: topics of a running Kafka as a history, for `audit`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from kafkalab.cli.command_line import CommandLineError, number_from, stoppable
from kafkalab.cli.history_place import history_place
from kafkalab.limits import place_of, quote, truncate, whole_number
from kafkalab.saved_data import CAPTURE, CAPTURED, json_file

if TYPE_CHECKING:
    from kafkalab.wire.capture.reading import Chunk, LogKnowledge
    from kafkalab.wire.capture.source import Source
    from kafkalab.wire.capture.state import CaptureState

    Say = Callable[[CaptureState], None]
    Chunks = Callable[[Source, CaptureState, LogKnowledge], Iterator[Chunk]]

PROGRESS_S = 1.0
ROUND_S = 1
"""A capture that follows looks for more this often, unless it is told otherwise."""
ENTRY = ["producer_id", "producer_epoch", "state", "partitions", "step"]
"""The columns of an entry of the transaction log that `LogKnowledge.add` takes."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options: where the Kafka is, which topics, from where on, into which folder."""
    parser.description = (
        "Copy topics of a running Kafka, its transaction log, and the offsets that groups have committed of these "
        "topics into a history for `kafkalab audit`. Reads only: it joins no group and commits no offset."
    )
    parser.add_argument("address", metavar="HOST:PORT", help="a broker of the running Kafka, without TLS")
    parser.add_argument("--topics", required=True, metavar="NAMES", help="with commas between")
    parser.add_argument("--out", required=True, metavar="PATH", help="a new folder, or one that was not finished")
    parser.add_argument(
        "--from", dest="start", default="earliest", metavar="PLACE",
        help="earliest, an offset, or a time such as 2026-11-22T22:00 (earliest)",
    )  # fmt: skip
    parser.add_argument(
        "--follow", nargs="?", type=number_from(1, "number of seconds", 3_600), const=ROUND_S, metavar="SECONDS",
        help="go on until Control-C: every second, or so many, write what has arrived; without it the command finishes "
        "such a folder",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no line of progress")


def act(options: argparse.Namespace, root: Path) -> int:
    """Read what is missing, and write the list of files last. CommandLineError for what cannot be read."""
    try:
        from kafkalab.spark.storage.chunks import write_index
        from kafkalab.wire.capture.capture import capture
        from kafkalab.wire.capture.source import CaptureError, Source
    except ModuleNotFoundError as missing:
        raise CommandLineError(f"{missing.name} is missing: pip install 'kafkalab-course[wire,spark]'") from None
    topics = list(dict.fromkeys(filter(None, options.topics.split(","))))
    if not topics:
        raise CommandLineError("--topics names no topic")
    folder, start = history_place(options.out), _start(options.start)
    if not isinstance(folder, Path):
        raise CommandLineError(f"a capture goes to a folder of this machine; copy it to {folder} when it is whole")
    began = time.monotonic()
    try:
        source = Source(place_of(options.address))
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    try:
        with stoppable(), _progress(options.quiet) as say:
            state = _state(folder, source, topics, start)
            if options.follow:
                _follow(folder, source, (topics, start), options.follow, say)
            _read(folder, source, state, capture, _collect_known(folder), say)
            write_index(folder, state.buckets)
    except CaptureError as error:
        raise CommandLineError(f"{error}; what was read stays, and the same command goes on from there") from None
    except KeyboardInterrupt:
        if options.follow:
            print(f"stopped; the same command goes on from here, and without --follow it finishes {folder}")
            return 0
        raise CommandLineError("stopped; the same command goes on from here") from None
    finally:
        source.close()
    rows = sum(one.rows for one in state.partitions.values())
    seconds = time.monotonic() - began
    print(f"{folder} is written: {rows:,} rows in {seconds:.1f} s; kafkalab audit {folder} says what a log can tell")
    return 0


def _start(text: str) -> str:
    """`_start("2026-11-22T22:00") == "@…"`: milliseconds since 1970, in this machine's time zone unless it is given."""
    if text == "earliest" or whole_number(text) >= 0:
        return text
    try:
        return f"@{int(datetime.fromisoformat(text).timestamp() * 1000)}"
    except ValueError:
        raise CommandLineError(f"--from earliest, an offset or a time, not {quote(text)}") from None


def _state(folder: Path, source: Source, topics: list[str], start: str) -> CaptureState:
    """The state of the capture in the folder, or of a new one."""
    from kafkalab.spark.storage.chunks import remove_after
    from kafkalab.spark.storage.history_files import INDEX, fitting_buckets
    from kafkalab.wire.capture.capture import begin
    from kafkalab.wire.capture.state import CaptureState

    if (folder / INDEX).exists():
        raise CommandLineError(f"{folder} is a whole history already; give --out a new folder")
    saved = folder / CAPTURE
    if saved.exists():
        try:
            state = CaptureState.from_json(json_file(saved, CAPTURED))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CommandLineError(f"{saved} is damaged ({truncate(error)}); remove {folder}") from None
        if (state.topics, state.start) != (topics, start):
            raise CommandLineError(f"{folder} was begun with --topics {','.join(state.topics)} --from {state.start}")
        remove_after(folder, state.chunks)
        return state
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise CommandLineError(f"{folder} is there already, and is no capture; give --out a new folder")
    state = begin(source, topics, start)
    folder.mkdir(parents=True, exist_ok=True)
    state.buckets = fitting_buckets(sum(one.end - one.next for one in state.partitions.values()))
    _save(folder, state)
    return state


def _follow(folder: Path, source: Source, asked: tuple[list[str], str], seconds: int, say: Say) -> NoReturn:
    """Write what arrives, round by round. A round that fails is taken up from what was saved; its reason is said once.
    """
    from kafkalab.wire.capture.capture import read_round
    from kafkalab.wire.capture.source import CaptureError

    said, state = "", None
    while True:
        try:
            if state is None:
                state = _state(folder, source, *asked)
                known = _collect_known(folder)
            _read(folder, source, state, read_round, known, say)
            said = ""
        except CaptureError as error:
            state = None
            if str(error) != said:
                said = str(error)
                print(f"{said}; tried again every {seconds} s", file=sys.stderr, flush=True)
        time.sleep(seconds)


def _read(
    folder: Path, source: Source, state: CaptureState, chunks_of: Chunks, known: LogKnowledge, say: Say
) -> None:
    """Write each chunk, then the state that says so."""
    from kafkalab.spark.storage.chunks import write_chunk

    for chunk in chunks_of(source, state, known):
        write_chunk(folder, state.chunks, chunk.tables, state.buckets)
        if entries := chunk.tables.get("transactions"):
            known.add(zip(*(entries[name] for name in ENTRY), strict=True))
        state.chunks += 1
        _save(folder, state)
        say(state)
    if state.whole < state.chunks:
        state.whole = state.chunks
        _save(folder, state)


def _collect_known(folder: Path) -> LogKnowledge:
    """Return what the entries of the transaction log that were written say."""
    from kafkalab.spark.storage.chunks import rows_of
    from kafkalab.wire.capture.reading import LogKnowledge

    known = LogKnowledge()
    known.add(rows_of(folder, "transactions", ENTRY))
    return known


def _save(folder: Path, state: CaptureState) -> None:
    """Write the state whole, or not at all."""
    unfinished = folder / f"_{CAPTURE}"
    unfinished.write_text(json.dumps(state.as_json(), indent=1) + "\n", encoding="utf-8")
    unfinished.replace(folder / CAPTURE)


@contextmanager
def _progress(quiet: bool) -> Iterator[Say]:
    """A function that replaces the line of progress on stderr, at most once a second."""
    shown = [0.0]

    def say(state: CaptureState) -> None:
        if quiet or time.monotonic() - shown[0] < PROGRESS_S:
            return
        shown[0] = time.monotonic()
        parts = state.partitions.values()
        done, every = (sum(getattr(p, name) - p.start for p in parts) for name in ("next", "end"))
        rows = sum(p.rows for p in parts)
        print(f"\r{rows:,} rows, {100 * done // max(every, 1)} % of the offsets ", end="", file=sys.stderr, flush=True)

    try:
        yield say
    finally:
        if shown[0]:
            print(file=sys.stderr)
