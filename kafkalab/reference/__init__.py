"""Writes the pages of docs/ from rules, bugs, errors and profiles, by running their scenarios."""
