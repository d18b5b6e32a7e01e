"""`kafkalab grade`: a folder of students' notebooks, or a file of tokens of a classroom's challenge."""

from __future__ import annotations

import argparse
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError, number_from, table_text


def add_options(parser: argparse.ArgumentParser) -> None:
    """A folder or tokens, where the report goes, and limits."""
    from kafkalab.grading.grade import GRADER_SEED

    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="the students' folders, or notebooks")
    parser.add_argument("--out", type=Path, default=Path("report.csv"), help="the table to write (report.csv)")
    parser.add_argument("--html", type=Path, help="the page to write (beside the table, with .html)")
    parser.add_argument("--seed", type=int, default=GRADER_SEED, help="the grader's seed; keep your own to yourself")
    parser.add_argument("--time", type=number_from(1), default=0, metavar="S", help="seconds for one notebook")
    parser.add_argument("--memory", type=number_from(1), default=0, metavar="MB", help="megabytes for one notebook")
    parser.add_argument("--jobs", type=number_from(1), default=2, help="notebooks that run at once (2)")
    parser.add_argument("--partial", action="store_true", help="parts of the points for answers right in parts")
    parser.add_argument("--tokens", type=Path, metavar="FILE", help="tokens of a challenge, one in a line")
    parser.add_argument("--challenge", metavar="CODE", help="the challenge they answer (a code, or a file with it)")
    parser.add_argument("--json", action="store_true", help="print the table of tokens as JSON")


def act(options: argparse.Namespace, root: Path) -> int:
    """Write the report and print a line for each notebook; or print the table of tokens."""
    if (options.folder is None) == (options.tokens is None):
        raise CommandLineError("name either a folder of notebooks or --tokens FILE")
    try:
        return _tokens(options) if options.folder is None else _notebooks(options, root)
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    except OSError as error:
        raise CommandLineError(f"{error.filename}: {(error.strerror or 'no file').lower()}") from None


def _notebooks(options: argparse.Namespace, root: Path) -> int:
    from kafkalab.course_files import course_root
    from kafkalab.grading.builder import SOLUTIONS
    from kafkalab.grading.grade import grade as graded
    from kafkalab.grading.report import as_csv, as_html
    from kafkalab.grading.runner import Limits
    from kafkalab.grading.sheet import sheet
    from kafkalab.grading.submissions import submissions

    if not any((root / SOLUTIONS).glob("[0-9]*.ipynb")):
        root = course_root()
    labs = sheet(root)
    found = submissions(options.folder, labs)
    page = options.html or options.out.with_suffix(".html")
    for target in (options.out, page):
        target.parent.mkdir(parents=True, exist_ok=True)
    limits = Limits(time_s=options.time, memory_mb=options.memory)
    rows = graded(
        found, labs, options.folder, root, limits, options.seed, options.jobs, options.partial,
        said=lambda line: print(line, flush=True),
    )  # fmt: skip
    options.out.write_text(as_csv(rows), encoding="utf-8")
    page.write_text(as_html(rows, options.seed), encoding="utf-8")
    print(f"{options.out} and {page}; sandbox: {', '.join(sorted({r.sandbox for r in rows if r.sandbox})) or 'none'}")
    return 0


def _tokens(options: argparse.Namespace) -> int:
    from kafkalab.grading.tokens import ranked

    columns, rows = ranked(options.tokens, options.challenge)
    print(table_text(columns, rows, options.json))
    return 0
