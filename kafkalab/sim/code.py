"""Plain data as one line of text, to paste into a chat or a notebook cell: a class's challenges and answers.

Its kind + `.` + the data as JSON, packed (zlib) and in letters (base64url) + `.` + six characters that catch a slip of
the hand. A scenario leaves out what it has by default. (A scenario alone, to be typed: share_code.py.)
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import fields
from typing import Any

from kafkalab.sim.scenario import FORMAT, VERSION, Scenario

BYTES_MAX = 200_000


def scenario_row(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain data, without what is so by default."""
    row, plain = scenario.to_json(), Scenario().to_json()
    return {f.name: row[f.name] for f in fields(Scenario) if row[f.name] != plain[f.name]}


def scenario_of_row(row: Any) -> Scenario:
    """The inverse; ValueError for anything else."""
    if not isinstance(row, dict):
        raise ValueError("this code holds no scenario")
    return Scenario.from_json({**row, "format": FORMAT, "version": VERSION}, "the scenario of this code")


def pack(kind: str, data: Any) -> str:
    """The data as one line that begins with its kind; the same data always gives the same line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    letters = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
    return f"{kind}.{letters}.{_sum(kind, letters)}"


def unpack(kind: str, text: str) -> Any:
    """The data in a line of this kind, whatever white space was added on its way; ValueError for any other line."""
    if not isinstance(text, str):
        raise ValueError(f'a code is a string that begins with "{kind}.", not {type(text).__name__}')
    parts = "".join(text.split()).split(".")
    if len(parts) != 3 or parts[0] != kind:
        raise ValueError(f'this is no code of that kind: it must begin with "{kind}." and have two more parts')
    _, letters, found = parts
    if found != _sum(kind, letters):
        raise ValueError("this code was damaged on its way: a letter is missing or another one; copy it again")
    try:
        opened = zlib.decompressobj()
        packed = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
        data = opened.decompress(packed, BYTES_MAX)
        if not opened.eof:
            raise ValueError("too long")
        return json.loads(data.decode())
    except (ValueError, binascii.Error, zlib.error, RecursionError):
        raise ValueError("this code holds nothing that can be read") from None


def _sum(kind: str, letters: str) -> str:
    return f"{zlib.crc32(f'{kind}.{letters}'.encode()) & 0xFFFFFF:06x}"
