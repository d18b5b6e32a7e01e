"""Long searches. `python -m tests.explore table`: what each rule's absence shows, saved in data/found/.

`campaign` searches the generic programs with all rules on; `engines` compares lineage with random where a rule is off,
`defects` where a handler has a mutant.
"""

from __future__ import annotations

import argparse
from statistics import median

from tests.explore.campaign import all_rules_on, engines
from tests.explore.defects import compared
from tests.explore.table import Row, line, rows


def main() -> None:
    """Print what one of the three finds, line by line."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore", description=__doc__)
    parser.add_argument("what", choices=("table", "campaign", "engines", "defects"))
    parser.add_argument("names", nargs="*", help="rules, as constants in small letters; or programs, profiles")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--count", type=int, default=20, help="of defects")
    parser.add_argument("--each", type=int, default=8, help="second faults for each set of one, in a campaign")
    parser.add_argument("--seconds", type=float, default=300, help="of CPU for a program's sets; for all defects")
    parser.add_argument("--threes", type=int, default=400, help="sets of three for each program")
    options = parser.parse_args()
    if options.what == "table":
        table(options.names, options.jobs)
        return
    if options.what == "campaign":
        lines = all_rules_on(options.each, options.seconds, options.threes, tuple(options.names))
    elif options.what == "engines":
        lines = engines(options.names, options.runs)
    else:
        lines = compared(options.count, options.seconds)
    for text in lines:
        print(text, flush=True)


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
