"""Record a real Kafka's answers, run kafkalab on the same scripts, compare the two (see README.md)."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.kafka.differences import compare, report
from tests.kafka.lab_side import run
from tests.kafka.script import LIKE, RECORDED, belongs, read_recording, scripts_of, text_of

RECORDINGS = [path.stem for path in sorted(RECORDED.glob("[0-9]*.json"))]

OWN_ANSWERS = [name for name in RECORDINGS if name.partition("-")[0] not in LIKE]
"""The recordings that have every answer; the others have only what differs."""


def _record(options: argparse.Namespace) -> int:
    from tests.kafka.record import record
    from tests.kafka.running_kafka import set_clocks_ahead

    if options.days:
        set_clocks_ahead(options.days)
    where = (options.libs, options.home, options.port, options.messages)
    features, answers = record(options.recording, *where, options.only, options.family)
    path = options.out or RECORDED / f"{options.recording}.json"
    if path.exists() and (options.only or options.family):
        answers = {**read_recording(path)["answers"], **answers}
    known = [s["name"] for s in scripts_of() if belongs(s, options.recording)]
    answers = {name: answers[name] for name in known if name in answers}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(options.recording, features, answers))
    failed = [n for n, found in answers.items() if any("failed" in a for a in found)]
    print(f"{len(answers)} scripts, {sum(map(len, answers.values()))} answers, {len(failed)} failed {failed} -> {path}")
    return bool(failed)


def _run(options: argparse.Namespace) -> int:
    scripts = [s for s in scripts_of(*options.family) if belongs(s, options.recording) and options.only in s["name"]]
    answers = {s["name"]: run(s, options.recording) for s in scripts}
    print(text_of("kafkalab", {}, answers), end="")
    return 0


def _compare(options: argparse.Namespace) -> int:
    found = read_recording(options.out or RECORDED / f"{options.recording}.json")
    scripts = [s for s in scripts_of(*options.family) if belongs(s, options.recording) and options.only in s["name"]]
    rows = compare(options.recording, scripts, found)
    print(report(rows))
    return any(not row.explained for row in rows if row.differences)


def _hunt(options: argparse.Namespace) -> int:
    from tests.kafka.hunt import hunt

    where = (options.libs, options.home, options.port)
    return hunt(options.recording, options.minutes, options.seed, *where, options.out or Path("build/oracle.json"))


def _clean(options: argparse.Namespace) -> int:
    from tests.kafka.cleanings import compare_cleanings

    where = (options.libs, options.home, options.port)
    return bool(compare_cleanings(options.recording, options.logs, options.seed, *where))


def _mutate(options: argparse.Namespace) -> int:
    from tests.kafka.mutate import mutate
    from tests.kafka.mutations import KEPT

    rows = mutate(options.count, options.seed, options.parts, options.recordings)
    KEPT.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", "utf-8")
    survivors = [row for row in rows if "by" not in row]
    print(f"{len(rows) - len(survivors)} of {len(rows)} noticed")
    return any(not row["why"] for row in survivors)


def _page(options: argparse.Namespace) -> int:
    from tests.kafka.page import PAGE, text

    PAGE.write_text(text(), "utf-8")
    return 0


def main() -> int:
    """Do one of the commands; the exit status is 1 if something failed or differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.kafka", description=__doc__)
    commands = parser.add_subparsers(required=True)
    asking = {"record": _record, "run": _run, "compare": _compare, "hunt": _hunt, "clean": _clean}
    for name, act in asking.items():
        command = commands.add_parser(name)
        command.set_defaults(act=act)
        command.add_argument("recording", help=", ".join(RECORDINGS))
        command.add_argument("--only", default="", help="scripts whose name holds this")
        command.add_argument("--family", nargs="*", default=[], help="scripts of these files")
        command.add_argument("--out", type=Path, help="another file than that in data/recorded")
        if name == "hunt":
            command.add_argument("--minutes", type=float, default=10)
        if name == "clean":
            command.add_argument("--logs", type=int, default=30)
        if name in ("hunt", "clean"):
            command.add_argument("--seed", type=int, help="of the first script or log; the next after those by now")
        if name == "record":
            command.add_argument("--days", type=int, default=0, help="set Kafka's clock ahead; needs libfaketime")
        if name in ("record", "hunt", "clean"):
            command.add_argument("--libs", type=Path, required=True, help="the folder with Kafka's jars")
            command.add_argument("--home", type=Path, required=True, help="a folder for its data; it is emptied")
            command.add_argument("--messages", type=Path, help="a kafka-clients jar with message definitions (1.0.0)")
            command.add_argument("--port", type=int, default=19092, help="the first of its four ports")
    command = commands.add_parser("mutate", help="break single lines of the broker and ask the recordings")
    command.set_defaults(act=_mutate)
    command.add_argument("--count", type=int, default=40)
    command.add_argument("--seed", type=int, default=2026)
    command.add_argument("--parts", nargs="*", default=["kafkalab/broker/handlers"], help="folders that are broken")
    command.add_argument("--recordings", nargs="*", default=OWN_ANSWERS, help="those that are asked")
    commands.add_parser("page", help="write docs/compared.md").set_defaults(act=_page)
    options = parser.parse_args()
    status: int = options.act(options)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
