"""Rank the answers to a challenge: every token is replayed; its claim is not trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kafkalab.grading.challenge import Challenge, open_challenge, replay, unpack_token
from kafkalab.grading.deadline import OutOfTimeError, limit_time
from kafkalab.grading.exercise import WrongAnswer
from kafkalab.grading.values import text_of
from kafkalab.saved_data import file_text
from kafkalab.sim.codec import CHALLENGE, is_of_kind

TOKEN_S, REMARK_MAX = 60, 400
COLUMNS = ("place", "name", "found", "presses", "which", "remark")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One line of the file: who, what the presses found in the run made now, and why they do not count, if so."""

    line: int
    name: str = ""
    found: tuple[str, ...] = ()
    presses: tuple[str, ...] = ()
    remark: str = ""


def rank_tokens(path: Path, code: str | None = None) -> tuple[tuple[str, ...], list[list[object]]]:
    """Return the table: fewest presses first, then the order of the file; last what does not count, and why.

    The challenge is `code`, a file that holds it, or a line of the file of tokens itself. ValueError without one.
    """
    lines = file_text(path, errors="replace").splitlines()
    challenge = open_challenge(_code(lines, code))
    counted = [
        _judge_token(number, line.strip(), challenge)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.strip().startswith("#") and not is_of_kind(CHALLENGE, line)
    ]
    good = _best([c for c in counted if c.found])
    rows: list[list[object]] = []
    for entry in good:
        place = 1 + sum(len(other.presses) < len(entry.presses) for other in good)
        which = "; ".join(entry.presses)
        rows.append([place, entry.name, ", ".join(entry.found), len(entry.presses), which, entry.remark])
    for entry in (c for c in counted if not c.found):
        rows.append(["-", entry.name or f"line {entry.line}", "", len(entry.presses), "", entry.remark])
    return COLUMNS, rows


def _code(lines: list[str], code: str | None) -> str:
    if code and not is_of_kind(CHALLENGE, code):
        try:
            return file_text(code).strip()
        except (OSError, ValueError):
            raise ValueError(f"--challenge is a code (C1-...), or a file that holds one, not {code!r}") from None
    found = code or next((line for line in lines if is_of_kind(CHALLENGE, line)), "")
    if not found:
        raise ValueError("whose tokens are these? Give --challenge CODE, or put the code on a line of the file")
    return found


def _judge_token(number: int, token: str, challenge: Challenge) -> TokenRow:
    """Return what became of one token, whatever it is: an error is its remark, and the others are counted."""
    name, presses, found = "", tuple[str, ...](), tuple[str, ...]()
    try:
        with limit_time(TOKEN_S):
            mark, given, faults = unpack_token(token)
            name, presses = text_of(given, REMARK_MAX), tuple(text_of(repr(f), REMARK_MAX) for f in faults)
            answers = challenge.is_answered_by(mark)
            found, remark = (replay(challenge, faults), "") if answers else ((), "it answers another challenge")
    except (WrongAnswer, ValueError) as error:  # WrongValue is one, too
        remark = str(error).partition("\n")[0]
    except Exception as error:
        remark = f"it cannot be replayed: {type(error).__name__}: {error}"
    except OutOfTimeError:
        remark = f"its run did not end within {TOKEN_S} s"
    return TokenRow(line=number, name=name, found=found, presses=presses, remark=text_of(remark, REMARK_MAX))


def _best(good: list[TokenRow]) -> list[TokenRow]:
    """Return each name once, with its shortest token, in order."""
    ordered = sorted(good, key=lambda c: (len(c.presses), c.line))
    first: dict[str, TokenRow] = {}
    for entry in ordered:
        first.setdefault(entry.name.casefold(), entry)
    return list(first.values())
