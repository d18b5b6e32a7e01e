"""The exactly-once scorecard of real clients: `python -m tests.scorecard --jobs 2`.

It can be stopped and goes on later: what was run is in build/scorecard/cells.jsonl, a line for each cell, and each run
beside it, for `kafkalab run`. `--write` runs nothing, and puts what was run into docs/scorecard.md and data/scorecard.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from tests.scorecard.apache import repeat
from tests.scorecard.cells import newest, read_rows
from tests.scorecard.engine import Table
from tests.scorecard.page import saved_runs, write_page
from tests.scorecard.reduce import reduce_rows
from tests.scorecard.trials import KINDS
from tests.wire.clients.running import CLIENTS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "scorecard"


def main() -> None:
    """Fill the missing cells, or write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.scorecard", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=CLIENTS, metavar="NAME", help=str(CLIENTS))
    parser.add_argument("--faults", nargs="+", choices=KINDS, default=tuple(KINDS), metavar="NAME", help=str(KINDS))
    parser.add_argument("--jobs", type=int, default=1, help="cells that run at the same time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no cell after so many")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the results and the runs are kept")
    parser.add_argument("--kafka", type=Path, metavar="FOLDER", help="run the bad cells again on Apache Kafka's jars")
    parser.add_argument(
        "--reduce", action="store_true", help="run bad cells, one of a cause and client, with fewer inputs"
    )
    parser.add_argument("--write", action="store_true", help="run nothing; write docs/scorecard.md and data/scorecard")
    options = parser.parse_args()
    path, runs = options.folder / "cells.jsonl", options.folder / "runs"
    if options.write:
        write_page(read_rows(path), runs)
        return
    say = partial(print, flush=True)
    if options.kafka:
        repeat(path, options.kafka, options.clients, options.jobs, options.seconds, say)
        return
    if options.reduce:
        reduce_rows(saved_runs(newest(read_rows(path))), path, runs, options.jobs, say)
        return
    table = Table(path, runs, options.jobs, say)
    table.run(options.clients, options.faults, options.seconds)


if __name__ == "__main__":
    main()
