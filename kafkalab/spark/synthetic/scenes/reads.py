"""Scenes of polls: aborted and uncommitted values that are read, records that are skipped, positions that go back."""

from __future__ import annotations

from kafkalab.spark.synthetic import names
from kafkalab.spark.synthetic.scenes.scene import Scene
from kafkalab.spark.synthetic.scenes.window import RC, A, B, Ref, inner_reader, own_key


def aborted_read(scene: Scene) -> None:
    """G1a: the reader with read_committed is given what was aborted."""
    sender = scene.producer()
    scene.begin(sender, A)
    at = scene.send(sender, A)
    scene.end(sender, "ABORT")
    marker = [row["step"] for row in scene.tables["log"] if row["control"] != names.EMPTY][-1]
    poll = scene.poll(RC, A, [at], at + 2)
    scene.found("G1a", [A], [A.offset + at], [scene.step_of(A, at), poll, marker])


def own_read(scene: Scene) -> None:
    """precommitted-read: a process polls what its own transaction has not committed yet."""
    key = own_key()
    sender = scene.producer()
    scene.leader(key)
    scene.begin(sender, key, A)
    at = scene.send(sender, key)
    scene.result(sender, A, key, at)
    poll = scene.poll(inner_reader(sender), key, [at], at + 1)
    asked = Ref(poll.start, scene.clock + 1)
    scene.end(sender)
    scene.found("precommitted-read", [key], [key.offset + at], [scene.step_of(key, at), poll, asked])


def _three(scene: Scene) -> None:
    sender = scene.producer(transactional=False)
    for _ in range(3):
        scene.send(sender, A)


def skip_between_polls(scene: Scene, moved: str = "", policy: str = "forbidden") -> None:
    """poll-skip: the second poll goes on one record too far; allowed if `moved` by a rebalance."""
    _three(scene)
    before = scene.poll(RC, A, [0], 1)
    after = scene.poll(RC, A, [2], 3, start=2, moved=moved)
    scene.found("poll-skip", [A], [A.offset + 1], [scene.step_of(A, 1), before, after], policy)


def skip_inside_a_poll(scene: Scene) -> None:
    """int-poll-skip: one poll returns the first and the third of three."""
    _three(scene)
    poll = scene.poll(RC, A, [0, 2], 3)
    scene.found("int-poll-skip", [A], [A.offset + 1], [scene.step_of(A, 1), poll])


def read_again(scene: Scene, start: int | None = None, moved: str = "", policy: str = "forbidden") -> None:
    """nonmonotonic-poll: the second poll returns the last record of the first one; allowed if `moved` by a seek."""
    _three(scene)
    before = scene.poll(RC, A, [0, 1, 2], 3)
    after = scene.poll(RC, A, [2], 3, start=start, moved=moved)
    scene.found("nonmonotonic-poll", [A], [A.offset + 2], [before, after], policy)


def twice_in_a_poll(scene: Scene) -> None:
    """int-nonmonotonic-poll: one poll returns a record twice."""
    _three(scene)
    poll = scene.poll(RC, A, [0, 1, 2, 2], 3)
    scene.found("int-nonmonotonic-poll", [A], [A.offset + 2], [poll])


def one_part_first(scene: Scene) -> None:
    """partial visibility, allowed: a poll between the two markers of a transaction."""
    sender = scene.producer()
    scene.begin(sender, A, B)
    scene.send(sender, A)
    scene.send(sender, B)
    scene.operation(sender, "commit")
    scene.decide(sender)
    _, first = scene.marker(sender, A, "COMMIT")
    poll = scene.poll(RC, A, [0], 2)
    _, second = scene.marker(sender, B, "COMMIT")
    scene.entry(sender, "CompleteCommit")
    scene.found("partial visibility", [A, B], [], [first, poll, second], "allowed")
