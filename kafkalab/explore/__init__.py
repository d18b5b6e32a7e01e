"""Searches for the shortest way to break a promise: `explore(scenario, find="duplicate", rules_off=[...])`."""
