"""`kafkalab audit PATH`: which guarantees held in the histories that a folder or a file keeps."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkalab.checks.all import BY_NAME
from kafkalab.checks.check import FORBIDDEN, UNKNOWN
from kafkalab.cli.audit_page import page_of
from kafkalab.cli.captured import lacking_of, list_unanswered, said_by_brokers, with_unknown
from kafkalab.cli.command_line import CommandLineError, stoppable
from kafkalab.cli.followed import follow
from kafkalab.cli.history_place import history_place
from kafkalab.cli.spark_options import add_spark_options, spark_for
from kafkalab.history.history import History, load_history
from kafkalab.limits import FILE_OF_A_HISTORY, truncate, whole_number

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkalab.spark.audits.summary import Summary
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.places import Place

LISTED, ON_A_PAGE = 10, 200
"""The numbers of findings that are printed, and that a page shows."""

VIOLATED, HELD = 1, 0
"""Exit statuses, as a script may ask for them; 2 is an error."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options: what to audit, which audits, where a page goes, and Spark's options."""
    parser.description = "Say which guarantees held in a history. Status 0: none was broken; 1: some was; 2: an error."
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "audits, for --only:\n  " + "\n  ".join(BY_NAME)
    parser.add_argument(
        "path", help="a folder of `kafkalab workload` or `capture`, or a URI (s3://…); or a file of History.save"
    )
    parser.add_argument("--only", action="append", metavar="NAMES", help="only these audits, with commas between")
    parser.add_argument("--html", metavar="FILE", help="write a page with the summary and the findings, too")
    parser.add_argument(
        "--scratch", metavar="PLACE", help="where Spark's workers leave what later ones need: a folder or URI for all"
    )
    parser.add_argument("--follow", action="store_true", help="watch a capture while it is written, until Control-C")
    parser.add_argument("--quiet", action="store_true", help="no line of progress")
    add_spark_options(parser)


def act(options: argparse.Namespace, root: Path) -> int:
    """Print a table and the first findings. Return 1 if something forbidden was found, 0 if not."""
    only = _names(options.only)
    path, page = history_place(options.path), Path(options.html) if options.html else None
    if isinstance(path, Path) and not path.exists():
        raise CommandLineError(f"there is no file or folder {path}; `kafkalab workload` makes one")
    if options.follow:
        if only or page:
            raise CommandLineError("--follow watches with the streaming audits; it takes no --only and no --html")
        if not isinstance(path, Path):
            raise CommandLineError(f"--follow watches a capture in a folder of this machine, not {path}")
        return follow(options, path)
    if page is not None and not page.absolute().parent.is_dir():
        raise CommandLineError(f"cannot write {page}: there is no folder {page.absolute().parent}")
    if page is not None and page.is_dir():
        raise CommandLineError(f"cannot write {page}: it is a folder; --html takes the name of a new file")
    scratch = history_place(options.scratch) if options.scratch else None
    if isinstance(scratch, Path) and not scratch.is_dir():
        raise CommandLineError(f"cannot use --scratch {scratch}: there is no such folder")
    lacking = lacking_of(path)
    asked = [name for name in only or BY_NAME if name not in lacking or BY_NAME[name].from_a_log]
    if not asked:
        print("\n".join(list_unanswered(lacking, only)))
        return HELD
    history = _read_history(path)
    with stoppable(), _damage_named(path), spark_for(options) as spark:
        from kafkalab.spark.audits.audit import audit as run_audits

        files = path if history is None else None
        histories = _read(spark, path, history)
        summary = run_audits(histories, only=asked, progress=not options.quiet, files=files, scratch=scratch)
        summary = with_unknown(summary, lacking, only)
        first = _first(summary, LISTED if page is None else ON_A_PAGE)
        print(summary)
        told = (FORBIDDEN, UNKNOWN) if lacking else (FORBIDDEN,)
        for found in [row for row in first if row["policy"] in told][:LISTED]:
            word = ", unknown" if found["policy"] == UNKNOWN else ""
            print(f"  run {found['run']}, {found['anomaly']}{word}: {found['text']}")
        if lacking:
            print("\n".join(["", *list_unanswered(lacking, only, summary.violated), *said_by_brokers(path)]))
        if page is not None:
            page.write_text(page_of(summary, str(path), first), encoding="utf-8")
            print(f"{page} shows it, too")
        return VIOLATED if summary.violated else HELD


@contextmanager
def _damage_named(path: Path | Place) -> Iterator[None]:
    """Name the file of a history that cannot be read, if an error in the block came of one."""
    try:
        yield
    except CommandLineError:
        with suppress(ImportError):
            from kafkalab.spark.storage.history_files import unreadable

            if damaged := unreadable(path):
                raise CommandLineError(f"{damaged}; make the history again with `kafkalab workload`") from None
        raise


def _first(summary: Summary, number: int) -> list[Any]:
    """The first findings, the forbidden ones before the others, and after them the unknown ones."""
    policy = summary.findings.policy
    ordered = summary.findings.orderBy(policy != FORBIDDEN, policy != UNKNOWN, "run", "anomaly", "keys", "offsets")
    rows: list[Any] = ordered.limit(number).collect()
    return rows


def _names(given: list[str] | None) -> list[str] | None:
    """The audits' own names for what was typed; capitals make no difference."""
    if given is None:
        return None
    by_lower = {name.lower(): name for name in BY_NAME}
    asked = [name.strip() for names in given for name in names.split(",") if name.strip()]
    unknown = [name for name in asked if name.lower() not in by_lower]
    if unknown or not asked:
        raise CommandLineError(f"there is no audit {', '.join(unknown) or 'named'}; there are {', '.join(BY_NAME)}")
    return [by_lower[name.lower()] for name in asked]


def _read_history(path: Path | Place) -> History | None:
    """Return the history in a file, None for a folder. CommandLineError for what is no history, before Spark starts."""
    try:
        if not isinstance(path, Path) or path.is_dir():
            from kafkalab.spark.storage.history_files import read_list

            read_list(path)
            return None
        FILE_OF_A_HISTORY.check(path.stat().st_size, str(path))
        return load_history(path)
    except ImportError:
        return None  # `spark_for` says what is missing
    except ValueError as error:
        raise CommandLineError(truncate(error)) from None


def _read(spark: SparkSession, path: Path | Place, history: History | None) -> Histories:
    """The histories of a folder, or the one of a file."""
    from kafkalab.spark.storage.frames import Histories
    from kafkalab.spark.storage.history_files import read_histories

    if history is None:
        return read_histories(spark, path)
    seed = next(iter(history.label("seed")), "0")
    return Histories.of(spark, [(max(whole_number(seed), 0), history)])
