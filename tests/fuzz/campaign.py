"""Run many cases of each kind, and count what became of them; what went wrong is kept, one of each."""

from __future__ import annotations

import logging
import resource
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz import oracles, saved_files, strategies, wire_bytes

SECONDS, MEGABYTES = 2.0, 200
"""The most of CPU time, and of memory beyond what the process had before it, that a case may take."""
KINDS = ("file", "code", "message", "command", "bytes", "saved")
SHARES = {"file": 0.35, "code": 0.2, "message": 0.15, "command": 0.1, "bytes": 0.1, "saved": 0.1}


@dataclass(slots=True)
class Report:
    """Counts of cases by their end; by error and place the first case of each failure; the slowest, and the largest."""

    ended: Counter[str] = field(default_factory=Counter)
    failures: dict[str, tuple[str, Any]] = field(default_factory=dict)
    slowest_s: float = 0.0
    memory_mb: int = 0

    @property
    def cases(self) -> int:
        return self.ended.total()


def portion(work: tuple[str, int, int]) -> Report:
    """Run `campaign` with kind, cases and number: what a process of a pool is given."""
    return campaign(*work)


def campaign(kind: str, cases: int, number: int = 0) -> Report:
    """Run so many cases of one kind; the same number gives the same cases."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="kafkalab-fuzz-") as name:
        meets, strategy = _parts(kind, Path(name))
        meets(_first(kind))  # what is loaded once is no case's memory

        @seed(number)
        @settings(
            max_examples=cases, database=None, deadline=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(strategy)
        def each(case: Any) -> None:
            before = _memory_from_here()
            began = time.process_time()
            try:
                ended = meets(case)
            except BaseException as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                key = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
                report.failures.setdefault(key, (str(error)[:300], case))
                ended = "FAILED"
            took = time.process_time() - began
            memory = _peak_mb() - before
            report.slowest_s, report.memory_mb = max(report.slowest_s, took), max(report.memory_mb, memory)
            if took > SECONDS:
                report.failures.setdefault(f"slow: {ended}", (f"{took:.1f} s", case))
            if memory > MEGABYTES:
                report.failures.setdefault(f"memory: {ended}", (f"{memory} MB", case))
            report.ended[f"{kind}: {ended}"] += 1

        logging.disable(logging.CRITICAL)
        try:
            each()
        finally:
            logging.disable(logging.NOTSET)
    return report


def _parts(kind: str, folder: Path) -> tuple[Callable[[Any], str], Any]:
    return {
        "file": (lambda case: oracles.file_is_met(case, folder), strategies.files()),
        "code": (lambda case: oracles.code_is_met(*case), strategies.codes()),
        "message": (lambda case: oracles.message_is_met(*case), strategies.messages()),
        "command": (lambda case: oracles.command_is_met(case, folder), strategies.commands()),
        "bytes": (wire_bytes.bytes_are_met, wire_bytes.frames()),
        "saved": (
            lambda case: saved_files.file_is_met(case[0], case[1], folder),
            strategies.draw_damaged(saved_files.samples() if kind == "saved" else {"": b""}),
        ),
    }[kind]


def _first(kind: str) -> Any:
    return {"file": b"{}", "code": ("K", "K1-0"), "message": (1, {}), "command": ["run"], "bytes": [b""],
            "saved": ("history", b"{}")}[kind]  # fmt: skip


def _memory_from_here() -> int:
    """Let the peak begin anew (Linux; what hypothesis keeps of earlier cases is no case's memory), and return it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    return _peak_mb()


def _peak_mb() -> int:
    with suppress(OSError):
        status = Path("/proc/self/status").read_text("ascii")
        return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
