"""Kafka's APIs, one file each: request, reply, handler, and an API constant."""
