"""Scenes of consume-transform-produce: effects that are lost, doubled or not there yet, offsets that disagree."""

from __future__ import annotations

from kafkalab.spark.synthetic.scenes.scene import Scene
from kafkalab.spark.synthetic.scenes.window import WATCHER, A, B, Key, Ref, Sender, inner_reader, own_key


def inputs(scene: Scene, count: int) -> Key:
    """A partition of the window's own with so many committed records."""
    key, sender = own_key(), scene.producer(transactional=False)
    scene.leader(key)
    for _ in range(count):
        scene.send(sender, key)
    return key


def process(
    scene: Scene, worker: Sender, key: Key, reads: list[int], outputs: dict[Key, list[int]], offset: int
) -> Ref:
    """One transaction: reads inputs, sends what becomes of some of them, commits an input offset; the poll's step."""
    scene.begin(worker, *outputs)
    poll = scene.poll(inner_reader(worker), key, reads, max(reads) + 1, start=reads[0])
    for output, sources in outputs.items():
        for at in sources:
            scene.result(worker, output, key, at)
    scene.offsets(worker, key, offset)
    scene.end(worker)
    return poll


def offset_ahead_of_output(scene: Scene) -> None:
    """offset/output split: the committed offset lies behind a record that no committed transaction has read."""
    key, worker = inputs(scene, 2), scene.producer()
    scene.poll(WATCHER, key, [0, 1], 2)
    process(scene, worker, key, [0], {A: [0]}, offset=2)
    committed = [row["step"] for row in scene.tables["log"] if row["record_key"] != -1][-1]
    lost = scene.step_of(key, 1)
    scene.found("offset/output split", [key], [key.offset + 1], [committed, lost])
    scene.found("exactly-once", [key], [key.offset + 1], [lost])


def processed_by_two(scene: Scene) -> None:
    """offset/output split: two transactions of the group read the same input, and both commit."""
    key = inputs(scene, 1)
    polls = [process(scene, scene.producer(), key, [0], {output: [0]}, offset=1) for output in (A, B)]
    scene.found("offset/output split", [key], [key.offset], polls)
    scene.found("exactly-once", [key], [key.offset], [scene.step_of(k, 0) for k in (key, A, B)])


def offsets_commit_and_output_aborts(scene: Scene) -> None:
    """offset/output split: the markers of one transaction say COMMIT for the offsets and ABORT for the output."""
    key, worker = inputs(scene, 1), scene.producer()
    scene.begin(worker, A)
    scene.poll(inner_reader(worker), key, [0], 1)
    output = scene.result(worker, A, key, 0)
    scene.offsets(worker, key, 1)
    record = [row for row in scene.tables["log"] if row["record_key"] != -1][-1]
    scene.operation(worker, "commit")
    scene.decide(worker)
    keys = scene.open[worker]
    _, first = scene.marker(worker, keys[-1], "COMMIT")
    scene.entry(worker, "CompleteCommit")
    scene.entry(worker, "PrepareAbort", A)
    _, second = scene.marker(worker, A, "ABORT")
    scene.entry(worker, "CompleteAbort")
    steps = [record["step"], scene.step_of(A, output)]
    at = [record["offset"], A.offset + output]
    scene.found("offset/output split", [keys[-1], A], [], steps)
    scene.found("torn transaction", [keys[-1], A], at, [*steps, first, second])
    scene.found("exactly-once", [key], [key.offset], [scene.step_of(key, 0), scene.step_of(A, output)])


def two_effects(scene: Scene) -> None:
    """exactly-once: one transaction commits an output without the input's offset; another processes it again."""
    key, worker = inputs(scene, 1), scene.producer()
    scene.begin(worker, A)
    scene.result(worker, A, key, 0)
    scene.end(worker)
    process(scene, worker, key, [0], {B: [0]}, offset=1)
    scene.found("exactly-once", [key], [key.offset], [scene.step_of(k, 0) for k in (key, A, B)])


def no_effect(scene: Scene) -> None:
    """exactly-once: an input is read and its offset committed, but nothing comes of it."""
    key, worker = inputs(scene, 2), scene.producer()
    process(scene, worker, key, [0, 1], {A: [0]}, offset=2)
    scene.found("exactly-once", [key], [key.offset + 1], [scene.step_of(key, 1)])


def not_yet(scene: Scene) -> None:
    """exactly-once, allowed: read, but neither output nor offset is committed; it is in flight."""
    key, worker = inputs(scene, 1), scene.producer()
    scene.begin(worker, A)
    scene.poll(inner_reader(worker), key, [0], 1)
    output = scene.result(worker, A, key, 0)
    scene.end(worker, "ABORT")
    steps = [scene.step_of(key, 0), scene.step_of(A, output)]
    scene.found("exactly-once", [key], [key.offset], steps, "allowed")
