"""The random oracle asks fresh questions, and was asked lately."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from kafkalab.protocol.api import NEWEST, USUAL
from kafkalab.protocol.messages.registry import BY_NAME
from tests.kafka.hunts import CLEANINGS, HUNTS, first_fresh_seed, read_rows
from tests.kafka.random_scripts import random_script

COMPARED = ("kafkalab/broker", "kafkalab/log", "kafkalab/protocol")
MOST_COMMITS = 200


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"git {words[0]}: {done.stderr.strip()[:200]}")
    return done.stdout.strip()


def commits_after(root: Path, commit: str) -> int:
    """Return how many commits there are after this one, up to the last that changed what is compared."""
    return int(git(root, "rev-list", "--count", f"{commit}..{git(root, 'log', '-1', '--format=%H', '--', *COMPARED)}"))


@pytest.mark.parametrize("path", [HUNTS, CLEANINGS], ids=["scripts", "cleanings"])
def test_the_last_hunt_is_not_much_older_than_what_it_compared(path: Path, root: Path) -> None:
    if not (root / ".git").exists():
        pytest.skip("no repository")
    count = commits_after(root, read_rows(path)[-1]["commit"])
    assert count <= MOST_COMMITS, f"the last hunt is {count} commits old: run `make oracle`, commit {path.name}"


def test_the_next_hunt_begins_after_every_seed_that_was_drawn() -> None:
    assert first_fresh_seed() == max(row.get("seed", 1) + row["scripts"] for row in read_rows(HUNTS))
    assert first_fresh_seed(CLEANINGS) == max(row["seed"] + row["logs"] for row in read_rows(CLEANINGS))


@pytest.mark.parametrize("kafka", [USUAL, NEWEST])
def test_random_scripts_draw_what_a_release_knows(kafka: str) -> None:
    scripts = [random_script(seed, kafka) for seed in range(400)]
    steps = [step for script in scripts for step in script["steps"]]
    asked = {(step["ask"], step["version"]) for step in steps if "ask" in step}
    assert [(api, v) for api, v in sorted(asked) if v not in BY_NAME[api].known_to(kafka)] == []
    for api in ("Produce", "Fetch", "TxnOffsetCommit"):  # the newest versions name topics by id
        assert (api, BY_NAME[api].known_to(kafka)[-1]) in asked
    given = [step["with"] for step in steps if "with" in step]
    assert {one["group_id"] for one in given if "group_id" in one} == {"g", "h"}
    assert any("group_instance_id" in one for one in given)
    assert any(one.get("transaction_timeout_ms") == 3_000 for one in given)
    assert any(step.get("wait") is False for step in steps), "a second member joins while others go on"
    times = [b["timestamp_ms"] for one in given for b in one.get("batches", {}).values()]
    assert any(later < earlier for earlier, later in pairwise(times))


def test_a_seed_always_makes_the_same_script() -> None:
    assert random_script(7) == random_script(7) != random_script(8)
