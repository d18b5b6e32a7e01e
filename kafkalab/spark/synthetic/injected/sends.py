"""Stories of sends and logs: duplicates, gaps, losses, orders that are wrong, offsets that show two values."""

from __future__ import annotations

from kafkalab.spark.synthetic.injected.script import Story
from kafkalab.spark.synthetic.injected.window import RC, RU, A, Ref, Start, own_key, watcher
from kafkalab.spark.synthetic.names import word


def two_values(bump: int) -> Story:
    """inconsistent-offsets: the two readers are given different values at one offset."""
    story = Story(bump)
    sender = story.producer(transactional=False)
    at = story.send(sender, A)
    sent = Ref(Start.STEP, story.clock)
    story.read_on(RC)
    other = story.poll(RU, A, [at], at + 1, o0=story.value())
    story.found("inconsistent-offsets", [A], [A.offset], [sent, other])
    return story.rest()


def never_in_a_log(bump: int) -> Story:
    """lost-write: acknowledged as a duplicate of a batch that no log holds."""
    story = Story(bump)
    sender, other = story.producer(transactional=False), story.producer(transactional=False)
    story.asked(sender, A, story.value(), 0, error="DUPLICATE_SEQUENCE_NUMBER")
    story.send(other, A)
    story.found("lost-write", [A], [], None)
    return story.rest()


def truncated(bump: int) -> Story:
    """lost-write: acknowledged, then lost with a leader; an aborted record takes its place."""
    story, key = Story(bump), own_key()
    sender, aborting = story.producer(transactional=False), story.producer()
    last = story.producer(transactional=False)
    story.leader(key)
    story.send(sender, key)
    cut = Ref(Start.STEP, story.clock + 4)
    lost = story.value()
    at = story.record(sender, key, lost, removed=word("truncated"), removed_step=cut)
    invoke, told = story.asked(sender, key, lost, 1, told=at)
    story.leader(key, epoch=1)
    assert cut == Ref(Start.STEP, story.clock)
    story.begin(aborting, key)
    value = story.value()
    story.record(aborting, key, value, offset=at, leader_epoch=1)
    story.asked(aborting, key, value, 0, end="info")
    story.end(aborting, "ABORT")
    story.send(last, key)
    poll = story.poll(watcher(), key, [0, 3], 4)
    story.found("lost-write", [key], [key.offset + at], [invoke, told, poll, cut])
    return story.rest()


def late(bump: int) -> Story:
    """unseen: the last record has not been polled when the history ends."""
    story, key = Story(bump), own_key()
    sender = story.producer(transactional=False)
    story.leader(key)
    story.send(sender, key)
    at = story.send(sender, key)
    story.poll(watcher(), key, [0], 1)
    story.found("unseen", [key], [key.offset + at], [story.step_of(key, at)], "reported")
    return story.rest()


def twice_in_the_log(bump: int) -> Story:
    """duplicate: sent once, appended twice."""
    story = Story(bump)
    sender = story.producer(transactional=False)
    first = story.send(sender, A)
    again = story.record(sender, A, story.value_of(A, first))
    steps = [story.step_of(A, first), story.step_of(A, again)]
    story.found("duplicate", [A], [A.offset + first, A.offset + again], steps)
    return story.rest()


def the_same_batch_twice(bump: int) -> Story:
    """duplicate: a retry with the same sequence is appended again, so the sequences do not follow each other."""
    story = Story(bump)
    sender = story.producer(transactional=False)
    first = story.send(sender, A)
    again = story.record(sender, A, story.value_of(A, first), sequence=0)
    offsets, steps = [A.offset + first, A.offset + again], [story.step_of(A, first), story.step_of(A, again)]
    story.found("duplicate", [A], offsets, steps)
    story.found("sequence gap", [A], offsets, steps)
    return story.rest()


def sent_again(bump: int) -> Story:
    """duplicate, allowed: the application itself sent the value twice."""
    story = Story(bump)
    sender = story.producer(transactional=False)
    first = story.send(sender, A)
    again = story.send(sender, A, story.value_of(A, first))
    steps = [story.step_of(A, first), story.step_of(A, again)]
    story.found("duplicate", [A], [A.offset + first, A.offset + again], steps, "allowed")
    return story.rest()


def _crossed(bump: int, inside: bool, idempotent: bool = True) -> Story:
    story = Story(bump)
    sender = story.producer(transactional=inside, idempotent=idempotent)
    if inside:
        story.begin(sender, A)
    early, later = story.value(), story.value()
    story.record(sender, A, later, 0)
    story.record(sender, A, early, 1)
    first = story.asked(sender, A, early, 1, told=1)
    second = story.asked(sender, A, later, 0, told=0)
    if inside:
        story.end(sender)
    name = "int-nonmonotonic-send" if inside else "nonmonotonic-send"
    story.found(name, [A], [A.offset + 1, A.offset], [*first, *second], "forbidden" if idempotent else "allowed")
    return story.rest()


def crossed_sends(bump: int) -> Story:
    """nonmonotonic-send: what was sent later lies in front."""
    return _crossed(bump, inside=False)


def crossed_without_idempotence(bump: int) -> Story:
    """nonmonotonic-send, allowed: nobody promised an order."""
    return _crossed(bump, inside=False, idempotent=False)


def crossed_in_a_transaction(bump: int) -> Story:
    """int-nonmonotonic-send: the same inside one transaction."""
    return _crossed(bump, inside=True)


def a_sequence_is_missing(bump: int) -> Story:
    """sequence gap: 2 follows 0."""
    return _sequences(bump, 2)


def a_sequence_comes_again(bump: int) -> Story:
    """sequence gap: 0 follows 0, with another value."""
    return _sequences(bump, 0)


def _sequences(bump: int, second: int) -> Story:
    story = Story(bump)
    sender = story.producer(transactional=False)
    a, b = story.send(sender, A, sequence=0), story.send(sender, A, sequence=second)
    story.found("sequence gap", [A], [A.offset + a, A.offset + b], [story.step_of(A, a), story.step_of(A, b)])
    return story.rest()


def stable_offset_goes_back(bump: int) -> Story:
    """LSO regression: the leader takes back what it called stable."""
    story = Story(bump)
    sender = story.producer(transactional=False)
    at = story.send(sender, A)
    before = story.mark(A, at + 1)
    after = story.mark(A, at)
    story.found("LSO regression", [A], [A.offset + at], [before, after])
    return story.rest()
