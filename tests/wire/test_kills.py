"""A server that is killed under load loses nothing that it acknowledged; `python -m tests.wire.kills` does so often."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka")


@pytest.mark.parametrize("options", [(), ("--fsync", "--profile", "4.x/TV1")])
def test_three_kills_lose_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    from tests.wire.kills import campaign

    found, counts = campaign(tmp_path, 3, 7, *options)
    assert (found, counts["committed"] > 0, counts["records acknowledged"] > 0) == ([], True, True)
