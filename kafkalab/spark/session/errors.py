"""Spark's error messages in one line, without Java."""

from __future__ import annotations

import re

LONGEST = 300


def one_line(error: BaseException) -> str:
    """The error's message without Java: of a Python error inside of a task that error's own last line."""
    text = str(error).strip() or type(error).__name__
    inner = re.findall(r"^(?:\w+\.)*(\w*(?:Error|Exception)): (.+)$", text, re.MULTILINE)
    if "Traceback (most recent call last)" in text and inner:
        text = inner[-1][1]
    line = re.sub(r"^\[[A-Z0-9_.]+\] ", "", text.partition("\n")[0])
    return line if len(line) <= LONGEST else line[:LONGEST] + " …"
