"""docs/scorecard.md and data/scorecard: the cells that were run, and the bad ones by their causes."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scorecard.cells import BAD, CELLS, DIES, KEEPS, NO_FAULT, UNKNOWN, Row, line_of, newest
from tests.scorecard.engine import harder
from tests.scorecard.trials import DOWN_AMONG_THREE_MS, KINDS
from tests.wire.clients.running import CLIENTS

ROOT = Path(__file__).parents[2]
PAGE, DATA = ROOT / "docs" / "scorecard.md", ROOT / "data" / "scorecard"
CAUSES = Path(__file__).with_name("causes.toml")
BEGIN, END = "<!-- what was run -->", "<!-- until here -->"
"""Between these stands what `--write` puts into the page."""
ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+:\d+")
HUNG_ONCE = re.compile(r"; hung in \d of \d runs$")
SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A cause of bad cells: in which clients, which cells, under which faults; what it is, and what is public."""

    name: str
    clients: tuple[str, ...]
    cells: tuple[str, ...]
    faults: str
    text: str
    public: str
    remedy: str
    kafka: str = ""
    """What is known of Apache Kafka beside the cells that were run there."""

    def fits(self, row: Row) -> bool:
        """Return True if it is the cause of this bad cell."""
        return row.client in self.clients and row.cell in self.cells and bool(re.search(self.faults, row.fault))


def read_causes(path: Path = CAUSES) -> list[Cause]:
    """Return the known causes."""
    rows = tomllib.loads(path.read_text("utf-8")).get("cause", [])
    found: list[dict[str, Any]] = [
        {name: tuple(v) if isinstance(v, list) else v.strip() for name, v in row.items()} for row in rows
    ]
    return [Cause(**fields) for fields in found]


def cause_of(row: Row, causes: Sequence[Cause]) -> Cause | None:
    """Return the cause of a bad cell, the first that fits; None if nobody has explained it."""
    return next((cause for cause in causes if cause.fits(row)), None)


def write_page(rows: Iterable[Row], runs: Path) -> None:
    """Write the cells into data/scorecard, with a bad run of each client and cause, and their tables into the page."""
    found = sorted(newest(rows), key=lambda row: (CLIENTS.index(row.client), row.brokers, -row.level))
    DATA.mkdir(parents=True, exist_ok=True)
    for old in DATA.glob("*.klab"):
        old.unlink()
    (DATA / "cells.jsonl").write_text("".join(map(line_of, found)), "utf-8")
    for row in saved_runs(found):
        if (runs / row.file).exists():
            shutil.copy(runs / row.file, DATA / row.file)
    text = PAGE.read_text("utf-8")
    before, after = text[: text.index(BEGIN)], text[text.index(END) :]
    PAGE.write_text(before + tables(found) + after, "utf-8")


def saved_runs(rows: Sequence[Row]) -> list[Row]:
    """Return the bad cells whose runs are kept: the first of each client and cause."""
    causes = read_causes()
    firsts: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.cell in BAD:
            cause = cause_of(row, causes)
            firsts.setdefault((row.client, cause.name if cause else row.fault), row)
    return list(firsts.values())


def tables(rows: Sequence[Row]) -> str:
    """Return what the page says of these cells."""
    lines = [BEGIN, "", *_summary(rows), "", *_by_kind(rows), "", *_bad_cells(rows), *_deaths(rows), *_unknown(rows)]
    return "\n".join(lines)


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    tried = [row for row in rows if row.fault != NO_FAULT]
    runs, days = sum(row.runs for row in tried), sorted({row.day for row in rows if row.day})
    seconds = sum(row.seconds for row in tried)
    yield (
        f"{len(tried)} cells were run, in {runs} runs, on {' to '.join(dict.fromkeys((days[0], days[-1])))}. "
        f"A cell took {seconds / len(tried):.1f} s on average, with others beside it on a busy machine. "
        f"{_missing(rows)}"
    )
    yield ""
    yield f"| client | version | brokers | level | cells | {' | '.join(CELLS)} |"
    yield "|---|---|--:|--:|--:|" + "--:|" * len(CELLS)
    for setting in dict.fromkeys(row.setting for row in tried):
        here = [row for row in tried if row.setting == setting]
        count = Counter(row.cell for row in here)
        cells = " | ".join(str(count[cell]) if count[cell] else "" for cell in CELLS)
        version = here[0].version
        yield f"| {setting.client} | {version} | {setting.brokers} | {setting.level} | {len(here)} | {cells} |"


def _missing(rows: Sequence[Row]) -> str:
    """Return a sentence about the cells that were not run: single faults, and the bad ones again."""
    done = {row.place for row in rows}
    planned = {(r.client, 1, kind): number for r in rows for kind, number in r.planned.items()}
    planned |= {(client, 3, kind): number for (client, _, kind), number in planned.items() if kind == "CrashAt"}
    run = Counter((row.client, row.brokers, _kind(row)) for row in rows if _is_planned(row))
    left = sum(max(0, number - run[place]) for place, number in planned.items())
    again = [place for row in rows for place in harder(row)]
    missing = sum(place not in done for place in again)
    return (
        f"Of {sum(planned.values())} single faults {left} were not run, and of the {len(again)} cells in which a bad "
        f"one is run again with level 1 and with three brokers {missing}."
    )


