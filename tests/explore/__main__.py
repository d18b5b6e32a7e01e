"""`python -m tests.explore table [RULE...] [--jobs N]`: search for what each rule's absence shows."""

from __future__ import annotations

import argparse
from statistics import median

from tests.explore.table import line, rows


def main() -> None:
    """Print the table, row by row, and what it comes to."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore")
    parser.add_argument("what", choices=("table",))
    parser.add_argument("rules", nargs="*", help="constants in small letters; default all")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print(f"{'rule':58} by hand | own: faults runs time  | generic: faults runs time program", flush=True)
    made = []
    for row in rows(options.rules, options.jobs):
        made.append(row)
        print(line(row), flush=True)
    broken = [r for r in made if r.own >= 0 or r.generic >= 0]
    few = [r for r in broken if r.hand < 0 or min(s for s in (r.own, r.generic) if s >= 0) <= r.hand]
    times = [r.own_seconds if r.own >= 0 else r.generic_seconds for r in broken]
    print(f"{len(broken)} of {len(made)} rules broken, {len(few)} with no more faults than by hand")
    if times:
        print(f"seconds of CPU: median {median(times):.1f}, most {max(times):.1f}")


if __name__ == "__main__":
    main()
