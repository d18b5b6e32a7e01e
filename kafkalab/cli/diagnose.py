"""`kafkalab diagnose PATH...`: what happened, by the text of Kafka's tools and logs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError
from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.page import page_of
from kafkalab.diagnose.reading import lines_of, read_files, read_text
from kafkalab.diagnose.report import as_json, as_text
from kafkalab.limits import quote

STDIN = "-"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Files or folders, --json and --page."""
    what = "files or folders, of any mixture of texts; - reads what is pasted"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=what)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--page", default="", metavar="PAGE.html", help="write the report as one page, too")


def act(options: argparse.Namespace, root: Path) -> int:
    """Print the findings, each with its lines and with what to do; write the page if one is asked for."""
    if options.page and Path(options.page).suffix != ".html":
        raise CommandLineError(f"a page's name ends with .html, not {quote(Path(options.page).name)}")
    evidence = Evidence()
    try:
        for path in options.paths:
            if path == STDIN:
                read_text("(pasted)", lines_of(sys.stdin.buffer), evidence)
            else:
                read_files([root / path], evidence)
    except ValueError as error:
        raise CommandLineError(str(error)) from None
    findings = judge(evidence)
    print(as_json(evidence, findings) if options.json else as_text(evidence, findings))
    if options.page:
        (root / options.page).write_text(page_of(evidence, findings), encoding="utf-8")
    return 0
