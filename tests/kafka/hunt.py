"""Run random scripts on a real Kafka and on kafkalab for a given time, and shrink each difference."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kafka.differences import explanations, find_unexplained, report, rows_of
from tests.kafka.hunts import HUNTS, add_row, first_fresh_seed
from tests.kafka.kafka_side import KafkaSide
from tests.kafka.lab_side import run
from tests.kafka.races import is_mixed
from tests.kafka.random_scripts import random_script
from tests.kafka.real_cluster import RealCluster
from tests.kafka.record import cluster_of, recorded_now, sides_of
from tests.kafka.script import Answer, Script

AT_ONCE = 30
SKIPPED = "Couldn't find leader endpoint for partitions"
"""The line that a coordinator prints when it takes a partition for deleted and does without its marker."""
TRIES = 40
"""The number of times that a difference is run again while it is shrunk."""


@dataclass(slots=True)
class Hunt:
    """One hunt: what was run, and the scripts whose answers differ, in the end each as small as it got."""

    recording: str
    cluster: RealCluster
    scripts: int = 0
    answers: int = 0
    explained: int = 0
    mixed: int = 0
    """Answers that `is_mixed` accounts for."""
    skipped: int = 0
    """Scripts that lost a marker while Kafka started again (KAFKA-20734), as its own log says."""
    races: list[str] = field(default_factory=list)
    """Scripts that Kafka does not answer twice the same, for a reason that is not known."""
    asked: set[tuple[str, int]] = field(default_factory=set)
    """The versions of APIs that were asked."""
    errors: set[str] = field(default_factory=set)
    """The errors that Kafka answered."""
    found: list[Script] = field(default_factory=list)

    @property
    def kafka(self) -> str:
        """The release that is asked, such as "4.3"."""
        return self.recording[:3]

    def batch(self, first_seed: int) -> None:
        """Run the scripts of the next seeds on both sides.

        A difference that the script does not show when it runs alone is a race, and named only if `is_mixed` knows it.
        """
        sides = sides_of(self.cluster, [random_script(first_seed + n, self.kafka) for n in range(AT_ONCE)])
        for side in sides:
            script, real = side.script, side.known_answers
            rows = rows_of(script["name"], real, run(script, self.recording), explanations(self.recording))
            self.scripts, self.answers = self.scripts + 1, self.answers + len(rows)
            self.asked |= {(step["ask"], step["version"]) for step in script["steps"] if "ask" in step}
            self.errors |= {one.error for one in side.asked}
            self.explained += sum(bool(row.differences) and row.explained for row in rows)
            bad = find_unexplained(rows)
            if not bad:
                continue
            print(time.strftime("%X"), report(rows), flush=True)
            if self.differs(script):
                self.found.append(script)
            elif is_mixed(bad, side.asked, [a for other in sides if other is not side for a in other.asked]):
                self.mixed += len(bad)
            elif self._has_skipped(side):
                self.skipped += 1
            else:
                self.races.append(script["name"])

    def _has_skipped(self, side: KafkaSide) -> bool:
        """Return whether Kafka says that it has skipped a marker of the script."""
        return any(SKIPPED in line and side.names.prefix in line for line in self.cluster.kafka.read_printed())

    def _ask(self, script: Script) -> list[Answer]:
        return recorded_now(self.cluster, [script])[script["name"]]

    def differs(self, script: Script) -> bool:
        """Return whether the two sides differ on the script, with answers asked for now."""
        try:
            side = sides_of(self.cluster, [script])[0]
            found = differs(self.recording, side.known_answers, run(script, self.recording), script["name"])
            return found and not self._has_skipped(side)
        except (RuntimeError, KeyError, AssertionError):
            return False  # what is left of it is no script

    def shrunk(self, script: Script) -> Script:
        """Return the script without what the difference does not need: long runs of steps first, then single ones."""
        tries, size = 0, max(1, len(script["steps"]) // 2)
        while size and tries < TRIES:
            at = 0
            while at < len(script["steps"]) and tries < TRIES:
                left = {**script, "steps": script["steps"][:at] + script["steps"][at + size :]}
                tries += 1
                if settles(script) == settles(left) and whole(left) and self.differs(left):
                    script = left
                else:
                    at += size
            size //= 2
        return script


def settles(script: Script) -> int:
    """Return how often the script waits: without its waits, an answer depends on the speed of the machine."""
    return sum("settle" in step or "sleep" in step for step in script["steps"])


def whole(script: Script) -> bool:
    """Return whether every answer that the script refers to is asked for before."""
    known: set[str] = set()
    for step in script["steps"]:
        text = json.dumps(step.get("with", {}))
        if any(part.split(".")[0] not in known for part in text.split("$")[1:]):
            return False
        known.add(step.get("as", ""))
    return bool(script["steps"])


def differs(recording: str, one: list[Answer], two: list[Answer], name: str) -> bool:
    """Return whether the answers differ without a reason that explained.json names."""
    return bool(find_unexplained(rows_of(name, one, two, explanations(recording))))


def hunt(recording: str, minutes: float, seed: int | None, libs: Path, home: Path, port: int, out: Path) -> int:
    """Hunt for so long, print what was found, write the shrunk scripts to `out`, and return how many they are.

    Without a seed the scripts are the next after those of all hunts that hunts.json has.
    """
    seed = first = first_fresh_seed() if seed is None else seed
    with cluster_of(recording, libs, home, port, None) as cluster:
        done, end = Hunt(recording, cluster), time.monotonic() + 60 * minutes
        told: dict[str, Any] = {}
        begun = time.monotonic()
        try:
            while time.monotonic() < end:
                done.batch(seed)
                seed += AT_ONCE
            for number, whole_script in enumerate(done.found):
                script = done.found[number] = done.shrunk(whole_script)
                print(json.dumps(script), flush=True)  # kept even if Kafka dies afterwards
                real, lab = done._ask(script), run(script, recording)
                rows = find_unexplained(rows_of(script["name"], real, lab, explanations(recording)))
                told[script["name"]] = [f"answer {row.number} ({row.api}) {d}" for row in rows for d in row.differences]
        except (OSError, RuntimeError) as error:  # the cluster is gone; what was compared before still counts
            print(f"the hunt ends early: {error!r}"[:300])
            minutes = round((time.monotonic() - begun) / 60, 1)
    print(f"{recording}: {done.scripts} random scripts, {done.answers} answers, {done.explained} explained, ", end="")
    print(f"{done.mixed} mixed up and {done.skipped} skipped by Kafka, {len(done.found)} scripts differ, ", end="")
    print(f"{len(done.races)} have other races {done.races}; the next seed is {seed}")
    for name, lines in told.items():
        print(name, *lines, sep="\n    ")
    row = {"recording": recording, "minutes": minutes, "scripts": done.scripts, "answers": done.answers}
    row |= {"explained": done.explained, "mixed": done.mixed, "skipped": done.skipped}
    row |= {"races": len(done.races), "different": len(done.found), "seed": first, "next": seed}
    add_row(HUNTS, {**row, "versions": len(done.asked), "errors": len(done.errors)})
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(done.found, indent=1))
    return len(done.found) + len(done.races)
