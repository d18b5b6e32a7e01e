"""Sessions of real clients in labs: live where brokers and the client can be had, and else as they were saved."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Any

from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Scenario

SAVED = "{}: so this is the saved session of {}, run again.\n"


def load_session(package: str | None, name: str) -> Scenario:
    """Return the session that `live.save` wrote as NAME.json into a lab's package."""
    assert package is not None, "a lab is a package"
    text = (files(package) / f"{name}.json").read_text(encoding="utf-8")
    return Scenario.from_json(json.loads(text), name)


def run_live_or_saved(
    program: Callable[[Any], None],
    cluster_level: int,
    topics: Mapping[str, int],
    saved: Callable[[], Scenario],
    client: str,
) -> dict[str, tuple[str, ...]]:
    """Run a program of a real client on a LiveCluster; return what read_committed gets of each partition.

    Where that cannot be had (the client is not installed, or no socket may be opened), say so on stderr, and return
    what the saved session of `client` gives.
    """
    try:
        if sys.platform == "emscripten":
            raise OSError("a browser opens no sockets")
        from kafkalab.live.cluster import LiveCluster

        with LiveCluster(cluster_level=cluster_level, topics=dict(topics)) as live:
            program(live)
            return dict(live.outcome().committed)
    except ImportError as missing:
        reason = f"{missing.name or missing} is not installed"
    except (OSError, TimeoutError) as error:
        reason = f"no brokers can listen here ({error})"
    with suppress(OSError):
        sys.stderr.write(SAVED.format(reason, client))
    return dict(ran(saved()).outcome().committed)
