"""Tests of applications: the fixture `kafka_lab` of pytest, brokers that lose what they are told to (docs/testing.md)."""
