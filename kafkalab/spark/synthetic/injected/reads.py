"""Stories of polls: aborted and uncommitted values that are read, records that are skipped, positions that go back."""

from __future__ import annotations

from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.injected.script import Story
from kafkalab.spark.synthetic.injected.window import RC, A, B, Ref, inner_reader, own_key


def result_of(value: Ref) -> Ref:
    """The output that goes back to an input."""
    return value + (names.RESULT - names.VALUE)


def aborted_read(bump: int) -> Story:
    """G1a: the reader with read_committed is given what was aborted."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A)
    at = story.send(sender, A)
    story.end(sender, "ABORT")
    marker = [row["step"] for row in story.tables["log"] if row["control"] != names.EMPTY][-1]
    poll = story.poll(RC, A, [at], at + 2)
    story.found("G1a", [A], [A.offset + at], [story.step_of(A, at), poll, marker])
    return story.rest()


def own_read(bump: int) -> Story:
    """precommitted-read: a process polls what its own transaction has not committed yet."""
    story, key = Story(bump), own_key()
    sender = story.producer()
    story.leader(key)
    story.begin(sender, key, A)
    at = story.send(sender, key)
    story.send(sender, A, result_of(story.value_of(key, at)))
    poll = story.poll(inner_reader(sender), key, [at], at + 1)
    asked = Ref(poll.start, story.clock + 1)
    story.end(sender)
    story.found("precommitted-read", [key], [key.offset + at], [story.step_of(key, at), poll, asked])
    return story.rest()


def _three(bump: int) -> Story:
    story = Story(bump)
    sender = story.producer(transactional=False)
    for _ in range(3):
        story.send(sender, A)
    return story


def skip_between_polls(bump: int, moved: str = "", policy: str = "forbidden") -> Story:
    """poll-skip: the second poll goes on one record too far."""
    story = _three(bump)
    before = story.poll(RC, A, [0], 1)
    after = story.poll(RC, A, [2], 3, start=2, moved=moved)
    story.found("poll-skip", [A], [A.offset + 1], [story.step_of(A, 1), before, after], policy)
    return story.rest()


def skip_across_a_rebalance(bump: int) -> Story:
    """poll-skip, allowed: somebody else may have read it."""
    return skip_between_polls(bump, "rebalance", "allowed")


def skip_inside_a_poll(bump: int) -> Story:
    """int-poll-skip: one poll returns the first and the third of three."""
    story = _three(bump)
    poll = story.poll(RC, A, [0, 2], 3)
    story.found("int-poll-skip", [A], [A.offset + 1], [story.step_of(A, 1), poll])
    return story.rest()


def read_again(bump: int) -> Story:
    """nonmonotonic-poll: the second poll returns the last record of the first one."""
    story = _three(bump)
    before = story.poll(RC, A, [0, 1, 2], 3)
    after = story.poll(RC, A, [2], 3)
    story.found("nonmonotonic-poll", [A], [A.offset + 2], [before, after])
    return story.rest()


def read_again_after_seek(bump: int) -> Story:
    """nonmonotonic-poll, allowed: the consumer went back on purpose."""
    story = _three(bump)
    before = story.poll(RC, A, [0, 1, 2], 3)
    after = story.poll(RC, A, [2], 3, start=2, moved="seek")
    story.found("nonmonotonic-poll", [A], [A.offset + 2], [before, after], "allowed")
    return story.rest()


def twice_in_a_poll(bump: int) -> Story:
    """int-nonmonotonic-poll: one poll returns a record twice."""
    story = _three(bump)
    poll = story.poll(RC, A, [0, 1, 2, 2], 3)
    story.found("int-nonmonotonic-poll", [A], [A.offset + 2], [poll])
    return story.rest()


def one_part_first(bump: int) -> Story:
    """partial visibility, allowed: a poll between the two markers of a transaction."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A, B)
    story.send(sender, A)
    story.send(sender, B)
    story.operation(sender, "commit")
    story.decide(sender)
    _, first = story.marker(sender, A, "COMMIT")
    poll = story.poll(RC, A, [0], 2)
    _, second = story.marker(sender, B, "COMMIT")
    story.entry(sender, "CompleteCommit")
    story.found("partial visibility", [A, B], [], [first, poll, second], "allowed")
    return story.rest()
