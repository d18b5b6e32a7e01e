"""`kafkalab`, and `python -m kafkalab` where its script is not on the path."""

import sys

from kafkalab.cli import STOPPED


def main() -> int:
    """Run the command line and return its exit status; Control-C ends it with a line, also while modules are loaded."""
    try:
        from kafkalab.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        print("kafkalab: stopped", file=sys.stderr)
        return STOPPED


if __name__ == "__main__":
    sys.exit(main())
