"""Record what a real Kafka answers: start it, run the scripts, write data/recorded."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.kafka.kafka_side import KafkaSide
from tests.kafka.old_kafka import OldCluster, OldKafka
from tests.kafka.real_cluster import RealCluster
from tests.kafka.running_kafka import AUTHORIZER, RunningKafka, now_ms
from tests.kafka.schema import Protocol
from tests.kafka.script import Answer, Script, belongs, scripts_of

DATA_AGE_MS = 1_800_000
"""The data of a script is this much older than the run, so that data time and "now" cannot be mixed up."""
SETTLE_S = 3.0
TOGETHER = 6
"""So many scripts run at once; no name meets another. Scripts that stop the only broker stop it together."""
TOPICS_AT_ONCE = 40


@contextmanager
def cluster_of(
    recording: str, libs: Path, home: Path, port: int, messages: Path | None, more: str = ""
) -> Iterator[RealCluster]:
    """Start the cluster of a recording ("4.3.1-tv2", "4.3.1-three-nodes"), and kill it in the end.

    `more` has further lines of the brokers' properties.
    """
    version, _, kind = recording.partition("-")
    runs, asks = (OldKafka, OldCluster) if version.startswith("1.") else (RunningKafka, RealCluster)
    kafka = runs(libs, home, 3 if kind == "three-nodes" else 1, port, AUTHORIZER if kind == "acl" else more)
    kafka.format(int(kind[-1]) if kind.startswith("tv") else 2)
    try:
        kafka.start_all()
        cluster = asks(kafka, Protocol(str(messages or libs / f"kafka-clients-{version}.jar")))
        cluster.wake()
        yield cluster
    finally:
        kafka.stop_all()


def recorded_now(cluster: RealCluster, scripts: list[Script]) -> dict[str, list[Answer]]:
    """Run the scripts and return their answers, by name."""
    return {side.script["name"]: side.known_answers for side in sides_of(cluster, scripts)}


def sides_of(cluster: RealCluster, scripts: list[Script]) -> list[KafkaSide]:
    """Run the scripts, `TOGETHER` at a time, or alone where brokers are killed; return them with their answers."""
    base_ms = now_ms() - DATA_AGE_MS
    run = f"r{int(time.time() * 1000) % 1_000_000_000}"
    aged = [(f"{run}.{n}.{tid}", e) for n, s in enumerate(scripts) for tid, e in s.get("producer_epochs", {}).items()]
    cluster.preload(aged, base_ms)
    sides = [KafkaSide(cluster, f"{run}.{n}.", s, base_ms, n) for n, s in enumerate(scripts)]
    for kind in ("clean", "kill"):  # first, while there are few logs to load
        _run_with_stop(cluster, [s for s in sides if s.stops == kind], kind == "kill")
    others = [s for s in sides if not s.done]
    alone = [s for s in others if any("kill" in step for step in s.script["steps"])]
    _create(cluster, [s for s in others if s not in alone])
    for side in alone:
        _create(cluster, [side])
        side.run()
        print(f"{side.script['name']}: {len(side.answers)} answers", file=sys.stderr, flush=True)
        for node in side.gone.values():
            cluster.kafka.start(node)
        cluster.until_in_sync()
    cluster.forbid([row for side in others for row in side.denials])
    _together(KafkaSide.run, [s for s in others if s not in alone])
    return sides


def _together(act: Callable[[KafkaSide], None], sides: list[KafkaSide]) -> None:
    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(act, sides))


def _run_with_stop(cluster: RealCluster, sides: list[KafkaSide], kill: bool) -> None:
    """Run scripts that stop the broker once, all with the same stop."""
    if sides:
        _create(cluster, sides)
        _together(KafkaSide.run, sides)
        cluster.restart(kill)
        _together(KafkaSide.go_on, sides)


def _create(cluster: RealCluster, sides: list[KafkaSide]) -> None:
    """Create the scripts' topics; node 2 runs only while it is given its replicas."""
    held = cluster.kafka.brokers == 1 and any("min_isr" in step for s in sides for step in s.script["steps"])
    if held:
        cluster.kafka.start(2)
    topics = [row for side in sides for row in side.topics.items()]
    for first in range(0, len(topics), TOPICS_AT_ONCE):
        cluster.create(dict(topics[first : first + TOPICS_AT_ONCE]))
    _together(KafkaSide.until_ready, sides)
    if held:
        time.sleep(SETTLE_S)
        cluster.kafka.stop(2)
        time.sleep(SETTLE_S)


def record(
    recording: str, libs: Path, home: Path, port: int, messages: Path | None, only: str, families: list[str]
) -> tuple[dict[str, int], dict[str, list[Answer]]]:
    """Record the scripts of the families whose name holds `only`; return features and answers."""
    scripts = [s for s in scripts_of(*families) if belongs(s, recording) and only in s["name"]]
    with cluster_of(recording, libs, home, port, messages) as cluster:
        return cluster.features(), recorded_now(cluster, scripts)
