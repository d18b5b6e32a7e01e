"""`kafkalab grade`: a folder of students' notebooks, or a file of tokens of a classroom's challenge."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError, number_from, stoppable, table_text

STOPPED = 130
"""The status of a command that Control-C or SIGTERM has stopped, as shells have it."""
ARG_START = 45
"""The place of the command line's address in /proc/self/stat, counted after the name in parentheses; see proc(5)."""


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
    parser.add_argument("--no-runs", action="store_true", help="write no pages of the counterexamples")
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
    from kafkalab.grading.grade import Row
    from kafkalab.grading.grade import grade as graded
    from kafkalab.grading.report import Pages, as_csv, as_html
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
    limits = Limits(time_s=options.time, memory_mb=options.memory, pages=not options.no_runs)
    pages = Pages(page)
    rows: list[Row] = []
    hide_argument(str(options.seed))
    with stoppable(), options.out.open("w", encoding="utf-8") as table:

        def keep(made: list[Row]) -> None:
            """Write the rows of one notebook at once: what is graded is kept, whatever comes."""
            table.write(as_csv(made, head=not rows))
            table.flush()
            rows.extend(made)

        try:
            rows = graded(
                found, labs, options.folder, root, limits, options.seed, options.jobs, options.partial,
                said=lambda line: print(line, flush=True), keep=keep, keep_page=pages.keep,
            )  # fmt: skip
            status = 0
        except KeyboardInterrupt:
            status = STOPPED
    if not status:
        options.out.write_text(as_csv(rows), encoding="utf-8")  # in the order of the notebooks
    page.write_text(as_html(rows, options.seed), encoding="utf-8")
    sandboxes = ", ".join(sorted({r.sandbox for r in rows if r.sandbox})) or "none"
    how = f"stopped: {len({r.file for r in rows})} of {len(found)} notebooks are graded, in " if status else ""
    print(f"{how}{options.out} and {page}; sandbox: {sandboxes}", flush=True)
    return status


def hide_argument(text: str) -> None:
    """Overwrite an argument of this process's command line, which a notebook outside of bubblewrap might read.

    On Linux alone; elsewhere nothing happens.
    """
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text("ascii").rpartition(")")[2].split()
        begin, end = int(fields[ARG_START]), int(fields[ARG_START + 1])
        line = ctypes.string_at(begin, end - begin)
        for option in (text, f"--seed={text}"):
            at = line.find(f"\0{option}\0".encode())
            if at >= 0:
                ctypes.memset(begin + at + 1, ord("*"), len(option))


def _tokens(options: argparse.Namespace) -> int:
    from kafkalab.grading.tokens import rank_tokens

    columns, rows = rank_tokens(options.tokens, options.challenge)
    print(table_text(columns, rows, options.json))
    return 0
