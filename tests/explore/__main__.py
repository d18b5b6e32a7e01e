"""Long searches. `python -m tests.explore table`: what each rule's absence shows, saved in data/found/.

`campaign` searches the generic programs with all rules on, `pairs` runs all sets of two faults of them in small: it can
be stopped and goes on later, and with `--write` puts what it has run into docs/campaign.md. `engines` compares lineage
with what draws where a rule is off, `defects` where a handler has a mutant.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from kafkalab.explore.small_programs import IN_SMALL
from tests.explore.campaign import all_rules_on, engines
from tests.explore.defects import compare
from tests.explore.pairs import CURRENT, FOLDER, PAGE, run, write_table
from tests.explore.pairs import table as made_table
from tests.explore.table import Row, line, rows


def main() -> None:
    """Print what one of the three finds, line by line."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore", description=__doc__)
    parser.add_argument("what", choices=("table", "campaign", "pairs", "engines", "defects"))
    parser.add_argument("names", nargs="*", help="rules, as constants in small letters; or programs, profiles")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--count", type=int, default=20, help="of defects")
    parser.add_argument("--each", type=int, default=8, help="second faults for each set of one, in a campaign")
    parser.add_argument("--seconds", type=float, default=300, help="of CPU for a program's sets; for all defects")
    parser.add_argument("--threes", type=int, default=400, help="sets of three for each program")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where `pairs` keeps what it has run")
    parser.add_argument("--write", action="store_true", help="run nothing; write docs/campaign.md")
    options = parser.parse_args()
    if options.what == "table":
        table(options.names, options.jobs)
        return
    if options.what == "campaign":
        lines = all_rules_on(options.each, options.seconds, options.threes, tuple(options.names))
    elif options.what == "pairs":
        lines = pairs(options.names, options.folder, options.seconds, options.write)
    elif options.what == "engines":
        lines = engines(options.names, options.runs)
    else:
        lines = compare(options.count, options.seconds)
    for text in lines:
        print(text, flush=True)


def pairs(names: list[str], folder: Path, seconds: float, write: bool) -> Iterator[str]:
    """Run what is missing of all sets of two, for each program and profile in turn; print the table, or write it."""
    end = time.process_time() + seconds
    for make in IN_SMALL:
        for profile in CURRENT:
            if not write and (not names or make.__name__ in names):
                run(make, profile, folder, max(end - time.process_time(), 0))
    if write:
        write_table(folder, PAGE)
    yield from made_table(folder)


def table(names: list[str], jobs: int) -> None:
    """Print the table, row by row, and what it comes to."""
    print(f"{'rule':58} by hand | own: faults runs time  | generic: faults runs time program", flush=True)
    made: list[Row] = []
    for row in rows(names, jobs):
        made.append(row)
        print(line(row), flush=True)
    broken = [row for row in made if row.own >= 0 or row.generic >= 0]
    few = [row for row in broken if row.hand < 0 or min(s for s in (row.own, row.generic) if s >= 0) <= row.hand]
    times = [row.own_seconds + row.generic_seconds for row in broken]
    print(f"{len(broken)} of {len(made)} rules broken, {len(few)} with no more faults than by hand")
    if times:
        print(f"seconds of CPU for both searches: median {median(times):.1f}, most {max(times):.1f}")


if __name__ == "__main__":
    main()
