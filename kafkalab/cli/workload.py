"""`kafkalab workload simulated` or `synthetic`: histories with known faults, for audits and for learners."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalab.checks.all import BY_NAME
from kafkalab.cli.command_line import CommandLineError, number_from, stoppable
from kafkalab.cli.history_place import history_place
from kafkalab.cli.saved_scenarios import load_scenario
from kafkalab.cli.spark_options import add_spark_options, spark_for
from kafkalab.limits import quote
from kafkalab.protocol.profiles import PROFILES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.places import Place

DEFAULT_PROFILE = "4.x/TV2"
COUNT = number_from(0, "whole number", 1_000_000)
SEED = number_from(0, "whole number")
RECORDS = number_from(0, "whole number", 10_000_000_000)
BYTES_OF = {"synthetic": 160, "simulated": 80_000}
"""The most bytes, about, that a record of a synthetic history, and a simulated run, take on disk."""
RUNS_MOST = 10_000_000
MEMORY_OF_A_TASK_MB = 400
"""The memory that each worker takes beside Java's heap to make a history."""
WORKERS = 2
"""The number of workers if no master is given."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The kind of workload, each with its options."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="simulated|synthetic")
    simulated = kinds.add_parser("simulated", help="runs of the simulator, one for each seed")
    simulated.add_argument("--seeds", default="1-100", help="such as 7 or 1-1000")
    simulated.add_argument("--rules-off", default="", help="names of rules, with semicolons between (kafkalab rules)")
    simulated.add_argument("--scenario", default="", help="a .klab file that every seed runs; by chance if not given")
    simulated.add_argument("--clients", default="", help="acks=1, idempotent or transactions: two members that copy")
    simulated.add_argument("--cluster-level", type=int, help="with --clients: the level of transaction.version")
    simulated.add_argument("--faults", type=int, help="with --clients: how many a run has at most")
    synthetic = kinds.add_parser("synthetic", help="a long history, made with numpy")
    synthetic.add_argument("--records", type=RECORDS, default=10_000, help="records and markers, about")
    synthetic.add_argument("--producers", type=COUNT, default=20)
    synthetic.add_argument("--partitions", type=COUNT, default=8)
    synthetic.add_argument("--txn-size", type=COUNT, default=5, help="mean of records in a transaction")
    synthetic.add_argument("--abort-rate", type=_rate, default=0.1, help="share of transactions that are aborted")
    synthetic.add_argument("--seed", type=SEED, default=1)
    synthetic.add_argument(
        "--plant", action="append", default=[], metavar="ANOMALY=RATE", help="such as duplicate=0.0001, once for each"
    )
    for kind in (simulated, synthetic):
        kind.add_argument("--out", required=True, metavar="PATH", help="a new folder, as a path or a URI (s3://…)")
        kind.add_argument("--profile", default=DEFAULT_PROFILE, choices=list(PROFILES), help="the Kafka that it was")
        kind.add_argument("--quiet", action="store_true", help="no line of progress")
        add_spark_options(kind)


def act(options: argparse.Namespace, root: Path) -> int:
    """Write a folder of Parquet tables, with what is true of them. CommandLineError for a folder that is not empty."""
    out = history_place(options.out)
    if _is_there(out):
        raise CommandLineError(f"{out} is there already; give --out a new folder, or remove it")
    if options.kind == "simulated" and options.scenario:
        load_scenario(options.scenario)
    planted = _parse_planted(options.plant) if options.kind == "synthetic" else {}
    needs, began = _room_for(out, options), time.monotonic()
    with stoppable(), _write_beside(out) as folder:
        _say(needs, options.quiet)
        _make(folder, options, planted)
    took, command = time.monotonic() - began, f"kafkalab audit {shlex.quote(options.out)}"
    print(f"{out} is written, in {took:.1f} s; {command} says what it holds")
    if needs := _memory_of_an_audit(out):
        _say(needs, options.quiet)
    return 0


def _memory_of_an_audit(out: Path | Place) -> str:
    """Return what an audit of a large history takes, which depends on its largest keys; "" for a small one."""
    from kafkalab.spark.audits.audit import SMALL
    from kafkalab.spark.audits.memory import bucket_mb, held_mb
    from kafkalab.spark.per_key_audits.key_pass import layout_of

    layout = layout_of(out)
    if layout.records <= SMALL:
        return ""
    megabytes = held_mb(map(bucket_mb, layout.rows.values()), WORKERS)
    return f"an audit takes Java's heap and about {megabytes:,} MB for {WORKERS} workers"


def _is_there(out: Path | Place) -> bool:
    if isinstance(out, Path):
        return out.is_file() or (out.is_dir() and any(out.iterdir()))
    try:
        return out.is_file() or bool(out.files())
    except ValueError as error:
        raise CommandLineError(str(error)) from None


def _make(folder: Path | Place, options: argparse.Namespace, planted: dict[str, float]) -> None:
    with spark_for(options) as spark:
        from kafkalab.spark.storage.history_files import write_histories

        made = _simulate(spark, options) if options.kind == "simulated" else _synthetic(spark, options, planted)
        _say(f"writing {options.out} …", options.quiet)
        write_histories(made, folder)


def _room_for(out: Path | Place, options: argparse.Namespace) -> str:
    """Return what the history will take. CommandLineError for more runs, or more room on the disk, than there may be.
    """
    count = options.records if options.kind == "synthetic" else _runs_of(options)
    megabytes = count * BYTES_OF[options.kind] // 1_000_000 + 1
    memory = f"{options.memory} and {WORKERS * MEMORY_OF_A_TASK_MB} MB of memory"
    if not isinstance(out, Path):
        return f"at most about {megabytes:,} MB in {out}, {memory}"
    place = next(folder for folder in (out.absolute(), *out.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(place).free // 1_000_000
    if megabytes > free:
        raise CommandLineError(f"it takes about {megabytes:,} MB, and {place} has {free:,} MB free; ask for less")
    what = f"about {megabytes:,} MB on the disk of {free:,} MB free"
    return f"at most {what}, {memory}"


def _runs_of(options: argparse.Namespace) -> int:
    from kafkalab.spark.simulation.runs import Runs

    try:
        count = len(Runs.of(options.seeds, options.rules_off, profile=options.profile).seeds)
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    if count > RUNS_MOST:
        raise CommandLineError(f"--seeds names {count:,} runs; the limit is {RUNS_MOST:,}")
    return count


@contextmanager
def _write_beside(out: Path | Place) -> Iterator[Path | Place]:
    """A folder beside `out`, moved there when it is whole; a run that is stopped or fails leaves nothing.

    A store like S3 has no move: there it is `out`, where the list of files is written last.
    """
    if not isinstance(out, Path):
        try:
            yield out
        except BaseException:
            with suppress(ValueError):
                out.remove()
            raise
        return
    try:
        from kafkalab.spark.storage.scratch import Scratch

        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        scratch = Scratch(out.absolute().parent, f".{out.absolute().name}-unfinished-")
    except OSError as error:
        raise CommandLineError(f"cannot write {quote(str(out))}: {(error.strerror or 'failed').lower()}") from None
    try:
        yield scratch.folder / "history"
        (scratch.folder / "history").replace(out)
    finally:
        scratch.remove()


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1
    if not 0 <= rate <= 1:
        raise argparse.ArgumentTypeError(f"a share from 0 to 1, not {quote(text)}")
    return rate


def _parse_planted(given: list[str]) -> dict[str, float]:
    by_lower = {name.lower(): name for name in BY_NAME}
    planted = {}
    for text in given:
        name, equals, rate = text.rpartition("=")
        if not equals or name.strip().lower() not in by_lower:
            raise CommandLineError(f"--plant is like duplicate=0.0001, not {text}; anomalies: {', '.join(BY_NAME)}")
        try:
            planted[by_lower[name.strip().lower()]] = _rate(rate)
        except argparse.ArgumentTypeError as error:
            raise CommandLineError(f"--plant {text}: {error}") from None
    return planted


def _simulate(spark: SparkSession, options: argparse.Namespace) -> Histories:
    from kafkalab.spark.simulation.frames import simulate_histories
    from kafkalab.spark.simulation.runs import Runs

    names = ("profile", "rules_off", "scenario", "clients", "cluster_level", "faults")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    runs = Runs.of(options.seeds, **given)
    _say(f"simulating {len(runs.seeds)} runs …", options.quiet)
    return simulate_histories(spark, options.seeds, **given)


def _synthetic(spark: SparkSession, options: argparse.Namespace, planted: dict[str, float]) -> Histories:
    from kafkalab.spark.synthetic.generator import synthetic

    _say(f"making {options.records:,} records …", options.quiet)
    names = ("records", "producers", "partitions", "txn_size", "abort_rate", "seed", "profile")
    return synthetic(spark, inject=planted, **{name: getattr(options, name) for name in names})


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)
