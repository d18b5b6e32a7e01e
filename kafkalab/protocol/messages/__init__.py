"""One file for each Kafka API: its request, its response, its key and versions."""
