"""Tests of applications: the fixture `kafka_lab` of pytest, with brokers that fail where they are told to."""
