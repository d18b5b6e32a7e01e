"""Readers of one kind of text each: a reader takes a line, adds its facts, and says if the line was its own.

Start at `reader.py`, then `dump_log.py`.
"""
