"""`python -m tests.fuzz --cases 20000 --seed 1`: a campaign of files, codes, messages, command lines and requests.

`--only bytes --minutes 60` sends a server changed requests for an hour.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context

from tests.fuzz.campaign import KINDS, SHARES, portion

PORTION = 500
"""Cases of a process: a new one begins with the memory of a new one."""


def main() -> int:
    """Print what became of the cases, and each failure once; return 1 if there is any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--minutes", type=float, default=0, help="go on for this long, with new seeds, and then stop")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=KINDS, action="append")
    options = parser.parse_args()
    kinds, number = options.only or KINDS, options.seed
    began, ended, failed = time.monotonic(), Counter[str](), 0
    slowest, memory = 0.0, 0
    # not by fork: a child of a process with threads may wait for a lock that nobody will release
    with get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        until = began + options.minutes * 60
        while number == options.seed or time.monotonic() < until:
            for report in pool.imap_unordered(portion, _work(kinds, options.cases, number)):
                ended += report.ended
                slowest, memory = max(slowest, report.slowest_s), max(memory, report.memory_mb)
                for key, (text, case) in report.failures.items():
                    failed += 1
                    print(f"{key}: {text}\n  {repr(case)[:1000]}", flush=True)
                if options.minutes and time.monotonic() > until:
                    break
            number += 1
    for name, count in sorted(ended.items()):
        print(f"{count:>7} {name}")
    print(f"{ended.total():,} cases in {time.monotonic() - began:.0f} s; the slowest took {slowest:.2f} s of CPU time; "
          f"the largest {memory} MB; {failed} failures")  # fmt: skip
    return int(failed > 0)


def _work(kinds: Sequence[str], cases: int, number: int) -> list[tuple[str, int, int]]:
    """Return kind, count and seed of each portion."""
    work: list[tuple[str, int, int]] = []
    for kind in kinds:
        left = round(cases * SHARES[kind] / sum(SHARES[k] for k in kinds))
        while left > 0:
            work.append((kind, min(PORTION, left), number * 1_000_000 + len(work)))
            left -= PORTION
    return work


if __name__ == "__main__":
    sys.exit(main())
