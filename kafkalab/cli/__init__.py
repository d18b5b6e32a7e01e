"""The `kafkalab` command, one file for each subcommand."""
