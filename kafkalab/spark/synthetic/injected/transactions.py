"""Stories of transactions: torn, joined, hanging, fenced too late, decided and not ended, or woven into each other."""

from __future__ import annotations

from kafkalab.spark.synthetic.injected.reads import result_of
from kafkalab.spark.synthetic.injected.script import Story
from kafkalab.spark.synthetic.injected.window import A, B, Producer, Ref, inner_reader, own_key
from kafkalab.spark.synthetic.names import word


def torn(bump: int) -> Story:
    """torn transaction: committed on A; on B a second decision aborts it."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A, B)
    a, b = story.send(sender, A), story.send(sender, B)
    story.operation(sender, "commit")
    story.decide(sender)
    _, first = story.marker(sender, A, "COMMIT")
    story.entry(sender, "CompleteCommit")
    story.entry(sender, "PrepareAbort", B)
    _, second = story.marker(sender, B, "ABORT")
    story.entry(sender, "CompleteAbort")
    steps = [story.step_of(A, a), story.step_of(B, b), first, second]
    story.found("torn transaction", [A, B], [A.offset + a, B.offset + b], steps)
    return story.rest()


def joined(bump: int) -> Story:
    """torn transaction: what a transaction left behind is committed with the next one."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A)
    a = story.send(sender, A)
    story.operation(sender, "commit", "info")
    story.begin(sender, A, B)
    b = story.send(sender, B)
    story.operation(sender, "commit")
    decided = story.decide(sender)
    for key in (A, B):
        story.marker(sender, key, "COMMIT")
    story.entry(sender, "CompleteCommit")
    steps = [decided, story.step_of(A, a), story.step_of(B, b)]
    story.found("torn transaction", [A, B], [A.offset + a, B.offset + b], steps)
    return story.rest()


def zombie(bump: int) -> Story:
    """zombie write: a newer session is at rest, and the old epoch still writes; an administrator ends that."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A)
    story.send(sender, A)
    old = sender.epoch
    story.end(sender)
    sender.epoch += 1
    fence, _ = story.entry(sender, "Empty")
    sender.epoch = old
    sender.transaction += 1
    at = story.send(sender, A, sequence=1 - bump)
    sent = story.tick()
    frame = word("admin")
    story.add(
        "frames", id=frame, name=word("WriteTxnMarkers"), kind=word("request"), sender=word("admin"), receiver=A.node,
        version=2, error=word(""), of=word(""), copy_of=word(""), attempt=1, fate=word("delivered"), sent_step=sent,
        received_step=story.tick(),
    )  # fmt: skip
    story.marker(sender, A, "ABORT", frame=frame)
    story.found("zombie write", [A], [A.offset + at], [fence, story.step_of(A, at)])
    return story.rest()


def _hanging(story: Story, sender: Producer, steps: list[Ref]) -> Story:
    key = own_key()
    story.leader(key)
    sender.transaction += 1
    if story.bump:
        sender.sequences.clear()
    at = story.send(sender, key)
    story.mark(key, at)
    story.found("hanging transaction", [key], [key.offset + at], [story.step_of(key, at), *steps])
    return story.rest()


def unknown_to_any_coordinator(bump: int) -> Story:
    """hanging transaction: no coordinator has ever heard of the producer."""
    story = Story(bump)
    sender = Producer(0, transactional=True)
    story.producers.append(sender)
    return _hanging(story, sender, [])


def late_for_its_transaction(bump: int) -> Story:
    """hanging transaction: a record comes after the markers, and opens a transaction that nobody will end."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A)
    story.send(sender, A)
    story.end(sender)
    return _hanging(story, sender, [Ref(1, story.clock)])


def undecided_marker(bump: int) -> Story:
    """marker without decision: a COMMIT that nobody decided."""
    story = Story(bump)
    sender = story.producer()
    story.begin(sender, A)
    story.send(sender, A)
    at, step = story.marker(sender, A, "COMMIT", epoch=sender.epoch + bump)
    story.found("marker without decision", [A], [A.offset + at], [step])
    return story.rest()


def unfinished(bump: int) -> Story:
    """decision without marker: PrepareCommit is the last that the coordinator says."""
    story, key = Story(bump), own_key()
    sender = story.producer()
    story.leader(key)
    story.begin(sender, key)
    story.send(sender, key)
    story.operation(sender, "commit")
    step = story.decide(sender)
    offset = story.tables["transactions"][-1]["offset"]
    story.found("decision without marker", [key], [offset], [step])
    return story.rest()


def another_in_between(bump: int) -> Story:
    """int-send-skip, allowed: transactions interleave with what others send."""
    story = Story(bump)
    sender, other = story.producer(), story.producer(transactional=False)
    story.begin(sender, A)
    first = story.send(sender, A)
    story.send(other, A)
    second = story.send(sender, A)
    story.end(sender)
    steps = [story.step_of(A, first), story.step_of(A, second)]
    story.found("int-send-skip", [A], [A.offset + first, A.offset + second], steps, "allowed")
    return story.rest()


def each_before_the_other(bump: int) -> Story:
    """G0, allowed: two transactions in opposite orders on two partitions."""
    story = Story(bump)
    one, two = story.producer(), story.producer()
    story.begin(one, A, B)
    story.begin(two, A, B)
    places = [(key, story.send(who, key)) for who, key in ((one, A), (two, A), (two, B), (one, B))]
    story.end(one)
    story.end(two)
    story.found("G0", [], [], [story.step_of(key, at) for key, at in places], "allowed")
    return story.rest()


def each_from_the_other(bump: int) -> Story:
    """G1c: two transactions, each of which reads what the other has not committed yet."""
    story = Story(bump)
    keys, steps = (own_key(0), own_key(1)), []
    clients = [story.producer(), story.producer()]
    for key, client in zip(keys, clients, strict=True):
        story.leader(key)
        story.begin(client, key, A)
        story.send(client, key)
        steps.append(story.step_of(key, 0))
    for key, client in zip(reversed(keys), clients, strict=True):
        steps.append(story.poll(inner_reader(client), key, [0], 1))
        story.send(client, A, result_of(story.value_of(key, 0)))
    for client in clients:
        story.end(client)
    story.found("G1c", [], [], steps)
    return story.rest()


def through_the_log(bump: int) -> Story:
    """G1c, allowed: the first to write reads what the second has committed; only the log's order closes the circle."""
    story, key = Story(bump), own_key()
    one, two = story.producer(), story.producer()
    story.leader(key)
    story.begin(one, A, B)
    story.begin(two, A, key)
    first, second = story.send(one, A), story.send(two, A)
    at = story.send(two, key)
    story.end(two)
    poll = story.poll(inner_reader(one), key, [at], at + 2)
    story.send(one, B, result_of(story.value_of(key, at)))
    story.end(one)
    steps = [story.step_of(A, first), story.step_of(A, second), story.step_of(key, at), poll]
    story.found("G1c", [], [], steps, "allowed")
    return story.rest()
