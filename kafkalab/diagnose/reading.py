"""Read files line by line into evidence: any mixture and order of texts, saved scenarios, captures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from kafkalab.diagnose.evidence import SAMPLES, Evidence, Unknown
from kafkalab.diagnose.facts import Source
from kafkalab.diagnose.readers.dump_log import DumpLogReader
from kafkalab.diagnose.readers.log_lines import LogReader, passes
from kafkalab.diagnose.readers.reader import Place, read_command
from kafkalab.diagnose.readers.tables import TableReader
from kafkalab.diagnose.redact import Redactor
from kafkalab.diagnose.saved import SCENARIO, is_capture, read_capture, read_scenario

LINE = 65_536
"""Bytes of a line that are read; what follows is skipped, and the line counted as cut."""
PREFIX = re.compile(r"(\[[\w./@:-]{2,100}\]|[\w./@:-]{2,100} +\|) (?=\W{0,2}\d{4}-\d\d-\d\d|%\d\|\d)")
"""The name of a container before the time of a log line, as kubectl and docker compose print it."""
PREFIXES = 100
MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def lines_of(file: BinaryIO) -> Iterator[tuple[str, bool]]:
    """Yield each line without its end, and whether it was cut."""
    start = file.read(2)
    if start in MARKS:
        yield from _lines_of_wide(file, MARKS[start])
        return
    while True:
        raw = start + file.readline(LINE - len(start))
        start = b""
        if not raw:
            return
        cut = False
        if len(raw) >= LINE and not raw.endswith(b"\n"):
            while True:
                more = file.readline(LINE)
                cut = cut or bool(more.strip(b"\r\n"))
                if not more or more.endswith(b"\n"):
                    break
        if raw == b"\n":
            yield "", False
        else:
            yield raw.decode("utf-8", "replace").rstrip("\r\n"), cut


def _lines_of_wide(file: BinaryIO, encoding: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a text in UTF-16, as PowerShell saves it."""
    rest, line = b"", ""
    while piece := file.read(LINE):
        rest += piece
        even = len(rest) & ~1
        line += rest[:even].decode(encoding, "replace")
        rest = rest[even:]
        *whole, line = line.split("\n")
        yield from ((text.rstrip("\r")[:LINE], len(text) > LINE) for text in whole)
        if len(line) > LINE:
            yield line[:LINE], True
            line = ""
    if line:
        yield line.rstrip("\r"), False


def read_text(name: str, lines: Iterable[tuple[str, bool]], evidence: Evidence) -> None:
    """Read one text, whose sources are called `name`."""
    place, redactor, counts = Place(name), Redactor(), evidence.files.setdefault(name, Unknown())
    dump, tables, logs = DumpLogReader(), TableReader(), LogReader()
    containers = Containers()
    for line, cut in lines:
        place.line += 1
        if cut:
            counts.cut += 1
        text = redactor.redact(line)
        begin = text[:1]
        if begin in " \ufeff>" and not text.startswith("> kafka"):
            text = text.lstrip("\ufeff").removeprefix("> ")
            if text.lstrip().startswith(("baseOffset: ", "| ")):
                text = text.lstrip()
        text = containers.strip(text, place)
        place.text = text
        if cut:
            counts.unknown += 1
            _sample(counts, place)
        elif dump.read(text, place, evidence):
            counts.used += 1
        elif not text or text.isspace() or read_command(text, place, evidence):
            counts.passed += 1
        elif tables.read(text, place, evidence) or logs.read(text, place, evidence):
            counts.used += 1
        elif passes(text):
            counts.passed += 1
        else:
            counts.unknown += 1
            _sample(counts, place)
    counts.lines = place.line


class Containers:
    """Takes the names of containers off the lines of a file in which the logs of several were put together."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def strip(self, line: str, place: Place) -> str:
        """Return the line without its container's name, and note that in `place`."""
        place.process = ""
        found = PREFIX.match(line)
        if found is not None:
            if len(self._known) < PREFIXES:
                self._known[found[1]] = found[1].strip("[] |")
            place.process = self._known.get(found[1], "")
            return line[found.end() :]
        for begin, process in self._known.items():
            if line.startswith(begin):
                place.process = process
                return line[len(begin) + 1 :]
        return line


def _sample(counts: Unknown, place: Place) -> None:
    if len(counts.samples) < SAMPLES:
        counts.samples.append(Source(place.file, place.line, place.text[:160].strip()))


def read_files(paths: Iterable[Path], evidence: Evidence | None = None) -> Evidence:
    """Read the files, and all regular files of folders, and return what they say.

    OSError as of `open`; ValueError for a capture that is damaged.
    """
    evidence = Evidence() if evidence is None else evidence
    for path in paths:
        if is_capture(path):
            read_capture(path, evidence)
            continue
        inside = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
        for one in inside:
            if one.suffix == SCENARIO:
                read_scenario(one.name, one, evidence)
                continue
            with one.open("rb") as file:
                read_text(_name(one, evidence), lines_of(file), evidence)
    return evidence


def _name(path: Path, evidence: Evidence) -> str:
    """Return the file's name, with its folder if another file has the same name."""
    return path.name if path.name not in evidence.files else str(path)
