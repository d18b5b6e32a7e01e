"""Writes the pages of docs/ from rules, bugs, errors and profiles, by running their scenarios.

Start at `protocol_page.py`, then `rule_matrix.py`.
"""
