"""Lose every answer of one API once, for each client and profile: `python -m tests.wire.clients.drops [--jobs N]`.

Every first, third, fifth... answer is lost, so that each request's answer is, and that of its repetition is not.
Prints a table of Markdown; ends with 1 if a client saw what `EXPLAINED` does not hold.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.wire.clients.clusters import lab
from tests.wire.clients.running import CLIENTS, seen
from tests.wire.clients.script import EXPECTED

PROFILES = ("4.x/TV1", "4.x/TV2")
APIS = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "Produce")
CHAPTERS = ("idempotent", "outcomes", "offsets")
MOST = 60
AS_EXPECTED, NOT_SENT = "as expected", "not sent"
EXPLAINED = {
    ("kafkajs", "InitProducerId"): "KafkaJSConnectionClosedError",
    ("kafkajs", "EndTxn"): "KafkaJSConnectionClosedError",
}
"""The error with which a client ends instead; the reasons are in README.md."""


def result(client: str, profile: str, api: str) -> str:
    """Return what came of it in words."""
    lost = [f"Drop:{api}Response#{number}" for number in range(1, MOST, 2)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lab(folder, profile, *lost) as cluster:
            found = seen(cluster, client, folder / "errors", "", *CHAPTERS)
        missed = f"{api} " in (folder / "serve.log").read_text()
    return _in_words(found) if missed else NOT_SENT


def _in_words(found: dict[str, Any]) -> str:
    wrong = [f"{name} {value}" for name, value in found.items() if value != EXPECTED.get(name)]
    return "; ".join(wrong).replace("|", "/") or AS_EXPECTED


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--clients", nargs="+", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--profiles", nargs="+", default=PROFILES, choices=PROFILES)
    parser.add_argument("--apis", nargs="+", default=APIS, choices=APIS)
    options = parser.parse_args()
    cases = list(itertools.product(options.clients, options.profiles, options.apis))
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(result, *case) for case in cases]
        results = {}
        for case, run in zip(cases, running, strict=True):
            results[case] = run.result()
            print(*case, results[case], sep=" | ", file=sys.stderr, flush=True)
    print("| client | profile |", " | ".join(options.apis), "|\n|---|---|" + "---|" * len(options.apis))
    for client, profile in itertools.product(options.clients, options.profiles):
        print(f"| {client} | {profile} |", " | ".join(results[client, profile, api] for api in options.apis), "|")
    new = [case for case, told in results.items() if not _is_explained(case, told)]
    return 1 if new else 0


def _is_explained(case: tuple[str, str, str], told: str) -> bool:
    known = EXPLAINED.get((case[0], case[2]))
    return told in (AS_EXPECTED, NOT_SENT) or (known is not None and told.startswith("error") and known in told)


if __name__ == "__main__":
    sys.exit(main())
