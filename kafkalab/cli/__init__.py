"""The `kafkalab` command, one file for each subcommand."""

STOPPED = 130
"""The exit status after Control-C or SIGTERM."""
