"""The capture: topics of a running Kafka as tables of a history, with all that the log says of producers."""
