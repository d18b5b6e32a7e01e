"""The `kafkalab` command, one file for each subcommand.

Start at `main.py`, then `run.py`.
"""

STOPPED = 130
"""The exit status after Control-C or SIGTERM."""
