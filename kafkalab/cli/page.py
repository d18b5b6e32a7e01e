"""`kafkalab page FILE.klab --out run.html`: a saved scenario's run as one page that any browser opens."""

from __future__ import annotations

import argparse
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError
from kafkalab.cli.saved_scenarios import load_scenario, simulate
from kafkalab.limits import OPENED, quote, truncate
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.recorded_page import recorded_page


def add_options(parser: argparse.ArgumentParser) -> None:
    """FILE, where the page is written, and where it opens."""
    parser.add_argument("file", help="a saved scenario (.klab)")
    parser.add_argument("--out", required=True, metavar="PAGE.html", help="the page to write")
    parser.add_argument("--at", default="", metavar="NAME", help="open it there: EndTxn#1, or chapter:decision")


def act(options: argparse.Namespace, root: Path) -> int:
    """Write the page; say how large it is."""
    path = Path(options.out)
    if path.suffix != ".html":
        raise CommandLineError(f"a page's name ends with .html, not {quote(path.name)}")
    cluster = simulate(load_scenario(options.file), limit=OPENED.most)
    try:
        journey = Journey(cluster)
        if options.at:
            journey.press("find", options.at)
    except ValueError as error:
        raise CommandLineError(truncate(error)) from None
    text = recorded_page(journey)
    (root / path).write_text(text, encoding="utf-8")
    print(f"{path}: {len(text.encode()) // 1000} kB. Open it in a browser; it needs neither Python nor a network.")
    return 0
