"""`kafkalab diagnose PATH...`: what happened, by the text of Kafka's tools and logs."""

from __future__ import annotations

import argparse
from pathlib import Path

from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.reading import read_files
from kafkalab.diagnose.report import as_json, as_text


def add_options(parser: argparse.ArgumentParser) -> None:
    """Files or folders, --json and --page."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders, of any mixture of texts")
    parser.add_argument("--json", action="store_true", help="print JSON")


def act(options: argparse.Namespace, root: Path) -> int:
    """Print the findings, each with its lines and with what to do."""
    evidence = read_files([Path(path) if Path(path).is_absolute() else root / path for path in options.paths])
    findings = judge(evidence)
    print(as_json(evidence, findings) if options.json else as_text(evidence, findings))
    return 0
