"""Scenes of transactions: torn, joined, hanging, fenced too late, decided and not ended, or woven into each other."""

from __future__ import annotations

from kafkalab.spark.synthetic.names import word
from kafkalab.spark.synthetic.scenes.scene import Scene
from kafkalab.spark.synthetic.scenes.window import A, B, Ref, Sender, inner_reader, own_key


def torn(scene: Scene) -> None:
    """torn transaction: committed on A; on B a second decision aborts it."""
    sender = scene.producer()
    scene.begin(sender, A, B)
    a, b = scene.send(sender, A), scene.send(sender, B)
    scene.operation(sender, "commit")
    scene.decide(sender)
    _, first = scene.marker(sender, A, "COMMIT")
    scene.entry(sender, "CompleteCommit")
    scene.entry(sender, "PrepareAbort", B)
    _, second = scene.marker(sender, B, "ABORT")
    scene.entry(sender, "CompleteAbort")
    steps = [scene.step_of(A, a), scene.step_of(B, b), first, second]
    scene.found("torn transaction", [A, B], [A.offset + a, B.offset + b], steps)


def joined(scene: Scene) -> None:
    """torn transaction: what a transaction left behind is committed with the next one."""
    sender = scene.producer()
    scene.begin(sender, A)
    a = scene.send(sender, A)
    scene.operation(sender, "commit", "info")
    scene.begin(sender, A, B)
    b = scene.send(sender, B)
    scene.operation(sender, "commit")
    decided = scene.decide(sender)
    for key in (A, B):
        scene.marker(sender, key, "COMMIT")
    scene.entry(sender, "CompleteCommit")
    steps = [decided, scene.step_of(A, a), scene.step_of(B, b)]
    scene.found("torn transaction", [A, B], [A.offset + a, B.offset + b], steps)


def zombie(scene: Scene) -> None:
    """zombie write: a newer session is at rest, and the old epoch still writes; an administrator ends that."""
    sender = scene.producer()
    scene.begin(sender, A)
    scene.send(sender, A)
    old = sender.epoch
    scene.end(sender)
    sender.epoch += 1
    fence, _ = scene.entry(sender, "Empty")
    sender.epoch = old
    sender.transaction += 1
    at = scene.send(sender, A, sequence=1 - scene.bump)
    sent = scene.tick()
    frame = word("admin")
    scene.add(
        "frames", id=frame, name=word("WriteTxnMarkers"), kind=word("request"), sender=word("admin"), receiver=A.node,
        version=2, error=word(""), of=word(""), copy_of=word(""), attempt=1, fate=word("delivered"), sent_step=sent,
        received_step=scene.tick(),
    )  # fmt: skip
    scene.marker(sender, A, "ABORT", frame=frame)
    scene.found("zombie write", [A], [A.offset + at], [fence, scene.step_of(A, at)])


def _hanging(scene: Scene, sender: Sender, steps: list[Ref]) -> None:
    key = own_key()
    scene.leader(key)
    sender.transaction += 1
    if scene.bump:
        sender.sequences.clear()
    at = scene.send(sender, key)
    scene.mark(key, at)
    scene.found("hanging transaction", [key], [key.offset + at], [scene.step_of(key, at), *steps])


def unknown_to_any_coordinator(scene: Scene) -> None:
    """hanging transaction: no coordinator has ever heard of the producer."""
    sender = Sender(0, transactional=True)
    scene.producers.append(sender)
    _hanging(scene, sender, [])


def late_for_its_transaction(scene: Scene) -> None:
    """hanging transaction: a record comes after the markers, and opens a transaction that nobody will end."""
    sender = scene.producer()
    scene.begin(sender, A)
    scene.send(sender, A)
    scene.end(sender)
    _hanging(scene, sender, [Ref(1, scene.clock)])


def undecided_marker(scene: Scene) -> None:
    """marker without decision: a COMMIT that nobody decided."""
    sender = scene.producer()
    scene.begin(sender, A)
    scene.send(sender, A)
    at, step = scene.marker(sender, A, "COMMIT", epoch=sender.epoch + scene.bump)
    scene.found("marker without decision", [A], [A.offset + at], [step])


def unfinished(scene: Scene) -> None:
    """decision without marker: PrepareCommit is the last that the coordinator says."""
    key = own_key()
    sender = scene.producer()
    scene.leader(key)
    scene.begin(sender, key)
    scene.send(sender, key)
    scene.operation(sender, "commit")
    step = scene.decide(sender)
    offset = scene.tables["transactions"][-1]["offset"]
    scene.found("decision without marker", [key], [offset], [step])


def another_in_between(scene: Scene) -> None:
    """int-send-skip, allowed: transactions interleave with what others send."""
    sender, other = scene.producer(), scene.producer(transactional=False)
    scene.begin(sender, A)
    first = scene.send(sender, A)
    scene.send(other, A)
    second = scene.send(sender, A)
    scene.end(sender)
    steps = [scene.step_of(A, first), scene.step_of(A, second)]
    scene.found("int-send-skip", [A], [A.offset + first, A.offset + second], steps, "allowed")


def each_before_the_other(scene: Scene) -> None:
    """G0, allowed: two transactions in opposite orders on two partitions."""
    one, two = scene.producer(), scene.producer()
    scene.begin(one, A, B)
    scene.begin(two, A, B)
    places = [(key, scene.send(who, key)) for who, key in ((one, A), (two, A), (two, B), (one, B))]
    scene.end(one)
    scene.end(two)
    scene.found("G0", [], [], [scene.step_of(key, at) for key, at in places], "allowed")


def each_from_the_other(scene: Scene) -> None:
    """G1c: two transactions, each of which reads what the other has not committed yet."""
    keys, steps = (own_key(0), own_key(1)), []
    clients = [scene.producer(), scene.producer()]
    for key, client in zip(keys, clients, strict=True):
        scene.leader(key)
        scene.begin(client, key, A)
        scene.send(client, key)
        steps.append(scene.step_of(key, 0))
    for key, client in zip(reversed(keys), clients, strict=True):
        steps.append(scene.poll(inner_reader(client), key, [0], 1))
        scene.result(client, A, key, 0)
    for client in clients:
        scene.end(client)
    scene.found("G1c", [], [], steps)


def through_the_log(scene: Scene) -> None:
    """G1c, allowed: the first to write reads what the second has committed; only the log's order closes the circle."""
    key = own_key()
    one, two = scene.producer(), scene.producer()
    scene.leader(key)
    scene.begin(one, A, B)
    scene.begin(two, A, key)
    first, second = scene.send(one, A), scene.send(two, A)
    at = scene.send(two, key)
    scene.end(two)
    poll = scene.poll(inner_reader(one), key, [at], at + 2)
    scene.result(one, B, key, at)
    scene.end(one)
    steps = [scene.step_of(A, first), scene.step_of(A, second), scene.step_of(key, at), poll]
    scene.found("G1c", [], [], steps, "allowed")
