"""A broker: dispatches requests to handlers and carries their effects out. It does no I/O; its port does."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any

from kafkalab.broker.effects import (
    All,
    Append,
    AppendResult,
    AwaitDurable,
    Effects,
    FeedFollowers,
    Note,
    Park,
    PassWindow,
    Readmit,
    Respond,
    Resume,
    Send,
    Sleep,
    Spawn,
    Suspend,
    Suspension,
    run_part,
)
from kafkalab.broker.handlers.registry import HANDLERS
from kafkalab.broker.leadership import Leadership
from kafkalab.broker.port import Port
from kafkalab.broker.replication import Replication
from kafkalab.broker.services import Context
from kafkalab.broker.state import BrokerState, Waiter
from kafkalab.broker.windows import stand_still
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import as_read
from kafkalab.protocol.messages.broker_registration import BrokerRegistration
from kafkalab.protocol.messages.replica_fetch import ReplicaFetch
from kafkalab.protocol.messages.update_metadata import UpdateMetadata, UpdateMetadataResponse
from kafkalab.protocol.partitions import OFFSETS_TOPIC, topic_of
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import HIGH_WATERMARK
from kafkalab.trace import Frame

WAITS = object()
"""The result of an effect whose generator is resumed later."""


class Broker:
    """One broker process: its state, and the loop that runs the generators of its handlers.

    A crash ends an incarnation: generators, timers and responses of an earlier one are dropped.
    """

    def __init__(self, state: BrokerState, port: Port) -> None:
        self.state = state
        self.name = state.name
        self.port = port
        self.incarnation, self._registrations = 0, 0
        self.replication = Replication(self)
        self.leadership = Leadership(self, self.replication)
        self._live: dict[Effects[Any], None] = {}  # begun and not ended
        self._watched: dict[str, int] = {}  # partition -> when its appends' deadlines are looked at next
        self._carry_out: dict[type, Callable[[Any, Effects[Any], Context], Any]] = {
            Respond: self._respond,
            Append: self._append,
            Send: self._send,
            Note: self._note,
            Sleep: self._sleep,
            PassWindow: self._pass_window,
            FeedFollowers: self._feed_followers,
            Readmit: lambda effect, *_: self.replication.in_sync.readmit(effect.partition),
            AwaitDurable: self._await_durable,
            Spawn: self._spawn,
            All: self._all,
            Suspend: self._suspend,
            Resume: self._resume,
            Park: self._park,
        }

    # requests and effects

    def receive(self, frame: Frame) -> None:
        """Handle one request; its response may come now, later, or never."""
        context = Context(frame, frame.received_step)
        body = frame.body
        if isinstance(body, ReplicaFetch):
            self.replication.serve(body, context)
        elif isinstance(body, UpdateMetadata):
            empty = self.leadership.update(body.metadata, context)
            self.port.respond(frame, UpdateMetadataResponse(empty=empty), context.cause)
        else:
            body = as_read(body, frame.version)
            self.state.now = self.port.now
            outcome = HANDLERS[type(body)](self.state, body, Header(frame.version, frame.sender))
            if type(outcome) is GeneratorType:
                self.run(outcome, context)
            else:
                self._answer(frame, outcome, context.cause)

    def run(self, effects: Effects[Any], context: Context, result: Any = None) -> None:
        """Run the generator, from where it is, with the result that it waits for, until it ends or waits again.

        If this broker crashes while it carries out an effect, the rest is lost.
        """
        self._live[effects] = None
        self.state.now, incarnation = self.port.now, self.incarnation
        while result is not WAITS and self.incarnation == incarnation:
            try:
                effect = effects.send(result)
            except StopIteration as end:
                del self._live[effects]
                if end.value is not None:
                    self._answer(context.request, end.value, context.cause)
                return
            result = self._carry_out[type(effect)](effect, effects, context)

    def _respond(self, effect: Respond, effects: Effects[Any], context: Context) -> None:
        self._answer(context.request, effect.body, context.cause)

    def _answer(self, request: Frame | None, body: object, cause: int) -> None:
        """Respond with what the request's version carries."""
        assert request is not None, "a response without a request"
        self.port.respond(request, as_read(body, request.version), cause)

    def _note(self, effect: Note, effects: Effects[Any], context: Context) -> None:
        self.port.record(self.name, "state", effect.name, context.cause, effect.data)

    def _feed_followers(self, effect: FeedFollowers, effects: Effects[Any], context: Context) -> None:
        self.replication.feed(effect.partition, context.cause)

    def _spawn(self, effect: Spawn, effects: Effects[Any], context: Context) -> None:
        self.run(effect.effects, context)

    def _all(self, effect: All, effects: Effects[Any], context: Context) -> Any:
        if not effect.parts:
            return []
        place, results = Suspension(self._resumer(effects, context)), [None] * len(effect.parts)
        unended, incarnation = set(range(len(effect.parts))), self.incarnation
        for index, part in enumerate(effect.parts):
            if self.incarnation == incarnation:
                self.run(run_part(part, index, results, unended, place), context)
        return WAITS

    def _suspend(self, effect: Suspend, effects: Effects[Any], context: Context) -> Any:
        effect.place.resume = self._resumer(effects, context)
        return WAITS

    def _resume(self, effect: Resume, effects: Effects[Any], context: Context) -> None:
        resume, effect.place.resume = effect.place.resume, None
        if resume is not None:
            resume(effect.result, context.cause)

    def _resumer(self, effects: Effects[Any], context: Context) -> Callable[[Any, int], None]:
        """A function `(result, cause)` that runs the generator on, in this incarnation only."""
        incarnation = self.incarnation

        def resume(result: object, cause: int) -> None:
            if self.incarnation == incarnation:
                self.run(effects, Context(context.request, cause), result)

        return resume

    def _send(self, effect: Send, effects: Effects[Any], context: Context) -> Any:
        """A request to another node (or to itself: also that goes over the network)."""
        self.port.request(self.name, effect.to, effect.request, self._resumer(effects, context), context.cause)
        return WAITS

    def _pass_window(self, effect: PassWindow, effects: Effects[Any], context: Context) -> Any:
        return WAITS if stand_still(self, effect.window, context, lambda then: self.run(effects, then)) else None

    def _sleep(self, effect: Sleep, effects: Effects[Any], context: Context) -> Any:
        incarnation = self.incarnation

        def due() -> None:
            if self.incarnation == incarnation:
                self.run(effects, context)

        self.port.timer(self.name, effect.delay_ms, due, effect.background)
        return WAITS

    # the log

    def _append(self, effect: Append, effects: Effects[Any], context: Context) -> Any:
        info = self.state.metadata.partitions.get(effect.partition)
        if info is None or info.leader != self.name:
            return AppendResult(Error.NOT_LEADER_OR_FOLLOWER if info else Error.UNKNOWN_TOPIC_OR_PARTITION)
        if effect.acks == -1 and not effect.below_min_isr and self.state.is_under_min_isr(effect.partition):
            self.replication.in_sync.readmit(effect.partition)
            return AppendResult(Error.NOT_ENOUGH_REPLICAS)
        batch = (log := self.state.log(effect.partition)).append(effect.batch, info.leader_epoch)
        if topic_of(effect.partition) == OFFSETS_TOPIC:
            self.state.apply_offsets(self.state.newest_offsets, effect.partition, (batch,))
        incarnation = self.incarnation
        self.port.record(self.name, "append", effect.partition, context.cause, batch)
        if self.incarnation != incarnation:
            return WAITS
        if self.replication.has_replicated(log, batch, context.cause):
            return AppendResult(Error.NONE, batch)
        if effect.acks == -1:
            self._wait(effect, batch, effects, context)
        else:
            self.run(effects, context, AppendResult(Error.NONE, batch))
        if not self.state.rules.on(HIGH_WATERMARK):
            self.wake(effect.partition, context.cause)
        self.replication.advance(effect.partition, context.cause)
        self.replication.feed(effect.partition, context.cause)
        return WAITS

    def _await_durable(self, effect: AwaitDurable, effects: Effects[Any], context: Context) -> Any:
        self.replication.advance(effect.partition, context.cause)
        reached = self.state.log(effect.partition).high_watermark > effect.batch.last_offset
        if effect.acks != -1 or reached:
            return AppendResult(Error.NONE, effect.batch)
        self._wait(effect, effect.batch, effects, context)
        return WAITS

    def _wait(self, effect: Append | AwaitDurable, batch: Batch, effects: Effects[Any], context: Context) -> None:
        """Let the generator wait until the batch is below the high watermark, or times out."""
        partition, deadline_ms = effect.partition, self.port.now + effect.timeout_ms
        waiter = Waiter(batch.last_offset + 1, effects, context, batch, deadline_ms)
        self.state.waiters.setdefault(partition, []).append(waiter)
        if deadline_ms < self._watched.get(partition, deadline_ms + 1):
            self._watch_deadline(partition, deadline_ms)

    def _watch_deadline(self, partition: str, at_ms: int) -> None:
        incarnation = self.incarnation
        self._watched[partition] = at_ms

        def due() -> None:
            if self.incarnation != incarnation or self._watched.get(partition) != at_ms:
                return
            del self._watched[partition]
            waiters = self.state.waiters.get(partition, [])
            late = [w for w in waiters if w.deadline_ms <= self.port.now]
            self.state.waiters[partition] = [w for w in waiters if w.deadline_ms > self.port.now]
            if self.state.waiters[partition]:
                self._watch_deadline(partition, min(w.deadline_ms for w in self.state.waiters[partition]))
            for waiter in late:
                self.run(waiter.effects, waiter.context, AppendResult(Error.REQUEST_TIMED_OUT, waiter.appended))

        self.port.timer(self.name, at_ms - self.port.now, due, True)

    def fail_waiters(self, partition: str) -> None:
        """This broker leads the partition no more: every append that still waits has failed."""
        for waiter in self.state.waiters.pop(partition, []):
            self.run(waiter.effects, waiter.context, AppendResult(Error.NOT_LEADER_OR_FOLLOWER, waiter.appended))

    def watermark_moved(self, partition: str, before: int, cause: int) -> None:
        """Release what waited for the high watermark: appends that are durable now, and parked fetches."""
        if topic_of(partition) == OFFSETS_TOPIC:
            self._apply_offsets(partition, before)
        if waiters := self.state.waiters.get(partition):
            mark = self.state.log(partition).high_watermark
            ready = [w for w in waiters if w.offset <= mark]
            self.state.waiters[partition] = [w for w in waiters if w.offset > mark]
            for one in ready:
                self.run(one.effects, Context(one.context.request, cause), AppendResult(Error.NONE, one.appended))
        self.wake(partition, cause)

    def _apply_offsets(self, partition: str, before: int) -> None:
        """Replay what is replicated now for those who read what is committed only."""
        if partition in self.state.offsets_loading or not self.state.leads(partition):
            return
        log = self.state.log(partition)
        self.state.apply_offsets(self.state.offsets, partition, log.batches_between(before, log.high_watermark))

    # parked fetches of consumers

    def _park(self, effect: Park, effects: Effects[Any], context: Context) -> Any:
        place = Suspension(self._resumer(effects, context))

        def wake(cause: int) -> None:
            resume, place.resume = place.resume, None
            if resume is not None:
                self.state.unpark(effect.partitions, wake)
                resume(None, cause)

        self.state.park(effect.partitions, wake)
        self.port.timer(self.name, effect.timeout_ms, lambda: wake(context.cause), False)
        return WAITS

    def wake(self, partition: str, cause: int) -> None:
        """Let parked fetches of this partition look again."""
        for wake in self.state.parked_fetches.pop(partition, []):
            wake(cause)

    # start, crash and restart

    def start(self, cause: int = -1) -> None:
        """A fresh process: replicate, and scan for transactions that are open too long."""
        self.leadership.start(cause)

    def crash(self, forgets: bool = True) -> None:
        """Stop whatever is under way, and forget everything but the logs; without `forgets` it can be looked at."""
        self.incarnation += 1
        live, self._live, self._watched = self._live, {}, {}
        for effects in live:
            effects.close()
        if forgets:
            self.state.forget()
            self.replication.forget()

    def restart(self, cause: int) -> None:
        """Back with the old logs, leading nothing until the controller says so."""
        self.leadership.forget_metadata()
        self.start(cause)
        self.register(cause)

    def register(self, cause: int) -> None:
        """Ask the controller to be let in, until it answers; what was asked before is not repeated."""
        number = self._registrations = self._registrations + 1

        def on_response(response: object, step: int) -> None:
            if response is None and self._registrations == number:
                self.register(step)

        self.port.request(self.name, "controller", BrokerRegistration(broker=self.name), on_response, cause)
