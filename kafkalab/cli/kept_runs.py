"""A file of the runs that a search has made: the next search for the same takes them from there, and goes on."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import CodeType
from typing import Any

import kafkalab
from kafkalab.checks.check import Finding
from kafkalab.cli.trial_encoding import from_columns, to_columns
from kafkalab.explore.experiment import Job, Trial
from kafkalab.explore.search import Mapper
from kafkalab.limits import Limit, list_names, quote, truncate
from kafkalab.saved_data import open_regular

COMPACT = (",", ":")
TRIAL = Limit(10_000_000, "bytes of one run")
COMMIT_EVERY = 16
"""After how many runs the file is written: a process that is killed loses no more."""

OF_CODE = (
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_code", "co_exceptiontable"),
    *("co_names", "co_varnames", "co_freevars", "co_cellvars"),
)


COLUMNS = [("job", "TEXT"), ("trial", "BLOB")]


class KeptRuns:
    """Runs by what was tried. The key has the scenario, its programs' code, the faults, and kafkalab's own code."""

    def __init__(self, path: str | Path) -> None:
        """Open or make the file. ValueError for a file that is something else, or that another process writes to."""
        self.taken, self.name = 0, quote(str(path))
        with suppress(FileNotFoundError), open_regular(path):
            pass
        with ExitStack() as opened:
            with self._answers():
                self.file = opened.enter_context(closing(sqlite3.connect(path)))
                self.file.execute("CREATE TABLE IF NOT EXISTS runs (job TEXT PRIMARY KEY, trial BLOB NOT NULL)")
            columns = [tuple(row[1:3]) for row in self._ask("PRAGMA table_info(runs)")]
            if columns != COLUMNS:
                names = list_names(" ".join(map(str, column)) for column in columns)
                raise ValueError(f"{self.name} cannot keep runs: its table runs has other columns, {names}")
            opened.pop_all()

    @contextmanager
    def _answers(self) -> Iterator[None]:
        """Within, an error of the database is a ValueError with the file's name and what to do."""
        try:
            yield
        except sqlite3.Error as error:
            remedy = "wait for the other process" if "locked" in str(error) else "name another file"
            raise ValueError(f"{self.name} cannot keep runs: {truncate(error)}; {remedy}") from None

    def _ask(self, sql: str, *values: object) -> list[Any]:
        with self._answers():
            return self.file.execute(sql, values).fetchall()

    def _commit(self) -> None:
        with self._answers():
            self.file.commit()

    def __len__(self) -> int:
        """Return how many runs the file has."""
        return int(self._ask("SELECT count(*) FROM runs")[0][0])

    def find_trial(self, key: str) -> Trial | None:
        """Return what the run showed, None if it was never made. ValueError if that cannot be read."""
        rows = self._ask("SELECT trial FROM runs WHERE job = ?", key)
        if not rows:
            return None
        try:
            text = _inflate(rows[0][0])
            return _trial(json.loads(text))
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise ValueError(f"{self.name} holds a run that cannot be read; remove the file, or name another") from None

    def keep(self, key: str, trial: Trial) -> None:
        """Write what the run showed; it is on disk at the next commit."""
        text = zlib.compress(json.dumps(_row(trial), separators=COMPACT).encode())
        self._ask("INSERT OR REPLACE INTO runs VALUES (?, ?)", key, text)

    def around(self, mapper: Mapper) -> Mapper:
        """Return a mapper that takes runs from the file, and makes the others with `mapper` and keeps them."""

        def map_missing(make: Callable[[Job], Trial], jobs: list[Job]) -> Iterator[Trial]:
            keys = [key_of(job) for job in jobs]
            found = {key: trial for key in keys if (trial := self.find_trial(key)) is not None}
            made = iter(mapper(make, [job for job, key in zip(jobs, keys, strict=True) if key not in found]))
            try:
                for number, key in enumerate(keys, 1):
                    if key in found:
                        self.taken += 1
                        yield found[key]
                        continue
                    trial = next(made)
                    self.keep(key, trial)
                    if number % COMMIT_EVERY == 0:
                        self._commit()
                    yield trial
            finally:
                self._commit()

        return map_missing

    def close(self) -> None:
        """Close the file; it can be opened again."""
        self.file.close()


@contextmanager
def kept_runs(path: str | Path | None, mapper: Mapper) -> Iterator[Mapper]:
    """Within, the mapper keeps its runs in the file; the same mapper where `path` is None."""
    if path is None:
        yield mapper
        return
    with closing(KeptRuns(path)) as runs:
        yield runs.around(mapper)


def key_of(job: Job) -> str:
    """Return a digest of all that the run follows from. ValueError for a program that cannot be saved."""
    programs = [_content(p.function().__code__) for p in job.scenario.programs]
    what = (job.find, job.restored, job.clean, job.kinds, job.unsupported, job.read)
    columns = [to_columns([one]) for one in job.sequences]
    text = json.dumps([_own_code(), job.scenario.to_json(), programs, what, columns])
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _content(value: Any) -> Any:
    """Return as JSON what a constant of a program is; of code what it does, without its lines.

    `marshal` writes the same code in other bytes once a function within it is referred to from elsewhere.
    """
    if isinstance(value, CodeType):
        return [repr([getattr(value, name) for name in OF_CODE]), [_content(each) for each in value.co_consts]]
    if isinstance(value, frozenset):
        return ["frozenset", *sorted(f"{type(each).__name__} {each!r}" for each in value)]
    if isinstance(value, tuple):
        return ["tuple", *map(_content, value)]
    return f"{type(value).__name__} {value!r}"


@cache
def _own_code() -> str:
    """Return a digest of kafkalab's sources: another simulator may show something else."""
    sha = blake2b(digest_size=16)
    for path in sorted(Path(kafkalab.__file__).parent.rglob("*.py")):
        sha.update(path.read_bytes())
    return sha.hexdigest()


def _inflate(data: bytes) -> bytes:
    """Return compressed bytes as they were. ValueError if they are more than a run can have."""
    stream = zlib.decompressobj()
    text = stream.decompress(data, TRIAL.most)
    if stream.unconsumed_tail or not stream.eof:
        raise ValueError(f"more than {TRIAL.most:,} {TRIAL.of}, or cut off")
    return text


def _row(trial: Trial) -> dict[str, Any]:
    names = ("end", "prevented", "future", "left_out", "in_vain", "usual", "runs")
    row = {name: getattr(trial, name) for name in names}
    row["findings"] = [asdict(finding) for finding in trial.findings]
    return row | {name: to_columns(getattr(trial, name)) for name in ("follow", "late")}


def _trial(row: dict[str, Any]) -> Trial:
    findings = tuple(Finding(**{k: _tuple(v) for k, v in one.items()}) for one in row.pop("findings"))
    follow, late = (from_columns(row.pop(name)) for name in ("follow", "late"))
    return Trial(findings=findings, follow=follow, late=late, **row)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
