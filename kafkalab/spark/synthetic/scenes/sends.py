"""Scenes of sends and logs: duplicates, gaps, losses, orders that are wrong, offsets that show two values."""

from __future__ import annotations

from kafkalab.spark.synthetic.names import word
from kafkalab.spark.synthetic.scenes.scene import Scene
from kafkalab.spark.synthetic.scenes.window import RC, RU, WATCHER, A, Ref, Start, own_key


def two_values(scene: Scene) -> None:
    """inconsistent-offsets: the two readers are given different values at one offset."""
    sender = scene.producer(transactional=False)
    at = scene.send(sender, A)
    sent = Ref(Start.STEP, scene.clock)
    scene.read_on(RC)
    other = scene.poll(RU, A, [at], at + 1, o0=scene.value())
    scene.found("inconsistent-offsets", [A], [A.offset], [sent, other])


def never_in_a_log(scene: Scene) -> None:
    """lost-write: acknowledged as a duplicate of a batch that no log holds."""
    sender, other = scene.producer(transactional=False), scene.producer(transactional=False)
    scene.asked(sender, A, scene.value(), 0, error="DUPLICATE_SEQUENCE_NUMBER")
    scene.send(other, A)
    scene.found("lost-write", [A], [], None)


def truncated(scene: Scene) -> None:
    """lost-write: acknowledged, then lost with a leader; an aborted record takes its place."""
    key = own_key()
    sender, aborting = scene.producer(transactional=False), scene.producer()
    last = scene.producer(transactional=False)
    scene.leader(key)
    scene.send(sender, key)
    cut = Ref(Start.STEP, scene.clock + 4)
    lost = scene.value()
    at = scene.record(sender, key, lost, removed=word("truncated"), removed_step=cut)
    invoke, told = scene.asked(sender, key, lost, 1, told=at)
    scene.leader(key, epoch=1)
    assert cut == Ref(Start.STEP, scene.clock)
    scene.begin(aborting, key)
    value = scene.value()
    scene.record(aborting, key, value, offset=at, leader_epoch=1)
    scene.asked(aborting, key, value, 0, end="info")
    scene.end(aborting, "ABORT")
    scene.send(last, key)
    poll = scene.poll(WATCHER, key, [0, 3], 4)
    scene.found("lost-write", [key], [key.offset + at], [invoke, told, poll, cut])


def late(scene: Scene) -> None:
    """unseen: the last record has not been polled when the history ends."""
    key = own_key()
    sender = scene.producer(transactional=False)
    scene.leader(key)
    scene.send(sender, key)
    at = scene.send(sender, key)
    scene.poll(WATCHER, key, [0], 1)
    scene.found("unseen", [key], [key.offset + at], [scene.step_of(key, at)], "reported")


def twice_in_the_log(scene: Scene) -> None:
    """duplicate: sent once, appended twice."""
    sender = scene.producer(transactional=False)
    first = scene.send(sender, A)
    again = scene.record(sender, A, scene.value_of(A, first))
    steps = [scene.step_of(A, first), scene.step_of(A, again)]
    scene.found("duplicate", [A], [A.offset + first, A.offset + again], steps)


def the_same_batch_twice(scene: Scene) -> None:
    """duplicate: a retry with the same sequence is appended again, so the sequences do not follow each other."""
    sender = scene.producer(transactional=False)
    first = scene.send(sender, A)
    again = scene.record(sender, A, scene.value_of(A, first), sequence=0)
    offsets, steps = [A.offset + first, A.offset + again], [scene.step_of(A, first), scene.step_of(A, again)]
    scene.found("duplicate", [A], offsets, steps)
    scene.found("sequence gap", [A], offsets, steps)


def sent_again(scene: Scene) -> None:
    """duplicate, allowed: the application itself sent the value twice."""
    sender = scene.producer(transactional=False)
    first = scene.send(sender, A)
    again = scene.send(sender, A, scene.value_of(A, first))
    steps = [scene.step_of(A, first), scene.step_of(A, again)]
    scene.found("duplicate", [A], [A.offset + first, A.offset + again], steps, "allowed")


def crossed(scene: Scene, inside: bool = False, idempotent: bool = True) -> None:
    """nonmonotonic-send: what was sent later lies in front; `inside` one transaction, allowed if not `idempotent`."""
    sender = scene.producer(transactional=inside, idempotent=idempotent)
    if inside:
        scene.begin(sender, A)
    early, later = scene.value(), scene.value()
    scene.record(sender, A, later, 0)
    scene.record(sender, A, early, 1)
    first = scene.asked(sender, A, early, 1, told=1)
    second = scene.asked(sender, A, later, 0, told=0)
    if inside:
        scene.end(sender)
    name = "int-nonmonotonic-send" if inside else "nonmonotonic-send"
    scene.found(name, [A], [A.offset + 1, A.offset], [*first, *second], "forbidden" if idempotent else "allowed")


def wrong_sequence(scene: Scene, second: int) -> None:
    """sequence gap: `second` follows 0, with another value."""
    sender = scene.producer(transactional=False)
    a, b = scene.send(sender, A, sequence=0), scene.send(sender, A, sequence=second)
    scene.found("sequence gap", [A], [A.offset + a, A.offset + b], [scene.step_of(A, a), scene.step_of(A, b)])


def stable_offset_goes_back(scene: Scene) -> None:
    """LSO regression: the leader takes back what it called stable."""
    sender = scene.producer(transactional=False)
    at = scene.send(sender, A)
    before = scene.mark(A, at + 1)
    after = scene.mark(A, at)
    scene.found("LSO regression", [A], [A.offset + at], [before, after])
