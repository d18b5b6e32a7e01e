"""The `kafkalab` command: it finds the subcommand's module, which adds its options and acts on them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from kafkalab.cli import STOPPED
from kafkalab.cli.command_line import CommandLineError, Parser
from kafkalab.limits import QUOTE, quote, truncate

COMMANDS = {
    "lab": ("lab", "open the labs in JupyterLab"),
    "run": ("run", "run a saved scenario and say what became of it"),
    "page": ("page", "write a saved scenario's run as one page that any browser opens"),
    "explore": ("explore", "find the fewest faults with which a saved scenario breaks a promise"),
    "transactions": ("transactions", "list, describe, find or abort the transactions of a saved scenario"),
    "workload": ("workload", "make histories with known faults, simulated or synthetic (needs Spark)"),
    "audit": ("audit", "say which guarantees held in such histories (needs Spark)"),
    "diagnose": ("diagnose", "say what happened, by logs and by what Kafka's tools printed"),
    "serve": ("serve", "run brokers for your own Kafka clients (needs the wire extra)"),
    "tap": ("tap", "show what clients and a running Kafka say to each other (needs the wire extra)"),
    "capture": ("capture", "copy topics of a running Kafka into histories, for audits (needs wire and Spark)"),
    "build-labs": ("build_labs", "make the learners' notebooks, labs/, from labs/solutions/"),
    "grade": ("grade", "grade a folder of students' notebooks, or the answers to a challenge"),
    "inventory": ("inventory", "say what a class believed before and after the course"),
    "rules": ("pages", "make docs/rules.md: what goes wrong without each rule"),
    "bugs": ("pages", "make docs/bugs.md: Kafka's bugs, each with a run that shows it"),
    "atlas": ("pages", "make docs/errors.md: each error, in a run that meets it"),
    "profiles": ("pages", "make docs/profiles.md: the same questions, answered by each Kafka version"),
    "changes": ("pages", "make docs/changes.md: what the newest release of Kafka changed for transactions"),
    "protocol": ("pages", "make docs/protocol.md: what this Kafka does and why"),
}
"""By its name, the module of kafkalab.cli that has the command's `add_options` and `act`, and what it does."""


def main(argv: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Run one command line, in the folder `root`; return its exit status: 2, after one line on stderr, for a mistake.

    `argv` defaults to the process's own arguments, `root` to the current folder.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    name = words[0] if words and words[0] in COMMANDS else ""
    try:
        if not words:
            raise CommandLineError("which command? `kafkalab --help` lists them")
        options, more = _parser(name).parse_known_args(words)
        if more and name != "lab":
            raise CommandLineError(f"unrecognized arguments: {' '.join(more)}")
        status: int = options.act(argparse.Namespace(**vars(options), more=more), root or Path.cwd())
        return status
    except CommandLineError as error:
        print(f"{' '.join(['kafkalab', *filter(None, [name])])}: {_brief(str(error), words)}", file=sys.stderr)
        return 2
    except OSError as error:
        what = f"{quote(error.filename)}: {(error.strerror or 'failed').lower()}" if error.filename else str(error)
        print(f"kafkalab {name}: {_brief(what, words)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"kafkalab {name}: stopped", file=sys.stderr)
        return STOPPED
    except SystemExit as end:  # after --help
        return int(end.code or 0)


def _brief(message: str, words: Sequence[str]) -> str:
    """Return the first line of the message, in which long words of the command line are cut, and no control character.
    """
    for word in sorted((word for word in words if len(word) > QUOTE), key=len, reverse=True):
        message = message.replace(repr(word), quote(word)).replace(word, truncate(word, QUOTE))
    return "".join(sign if sign.isprintable() else "?" for sign in truncate(message))


def _parser(name: str) -> Parser:
    """Return the parser of all commands, in which only the one called `name` has its options."""
    parser = Parser(
        prog="kafkalab",
        description="Step through Kafka's exactly-once, break it, rewind, and see which guarantee breaks.",
        epilog="Begin with `kafkalab lab`. `kafkalab COMMAND --help` lists a command's options.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=18),
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands", parser_class=Parser)
    for command, (file, about) in COMMANDS.items():
        found = commands.add_parser(command, help=about, description=f"{about[:1].upper()}{about[1:]}.")
        if command == name:
            module = import_module(f"kafkalab.cli.{file}")
            found.set_defaults(act=module.act, command=command)
            module.add_options(found)
    return parser


if __name__ == "__main__":
    sys.exit(main())
