"""Bad cells with fewer inputs: the smallest plot that still shows the cell, and its run."""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.scorecard.cells import Row, amend_row
from tests.scorecard.engine import fill
from tests.scorecard.running import Plot

PLOTS: Mapping[str, Plot] = {
    "one transaction of one input": Plot((("1",),), ()),
    "one transaction of one input, and one more input after a restart": Plot((("1",),), ("2",)),
    "two transactions of one input each": Plot((("1",), ("2",)), ()),
    "two transactions of one input each, and one more input after a restart": Plot((("1",), ("2",)), ("3",)),
}
"""From the smallest on; the table's own has two inputs in each of two transactions."""
NO_FEWER = "two transactions of two inputs each: no fewer show it"


def reduce_row(row: Row, runs: Path, run: Callable[..., Row] = fill, **more: Any) -> Row:
    """Return the row with the smallest plot that shows its cell; that run takes the place of the saved one."""
    for words, plot in PLOTS.items():
        smaller = run(row.setting, row.fault, runs / "reduced", plot=plot, **more)
        if smaller.cell == row.cell:
            shutil.copy(runs / "reduced" / row.file, runs / row.file)
            return replace(row, fewest=words, causes=smaller.causes or row.causes)
    return replace(row, fewest=NO_FEWER)


def reduce_rows(rows: Iterable[Row], path: Path, runs: Path, jobs: int, say: Callable[[str], object]) -> None:
    """Reduce each row that is not yet, and append it to the file of the cells."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for done in as_completed([pool.submit(reduce_row, row, runs) for row in rows if not row.fewest]):
            row = done.result()
            row = amend_row(path, row, fewest=row.fewest, causes=row.causes)
            say(f"{row.setting}: {row.fault}: {row.cell}: {row.fewest}")
