"""Record what a real Kafka answers: start it, run the scripts, write data/recorded."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.kafka.kafka_side import KafkaSide
from tests.kafka.real_cluster import RealCluster
from tests.kafka.running_kafka import RunningKafka
from tests.kafka.schema import Protocol
from tests.kafka.script import Answer, Normaliser, Script, belongs, scripts_of

DATA_AGE_MS = 1_800_000
"""The data of a script is this much older than the run, so that data time and "now" cannot be mixed up."""
SETTLE_S = 3.0
TOGETHER = 6
"""So many scripts run at once; no name meets another. Those that stop nodes run alone."""
TOPICS_AT_ONCE = 40


@contextmanager
def cluster_of(recording: str, libs: Path, home: Path, port: int) -> Iterator[RealCluster]:
    """Start the cluster of a recording ("4.3.1-tv2", "4.3.1-three-nodes"), and kill it in the end."""
    version, _, kind = recording.partition("-")
    kafka = RunningKafka(libs, home, 3 if kind == "three-nodes" else 1, port)
    kafka.format(2 if kind == "three-nodes" else int(kind[-1]))
    try:
        kafka.start_all()
        cluster = RealCluster(kafka, Protocol(str(libs / f"kafka-clients-{version}.jar")))
        cluster.wake()
        yield cluster
    finally:
        kafka.stop_all()


def recorded_now(cluster: RealCluster, scripts: list[Script]) -> dict[str, list[Answer]]:
    """Run the scripts one after the other and return their answers, by name."""
    base_ms = int(time.time() * 1000) - DATA_AGE_MS
    run = f"r{int(time.time()) % 1_000_000}"
    aged = [(f"{run}.{n}.{tid}", e) for n, s in enumerate(scripts) for tid, e in s.get("producer_epochs", {}).items()]
    cluster.preload(aged, base_ms)
    sides = [KafkaSide(cluster, f"{run}.{n}.", s, base_ms) for n, s in enumerate(scripts)]
    held = cluster.kafka.brokers == 1 and any("min_isr" in step for s in scripts for step in s["steps"])
    if held:
        cluster.kafka.start(2)
    topics = [row for side in sides for row in side.topics.items()]
    for first in range(0, len(topics), TOPICS_AT_ONCE):
        cluster.create(dict(topics[first : first + TOPICS_AT_ONCE]))
    with ThreadPoolExecutor(TOGETHER) as pool:
        list(pool.map(KafkaSide.until_ready, sides))
    if held:
        time.sleep(SETTLE_S)
        cluster.kafka.stop(2)
        time.sleep(SETTLE_S)
    alone = [s for s in sides if any({"stop", "kill"} & set(step) for step in s.script["steps"])]
    together = [s for s in sides if s not in alone]
    with ThreadPoolExecutor(TOGETHER) as pool:
        found = dict(zip((s.script["name"] for s in together), pool.map(_answers, together), strict=True))
    found |= {side.script["name"]: _answers(side) for side in alone}
    return {s["name"]: found[s["name"]] for s in scripts}


def _answers(side: KafkaSide) -> list[Answer]:
    began = time.time()
    try:
        raw = side.run()
    except Exception as error:  # the script is kept, with what went wrong, so that the others are recorded
        raw = [*side.answers, {"failed": str(error)[:400]}]
    took = time.time() - began
    print(f"{side.script['name']}: {len(raw)} answers in {took:.1f} s", file=sys.stderr, flush=True)
    found: list[Answer] = Normaliser(side.names.base_ms)(raw)
    return found


def record(
    recording: str, libs: Path, home: Path, port: int, only: str, family: str
) -> tuple[dict[str, int], dict[str, list[Answer]]]:
    """Record the scripts of a family whose name holds `only`; return features and answers."""
    scripts = [s for s in scripts_of(family) if belongs(s, recording) and only in s["name"]]
    with cluster_of(recording, libs, home, port) as cluster:
        return cluster.features(), recorded_now(cluster, scripts)
