"""The torn transaction: certain only if no line of client and coordinator is missing; positions that go back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import CERTAIN, LIKELY, Finding
from kafkalab.diagnose.judge import apply_rules
from kafkalab.diagnose.reading import read_text

FOLDER = Path(__file__).parents[1] / "incidents" / "09_torn_transfer"
CLIENT = (FOLDER / "transfer-desk.log").read_text().splitlines()
STATE = (FOLDER / "state.dump.txt").read_text().splitlines()


def find(client: list[str], state: list[str]) -> list[str]:
    """Return the certainty of the torn transaction, if it is found."""
    evidence = Evidence()
    for name, lines in (("client", client), ("state", state)):
        read_text(name, ((line, False) for line in lines), evidence)
    return [one.certainty for one in apply_rules(evidence) if one.mechanism == "torn_transaction"]


def without(lines: list[str], *pieces: str, count: int = 1) -> list[str]:
    """Return the lines without the first `count` that hold all pieces."""
    found = [n for n, line in enumerate(lines) if all(piece in line for piece in pieces)][:count]
    assert found
    return [line for n, line in enumerate(lines) if n not in found]


def test_both_logs_make_it_certain() -> None:
    assert find(CLIENT, STATE) == [CERTAIN]


@pytest.mark.parametrize(
    "client",
    [
        without(CLIENT, "state change InTransaction -> BeginCommit"),
        without(CLIENT, "state change BeginCommit -> CommittingTransaction"),
        without(CLIENT, "state change Init -> "),
        without(CLIENT, "Acquired PID"),
        without(CLIENT, "registered with transaction", count=2),
        CLIENT[:60],
        CLIENT[40:],
    ],
)
def test_a_client_log_with_a_hole_is_not_enough(client: list[str]) -> None:
    assert CERTAIN not in find(client, STATE)


@pytest.mark.parametrize(
    "state",
    [
        without(STATE, '"transactionStatus":0'),
        without(STATE, "| offset: 9 "),
        without(STATE, "| offset: 4 "),
        without(STATE, "baseOffset: 7 "),
        STATE[:2] + STATE[6:],
        STATE + STATE[2:],
    ],
)
def test_a_dump_with_a_hole_is_not_enough(state: list[str]) -> None:
    assert CERTAIN not in find(CLIENT, state)


def test_without_an_end_txn_that_was_given_up_nothing_is_said() -> None:
    assert find(without(CLIENT, "Timed out EndTxnRequest"), STATE) == []
    assert find([], STATE) == []


def test_a_client_that_asked_for_what_was_decided_is_not_torn() -> None:
    abort = next(n for n, line in enumerate(STATE) if '"transactionStatus":2' in line and '"partitionIds":[0]}' in line)
    assert find(CLIENT, STATE[: abort - 1]) == []


POSITION = "| offset: {} CreateTime: 17 keySize: 3 key: offset_commit::group=g,partition=in-0 payload: offset={}"
BATCH = (
    "baseOffset: {0} lastOffset: {0} count: 1 baseSequence: 0 lastSequence: 0 producerId: 7 producerEpoch: 3 "
    "partitionLeaderEpoch: 0 isTransactional: true isControl: {1} position: 0 CreateTime: 17 size: 91"
)
MARKER = "| offset: {} CreateTime: 17 keySize: 4 endTxnMarker: COMMIT coordinatorEpoch: 0"


def write_positions(*entries: int | None) -> str:
    """Return a dump with these positions of a group; None is a marker."""
    lines = [f"Dumping /x/__consumer_offsets-1/{'0' * 20}.log"]
    for offset, position in enumerate(entries):
        lines.append(BATCH.format(offset, "true" if position is None else "false"))
        lines.append(MARKER.format(offset) if position is None else POSITION.format(offset, position))
    return "\n".join(lines)


def test_positions_that_go_back_within_a_transaction(diagnose: Callable[..., list[Finding]]) -> None:
    found = diagnose(write_positions(5, 3, None))
    assert [(one.mechanism, one.certainty) for one in found] == [("late_offset_commit", LIKELY)]
    assert diagnose(write_positions(3, 5, None)) == []
    assert diagnose(write_positions(5, None, 3, None)) == []


def test_a_lag_of_one_needs_the_marker_at_the_very_end(diagnose: Callable[..., list[Finding]]) -> None:
    group = (
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\nbooks out 0 {} {} 1 - - -"
    )
    dump = f"Dumping /x/out-0/{'0' * 20}.log\n" + "\n".join([BATCH.format(0, "false"), BATCH.format(1, "true")])
    dump = f"{dump}\n{MARKER.format(1)}"
    found = diagnose(group.format(1, 2), dump)
    assert [(one.mechanism, one.certainty, one.harmless) for one in found] == [("marker_is_lag", CERTAIN, True)]
    for other in (group.format(0, 1), group.format(2, 3)):
        assert "marker_is_lag" not in [one.mechanism for one in diagnose(other, dump)]
