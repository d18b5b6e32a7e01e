"""`kafkalab rules`, `bugs`, `atlas` and the others of MODULES: each writes a page of docs/ from runs or tables."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from kafkalab.cli.command_line import CommandLineError

MODULES = {
    "rules": "rule_matrix",
    "bugs": "bug_page",
    "atlas": "error_atlas",
    "profiles": "profile_table",
    "changes": "changes_page",
    "protocol": "protocol_page",
}
"""By its command, the module of kafkalab.reference with the page's `PAGE` and `text_of(root)`."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def act(options: argparse.Namespace, root: Path) -> int:
    """Write the page under `root` and print its path. CommandLineError where a scenario is not as it must be."""
    module = import_module(f"kafkalab.reference.{MODULES[options.command]}")
    try:
        text = module.text_of(root)
        (root / module.PAGE).write_text(text, encoding="utf-8")
    except (ValueError, OSError) as error:
        raise CommandLineError(str(error)) from None
    print(module.PAGE)
    return 0
