"""Stories of consume-transform-produce: effects that are lost, doubled or not there yet, offsets that disagree."""

from __future__ import annotations

from kafkalab.spark.synthetic.injected.reads import result_of
from kafkalab.spark.synthetic.injected.script import Story
from kafkalab.spark.synthetic.injected.window import A, B, Key, Producer, Ref, inner_reader, own_key, watcher


def inputs(story: Story, count: int) -> Key:
    """A partition of the window's own with so many committed records."""
    key, sender = own_key(), story.producer(transactional=False)
    story.leader(key)
    for _ in range(count):
        story.send(sender, key)
    return key


def process(
    story: Story, worker: Producer, key: Key, reads: list[int], outputs: dict[Key, list[int]], offset: int
) -> Ref:
    """One transaction: reads inputs, sends what becomes of some of them, commits an input offset; the poll's step."""
    story.begin(worker, *outputs)
    poll = story.poll(inner_reader(worker), key, reads, max(reads) + 1, start=reads[0])
    for output, sources in outputs.items():
        for at in sources:
            story.send(worker, output, result_of(story.value_of(key, at)))
    story.offsets(worker, key, offset)
    story.end(worker)
    return poll


def offset_ahead_of_output(bump: int) -> Story:
    """offset/output split: the committed offset lies behind a record that no committed transaction has read."""
    story = Story(bump)
    key, worker = inputs(story, 2), story.producer()
    story.poll(watcher(), key, [0, 1], 2)
    process(story, worker, key, [0], {A: [0]}, offset=2)
    committed = [row["step"] for row in story.tables["log"] if row["record_key"] != -1][-1]
    lost = story.step_of(key, 1)
    story.found("offset/output split", [key], [key.offset + 1], [committed, lost])
    story.found("exactly-once", [key], [key.offset + 1], [lost])
    return story.rest()


def processed_by_two(bump: int) -> Story:
    """offset/output split: two transactions of the group read the same input, and both commit."""
    story = Story(bump)
    key = inputs(story, 1)
    polls = [process(story, story.producer(), key, [0], {output: [0]}, offset=1) for output in (A, B)]
    story.found("offset/output split", [key], [key.offset], polls)
    story.found("exactly-once", [key], [key.offset], [story.step_of(k, 0) for k in (key, A, B)])
    return story.rest()


def offsets_commit_and_output_aborts(bump: int) -> Story:
    """offset/output split: the markers of one transaction say COMMIT for the offsets and ABORT for the output."""
    story = Story(bump)
    key, worker = inputs(story, 1), story.producer()
    story.begin(worker, A)
    story.poll(inner_reader(worker), key, [0], 1)
    output = story.send(worker, A, result_of(story.value_of(key, 0)))
    story.offsets(worker, key, 1)
    record = [row for row in story.tables["log"] if row["record_key"] != -1][-1]
    story.operation(worker, "commit")
    story.decide(worker)
    keys = story.open[worker]
    _, first = story.marker(worker, keys[-1], "COMMIT")
    story.entry(worker, "CompleteCommit")
    story.entry(worker, "PrepareAbort", A)
    _, second = story.marker(worker, A, "ABORT")
    story.entry(worker, "CompleteAbort")
    steps = [record["step"], story.step_of(A, output)]
    at = [record["offset"], A.offset + output]
    story.found("offset/output split", [keys[-1], A], [], steps)
    story.found("torn transaction", [keys[-1], A], at, [*steps, first, second])
    story.found("exactly-once", [key], [key.offset], [story.step_of(key, 0), story.step_of(A, output)])
    return story.rest()


def two_effects(bump: int) -> Story:
    """exactly-once: one transaction writes an input's result to two partitions."""
    story = Story(bump)
    key, worker = inputs(story, 1), story.producer()
    process(story, worker, key, [0], {A: [0], B: [0]}, offset=1)
    story.found("exactly-once", [key], [key.offset], [story.step_of(k, 0) for k in (key, A, B)])
    return story.rest()


def no_effect(bump: int) -> Story:
    """exactly-once: an input is read and its offset committed, but nothing comes of it."""
    story = Story(bump)
    key, worker = inputs(story, 2), story.producer()
    process(story, worker, key, [0, 1], {A: [0]}, offset=2)
    story.found("exactly-once", [key], [key.offset + 1], [story.step_of(key, 1)])
    return story.rest()


def not_yet(bump: int) -> Story:
    """exactly-once, allowed: read, but neither output nor offset is committed; it is in flight."""
    story = Story(bump)
    key, worker = inputs(story, 1), story.producer()
    story.begin(worker, A)
    story.poll(inner_reader(worker), key, [0], 1)
    output = story.send(worker, A, result_of(story.value_of(key, 0)))
    story.end(worker, "ABORT")
    steps = [story.step_of(key, 0), story.step_of(A, output)]
    story.found("exactly-once", [key], [key.offset], steps, "allowed")
    return story.rest()