def _is_planned(row: Row) -> bool:
    return row.setting[1:] == (1, 2) or (row.brokers == 3 and row.fault.endswith(f":{DOWN_AMONG_THREE_MS}"))


def _by_kind(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        "By the kind of fault, with level 2, and with one broker but for the last column: the number of cells that "
        "keep, and the others by name. A dash stands where there is none to try: transaction version 2 numbers a "
        "client's transactions by epochs."
    )
    yield ""
    yield f"| client | {' | '.join(KINDS.values())} | one broker of three crashes |"
    yield "|---|" + "---|" * (len(KINDS) + 1)
    for client in dict.fromkeys(row.client for row in rows):
        here = [row for row in rows if row.client == client and _is_planned(row)]
        planned = next((row.planned for row in here if row.fault == NO_FAULT), {})
        alone = [row for row in here if row.brokers == 1]
        cells = [_count([r.cell for r in alone if _kind(r) == kind], planned.get(kind, 0)) for kind in KINDS]
        cells.append(_count([r.cell for r in here if r.brokers > 1], planned.get("CrashAt", 0)))
        yield f"| {client} | {' | '.join(cells)} |"


def _kind(row: Row) -> str:
    return row.fault.partition(":")[0]


def _count(cells: Sequence[str], planned: int) -> str:
    if not cells:
        return f"0 of {planned} run" if planned else "–"
    count = Counter(cells)
    told = ", ".join(f"{count[c]} {c}" if c != KEEPS else f"{count[c]}" for c in CELLS if count[c])
    return told if len(cells) >= planned else f"{told} ({len(cells)} of {planned} run)"


def _bad_cells(rows: Sequence[Row]) -> Iterator[str]:
    bad, causes = [row for row in rows if row.cell in BAD], read_causes()
    kept = {(row.setting, row.fault): row.file for row in saved_runs(rows)}
    yield "## Bad cells, by cause"
    yield ""
    if not bad:
        yield "None."
        yield ""
    for cause in [*causes, None]:
        here = [row for row in bad if cause_of(row, causes) is cause]
        if not here:
            continue
        yield f"### {cause.name if cause else 'Not explained yet'}"
        yield ""
        if cause:
            kafka = " ".join(filter(None, (_on_kafka(here), cause.kafka)))
            yield from (cause.text, "", f"In public: {cause.public}", "", f"On a running Kafka: {kafka}", "")
            yield from (f"What helps: {cause.remedy}", "")
        for client in dict.fromkeys(row.client for row in here):
            of_client = [row for row in here if row.client == client]
            yield f"* {client}, number of cells: {len(of_client)}"
            for row in of_client[:SHOWN]:
                file = kept.get(row.place)
                link = f", [run](../data/scorecard/{file})" if file else ""
                fewest = f"; fewest inputs: {row.fewest}" if row.fewest else ""
                yield f"  * {_place(row)}: {row.cell}, {_escape(row.note)}{fewest}{link}"
            if len(of_client) > SHOWN:
                yield f"  * and {len(of_client) - SHOWN} more, in [cells.jsonl](../data/scorecard/cells.jsonl)"
        yield ""


def _on_kafka(rows: Sequence[Row]) -> str:
    """Return in words what a running Apache Kafka did in these cells: those with one broker of level 2."""
    here = [ADDRESS.sub("HOST:PORT", row.kafka) for row in rows if row.setting[1:] == (1, 2)]
    if not any(here):
        return "not tried."
    count = Counter(told or "not tried" for told in here)
    return "; ".join(f"{_escape(told)} (cells: {number})" for told, number in count.items()) + "."


def _place(row: Row) -> str:
    where = "" if row.setting[1:] == (1, 2) else f" (brokers: {row.brokers}, level {row.level})"
    return f"`{row.fault}`{where}"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def _deaths(rows: Sequence[Row]) -> Iterator[str]:
    dead = [row for row in rows if row.cell == DIES]
    yield "## Cells in which the application ends with an error"
    yield ""
    yield (
        "A new process goes on, and each input has one output, unless the message says otherwise. By message, with the "
        "number of cells, and what a running Apache Kafka did in them. OffsetForLeaderEpoch is an API that the lab's "
        "brokers do not offer; Apache Kafka's do:"
    )
    yield ""
    messages = dict.fromkeys((row.client, _message(row)) for row in dead)
    for client, note in messages:
        here = [row for row in dead if (row.client, _message(row)) == (client, note)]
        yield f"* {client}, {len(here)}: {_escape(note)}. On a running Kafka: {_on_kafka(here)}"
    yield ""


def _message(row: Row) -> str:
    return HUNG_ONCE.sub("", ADDRESS.sub("HOST:PORT", row.note))


def _unknown(rows: Sequence[Row]) -> Iterator[str]:
    unknown = [row for row in rows if row.cell == UNKNOWN]
    if unknown:
        yield "## Unknown"
        yield ""
        yield from (f"* {row.client}, {_place(row)}: {_escape(row.note)}" for row in unknown)
        yield ""
