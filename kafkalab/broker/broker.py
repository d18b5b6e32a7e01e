"""A broker: dispatches requests to handlers and carries their effects out. It does no I/O; its port does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkalab.broker.effects import (
    Answer,
    Append,
    Appended,
    AwaitDurable,
    Effect,
    FeedFollowers,
    Hold,
    Note,
    Park,
    Respond,
    Resume,
    Send,
    SetTimer,
    Suspend,
    Then,
)
from kafkalab.broker.group_coordinator.offsets import GroupOffsets
from kafkalab.broker.handlers.registry import HANDLERS
from kafkalab.broker.leadership import Leadership
from kafkalab.broker.port import Port
from kafkalab.broker.replication import Replication
from kafkalab.broker.state import BrokerState, Waiter
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.broker_registration import BrokerRegistration
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from kafkalab.protocol.messages.update_metadata import UpdateMetadata, UpdateMetadataResponse
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import HIGH_WATERMARK, NEWEST_OFFSET
from kafkalab.trace import Frame


class Context(NamedTuple):
    """What the present chain of effects goes back to: the request to answer, if any, and the event that caused it."""

    request: Frame | None
    cause: int


class Broker:
    """One broker process: its state, and the loop that does what handlers ask for.

    A crash ends a life: effects, timers and answers of an earlier life are dropped.
    """

    def __init__(self, state: BrokerState, port: Port) -> None:
        self.state = state
        self.name = state.name
        self.port = port
        self.life = 0
        self.replication = Replication(self)
        self.leadership = Leadership(self)
        self._watched: dict[str, int] = {}  # partition -> when its appends' deadlines are looked at next
        self._carry_out: dict[type, Callable[[Any, Context], None]] = {
            Respond: self._respond,
            Append: self._append,
            Send: lambda effect, context: self.send(effect.to, effect.request, effect.then, context),
            Note: self._note,
            SetTimer: lambda effect, context: self.timer(effect.delay_ms, effect.then, context, effect.background),
            FeedFollowers: lambda effect, context: self.replication.feed(effect.partition, context.cause),
            AwaitDurable: lambda effect, context: self._acknowledge(effect, effect.batch, context),
            Suspend: self._suspend,
            Resume: self._resume,
            Park: self._park,
            Hold: self._hold,
            Answer: self._answer,
        }

    # requests and effects

    def receive(self, frame: Frame) -> None:
        """Handle one request; its response may come now, later, or never."""
        context = Context(frame, frame.received_step)
        body = frame.body
        if isinstance(body, ReplicaFetch):
            self.replication.serve(body, context)
        elif isinstance(body, UpdateMetadata):
            self.leadership.update(body.metadata, context)
            self.perform([Respond(UpdateMetadataResponse())], context)
        else:
            self.perform(
                HANDLERS[type(body)](self.state, body, self.port.now, Header(frame.version, frame.sender)), context
            )

    def perform(self, effects: list[Effect], context: Context) -> None:
        """Carry the effects out, in order; if this broker dies in between, the rest is lost."""
        life = self.life
        for effect in effects:
            if self.life != life:
                return
            self._carry_out[type(effect)](effect, context)

    def _respond(self, effect: Respond, context: Context) -> None:
        assert context.request is not None, "a Respond without a request"
        self.port.respond(context.request, effect.body, context.cause)

    def _note(self, effect: Note, context: Context) -> None:
        self.port.record(self.name, "state", effect.name, context.cause, effect.data)

    def _resume(self, effect: Resume, context: Context) -> None:
        resume, effect.place.resume = effect.place.resume, None
        if resume is not None:
            resume(effect.result, context.cause)

    def _hold(self, effect: Hold, context: Context) -> None:
        self.state.held[effect.key] = context.request

    def _answer(self, effect: Answer, context: Context) -> None:
        request = self.state.held.pop(effect.key, None)
        if request is not None:
            self.port.respond(request, effect.body, context.cause)

    def go_on(self, then: Then, result: Any, context: Context) -> None:
        """Do what was to be done next, with its result."""
        self.perform(then.function(self.state, result, self.port.now, *then.args), context)

    def send(self, to: str, body: Any, then: Then | None, context: Context, background: bool = False) -> None:
        """A request to another node (or to itself: also that goes over the network)."""
        life = self.life

        def answered(response: Any, cause: int) -> None:
            if then is not None and self.life == life:
                self.go_on(then, response, Context(context.request, cause))

        self.port.request(self.name, to, body, answered, context.cause, background)

    def timer(self, delay_ms: int, then: Then, context: Context, background: bool = False) -> None:
        life = self.life

        def due() -> None:
            if self.life == life:
                self.go_on(then, None, context)

        self.port.timer(self.name, delay_ms, due, background)

    def _suspend(self, effect: Suspend, context: Context) -> None:
        life = self.life

        def resume(result: Any, cause: int) -> None:
            if self.life == life:
                self.go_on(effect.then, result, Context(context.request, cause))

        effect.place.resume = resume

    # the log

    def _append(self, effect: Append, context: Context) -> None:
        info = self.state.metadata.partitions.get(effect.partition)
        if info is None or info.leader != self.name:
            error = Error.NOT_LEADER_OR_FOLLOWER if info else Error.UNKNOWN_TOPIC_OR_PARTITION
            self.go_on(effect.then, Appended(error), context)
            return
        if effect.acks == -1 and len(info.isr) < self.state.min_isr(effect.partition):
            self.replication.readmit(effect.partition)
            self.go_on(effect.then, Appended(Error.NOT_ENOUGH_REPLICAS), context)
            return
        log = self.state.log(effect.partition)
        batch = log.append(effect.batch, info.leader_epoch)
        life = self.life
        self.port.record(self.name, "append", effect.partition, context.cause, batch)
        if self.life != life:
            return
        self._acknowledge(effect, batch, context)
        if not self.state.rules.on(HIGH_WATERMARK):
            self.wake(effect.partition, context.cause)
        self.replication.advance(effect.partition, context.cause)
        self.replication.feed(effect.partition, context.cause)

    def _acknowledge(self, effect: Append | AwaitDurable, batch: Batch, context: Context) -> None:
        """Go on at once with the leader's own copy, or when all in-sync replicas have the batch."""
        if effect.acks == -1:
            self._wait(effect.partition, batch, effect.timeout_ms, effect.then, context)
        else:
            self.go_on(effect.then, Appended(Error.NONE, batch), context)

    def _wait(self, partition: str, batch: Batch, timeout_ms: int, then: Then, context: Context) -> None:
        """Do `then` once the batch is below the high watermark, or timed out."""
        offset = batch.last_offset + 1
        if self.state.log(partition).high_watermark >= offset:
            self.go_on(then, Appended(Error.NONE, batch), context)
            return
        waiter = Waiter(offset, then, context, batch, self.port.now + timeout_ms)
        self.state.waiters.setdefault(partition, []).append(waiter)
        if waiter.deadline_ms < self._watched.get(partition, waiter.deadline_ms + 1):
            self._watch_deadline(partition, waiter.deadline_ms)

    def _watch_deadline(self, partition: str, at_ms: int) -> None:
        life = self.life
        self._watched[partition] = at_ms

        def due() -> None:
            if self.life != life or self._watched.get(partition) != at_ms:
                return
            del self._watched[partition]
            waiters = self.state.waiters.get(partition, [])
            late = [w for w in waiters if w.deadline_ms <= self.port.now]
            self.state.waiters[partition] = [w for w in waiters if w.deadline_ms > self.port.now]
            if self.state.waiters[partition]:
                self._watch_deadline(partition, min(w.deadline_ms for w in self.state.waiters[partition]))
            for waiter in late:
                self.go_on(waiter.then, Appended(Error.REQUEST_TIMED_OUT, waiter.appended), waiter.context)

        self.port.timer(self.name, at_ms - self.port.now, due, True)

    def fail_waiters(self, partition: str) -> None:
        """This broker leads the partition no more: every append that still waits has failed."""
        for waiter in self.state.waiters.pop(partition, []):
            self.go_on(waiter.then, Appended(Error.NOT_LEADER_OR_FOLLOWER, waiter.appended), waiter.context)

    def watermark_moved(self, partition: str, before: int, cause: int) -> None:
        """Release what waited for the high watermark: appends that are durable now, and parked fetches."""
        if topic_of(partition) == OFFSETS_TOPIC:
            self._apply_offsets(partition, before)
        waiters = self.state.waiters.get(partition)
        if waiters:
            mark = self.state.log(partition).high_watermark
            ready = [w for w in waiters if w.offset <= mark]
            self.state.waiters[partition] = [w for w in waiters if w.offset > mark]
            for waiter in ready:
                context = Context(waiter.context.request, cause)
                self.go_on(waiter.then, Appended(Error.NONE, waiter.appended), context)
        self.wake(partition, cause)

    def _apply_offsets(self, partition: str, before: int) -> None:
        """A group coordinator answers from what is committed in its partition, never from what is only appended."""
        if partition in self.state.offsets_loading or not self.state.leads(partition):
            return
        offsets = self.state.offsets.get(partition)
        if offsets is None:
            offsets = self.state.offsets[partition] = GroupOffsets(self.state.rules.on(NEWEST_OFFSET))
        log = self.state.log(partition)
        for batch in log.read(before, log.high_watermark):
            if before <= batch.base_offset:
                offsets.apply(batch)

    # parked fetches of consumers

    def _park(self, effect: Park, context: Context) -> None:
        life, place = self.life, [effect.then]

        def wake(cause: int) -> None:
            if place and self.life == life:
                self.go_on(place.pop(), None, Context(context.request, cause))

        for partition in effect.partitions:
            self.state.parked_fetches.setdefault(partition, []).append(wake)
        self.port.timer(self.name, effect.timeout_ms, lambda: wake(context.cause), False)

    def wake(self, partition: str, cause: int) -> None:
        """Let parked fetches of this partition look again."""
        for wake in self.state.parked_fetches.pop(partition, []):
            wake(cause)

    # life and death

    def start(self, cause: int = -1) -> None:
        """A fresh process: replicate, and scan for transactions that are open too long."""
        self.leadership.start(cause)

    def crash(self) -> None:
        """Everything but the logs is gone."""
        self.life += 1
        self._watched = {}
        self.state.forget()
        self.replication.forget()

    def restart(self, cause: int) -> None:
        """Back with the old logs, leading nothing until the controller says so."""
        self.leadership.forget_metadata()
        self.start(cause)
        self.register(cause)

    def register(self, cause: int) -> None:
        """Ask the controller to be let in, until it answers."""
        life = self.life

        def answered(response: Any, step: int) -> None:
            if response is None and self.life == life:
                self.register(step)

        self.port.request(self.name, "controller", BrokerRegistration(broker=self.name), answered, cause)
