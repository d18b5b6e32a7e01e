"""`kafkalab inventory FOLDER`: what a class believed before and after the course, item by item."""

from __future__ import annotations

import argparse
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError


def add_options(parser: argparse.ArgumentParser) -> None:
    """The folder, and where the page goes."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a folder for each learner, with inventory-*.json")
    parser.add_argument("--out", type=Path, default=Path("inventory.html"), help="the page to write (inventory.html)")


def act(options: argparse.Namespace, root: Path) -> int:
    """Print the report and write it as a page."""
    from kafkalab.course.inventory.class_report import as_lines, as_page, read_class

    if not options.folder.is_dir():
        raise CommandLineError(f"{options.folder} is no folder")
    learners, refused = read_class(options.folder)
    if not learners:
        raise CommandLineError(f"{options.folder} has no folder with inventory-before.json or inventory-after.json")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(as_page(learners, refused), encoding="utf-8")
    print(as_lines(learners, refused))
    print(f"The same as a page: {options.out}")
    return 0
