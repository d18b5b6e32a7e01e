"""The coverage of a campaign as tables that a person reads; blanks are named below each."""

from __future__ import annotations

from collections.abc import Iterable

from kafkalab.faults.fault import TimedFault
from kafkalab.faults.registry import TYPES
from kafkalab.programs.moments import MOMENTS, QUIET
from tests.benchmarks.coverage import FRAMES, IN_A_FRAME, Coverage
from tests.test_every_cell import unreachable

WIDTH = 116


def share(part: int, whole: int) -> str:
    """`share(1, 4) == "1 of 4 (25 %)"`."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"


def tables(coverage: Coverage) -> str:
    """Return all tables of the coverage as one text."""
    lines = [f"Coverage of {coverage.runs} runs", "", *summary(coverage), "", "Timed faults that struck, by moment"]
    timed = [kind for kind, of in TYPES.items() if issubclass(of, TimedFault)]
    moments = (*MOMENTS, QUIET)
    lines += _grid(timed, moments, {(k, m): coverage.places[k, m] for k in timed for m in moments})
    lines += ["", "Frame faults that struck, by the frame's name (sent: how many were)"]
    met = {(name, kind): coverage.met[name, kind] for name in FRAMES for kind in IN_A_FRAME}
    met.update({(name, "sent"): coverage.sent[name] for name in FRAMES})
    lines += _grid(FRAMES, (*IN_A_FRAME, "sent"), met)
    lines += ["", "Transactions that were decided, by their number of partitions"]
    lines += [f"  {n:2}: {share(count, coverage.breadth.total())}" for n, count in sorted(coverage.breadth.items())]
    lines += ["", "Runs with", *_list_names(f"{name} {count}" for name, count in sorted(coverage.traits.items()))]
    for title, names in coverage.never().items():
        lines += ["", f"{title}: {len(names) or 'none'}", *_list_names(names)]
    for table, cells in coverage.blank_cells().items():
        lines += ["", f"cells of {table} that were never visited, of those that can be: {len(cells) or 'none'}"]
        lines += _list_names(f"{row}: {' | '.join(of)}" for row, of in _by_row(cells).items())
    return "\n".join(lines)


def _by_row(cells: list[str]) -> dict[str, list[str]]:
    """Return the last parts of the cells' names by what comes before them."""
    rows: dict[str, list[str]] = {}
    for cell in cells:
        row, _, column = cell.rpartition(" / ")
        rows.setdefault(row, []).append(column)
    return rows


def summary(coverage: Coverage) -> list[str]:
    """Return the figures that the generator is judged by, one a line."""
    in_a_frame = [sum(of[kind] for kind in IN_A_FRAME) for of in (coverage.struck, coverage.drawn)]
    wide = sum(count for breadth, count in coverage.breadth.items() if breadth >= 3)
    never, blank = coverage.never(), sum(map(len, coverage.blank_cells().values()))
    cells = sum(count > 0 or not unreachable(*cell) for cell, count in coverage.cells.items())
    return [
        f"  timed faults inside an open transaction or a rebalance: {share(coverage.inside, coverage.timed)}",
        f"  frame faults that struck: {share(*in_a_frame)}",
        f"  names of frames struck: {share(len(FRAMES) - len(never['frames never struck']), len(FRAMES))}",
        f"  transactions of three partitions or more: {share(wide, coverage.breadth.total())}",
        f"  rules that were asked for: {len(coverage.asked)}; that decided at least once: {len(coverage.decided)}",
        f"  cells of the state tables, less those that cannot be: {share(cells - blank, cells)}",
    ]


def _grid(rows: Iterable[str], columns: tuple[str, ...], counts: dict[tuple[str, str], int]) -> list[str]:
    widths = [max(len(column), 7) for column in columns]
    lines = ["  " + " " * 28 + "  ".join(c.rjust(w) for c, w in zip(columns, widths, strict=True))]
    for row in rows:
        cells = [str(counts[row, column] or "-").rjust(w) for column, w in zip(columns, widths, strict=True)]
        lines.append("  " + row.ljust(28) + "  ".join(cells))
    return lines


def _list_names(names: Iterable[str]) -> list[str]:
    """Return the names, separated by semicolons, in lines of at most WIDTH characters."""
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + len(name) + 2 <= WIDTH:
            lines[-1] += f"; {name}"
        else:
            lines.append(f"  {name}")
    return lines
