"""Lose every answer of one API once, for each client and level: `python -m tests.wire.clients.drops [--jobs N]`.

Every first, third, fifth... answer is lost, so that each request's answer is, and that of its repetition is not.
Prints a table of Markdown; ends with 1 if a client saw something else than the program expects, or EXPLAINED says.
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
from tests.wire.clients.running import CLIENTS, afterwards, run_client
from tests.wire.clients.script import EXPECTED

LEVELS = (1, 2)
APIS = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "Produce")
CHAPTERS = ("idempotent", "outcomes", "offsets")
MOST = 60
AS_EXPECTED, NOT_SENT, ERROR = "as expected", "not sent", "error"
EXPLAINED = {
    ("kafkajs", "InitProducerId"): ("KafkaJSConnectionClosedError", ["next"]),
    ("kafkajs", "EndTxn"): ("KafkaJSConnectionClosedError", ["1", "2", "3", "next"]),
}
"""The error with which a client ends instead, and what its topic holds then (`afterwards`); see README.md."""


def result(client: str, level: int, api: str) -> str:
    """Return what came of it in words."""
    lost = [f"Drop:{api}Response#{number}" for number in range(1, MOST, 2)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with lab(folder, level, *lost, client=client) as cluster:
            found = run_client(cluster, client, folder / "errors", "", *CHAPTERS)
            if "error" in found:
                found |= afterwards(cluster.servers, "pay", "payments")
        missed = f"{api} " in (folder / "serve.log").read_text()
    return _in_words(client, api, found) if missed else NOT_SENT


def _in_words(client: str, api: str, found: dict[str, Any]) -> str:
    error, held = EXPLAINED.get((client, api), ("", []))
    if error and error in found.get("error", "") and found["read_committed"] == found["read_uncommitted"] == held:
        return ERROR
    wrong = [f"{name} {value}" for name, value in found.items() if value != EXPECTED.get(name)]
    return "; ".join(wrong).replace("|", "/") or AS_EXPECTED


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--clients", nargs="+", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--levels", type=int, nargs="+", default=LEVELS, choices=LEVELS)
    parser.add_argument("--apis", nargs="+", default=APIS, choices=APIS)
    options = parser.parse_args()
    cases = list(itertools.product(options.clients, options.levels, options.apis))
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(result, *case) for case in cases]
        results = {}
        for case, run in zip(cases, running, strict=True):
            results[case] = run.result()
            print(*case, results[case], sep=" | ", file=sys.stderr, flush=True)
    print("| client | level |", " | ".join(options.apis), "|\n|---|---|" + "---|" * len(options.apis))
    for client, level in itertools.product(options.clients, options.levels):
        print(f"| {client} | {level} |", " | ".join(results[client, level, api] for api in options.apis), "|")
    return 0 if {*results.values()} <= {AS_EXPECTED, NOT_SENT, ERROR} else 1


if __name__ == "__main__":
    sys.exit(main())
