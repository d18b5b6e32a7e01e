"""The saved scenarios of data/: each gives the run whose digest its README names, on every machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

DATA = Path(__file__).parents[2] / "data"
ROW = re.compile(r"^\| (\S+\.klab) \| .* \| `([0-9a-f]{16})` \| (\w+) \|$", re.MULTILINE)
ROWS = ROW.findall((DATA / "README.md").read_text(encoding="utf-8"))


def test_the_readme_names_every_file() -> None:
    assert sorted(name for name, _, _ in ROWS) == sorted(p.name for p in DATA.glob("*.klab"))


@pytest.mark.parametrize(("name", "digest", "verdict"), ROWS)
def test_a_saved_scenario_gives_the_run_that_it_was_saved_for(name: str, digest: str, verdict: str) -> None:
    cluster = Cluster(Scenario.load(DATA / name))
    assert (cluster.run().digest(), cluster.outcome().verdict) == (digest, verdict)
    assert cluster.unused_faults == ()
