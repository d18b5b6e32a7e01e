"""Replication: followers fetch from leaders, and the high watermark follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkalab.broker.direct_replication import DirectReplication
from kafkalab.broker.handlers.delete_records import log_start_note
from kafkalab.broker.in_sync_sets import InSyncSets
from kafkalab.broker.services import Context, Services
from kafkalab.broker.state import FetchSession
from kafkalab.log.partition_log import PartitionLog
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.replica_fetch import ReplicaData, ReplicaFetch, ReplicaFetchResponse
from kafkalab.protocol.records import Batch
from kafkalab.protocol.rules import LEADER_EPOCH

FORGOTTEN = (-1, -1)
"""The position of a partition that a follower fetches no more."""


class Replication:
    """Both halves of one broker: as a leader it serves followers, as a follower it fetches from leaders."""

    def __init__(self, broker: Services) -> None:
        self.broker = broker
        self.fetching: dict[str, int] = {}  # leader -> generation of the fetch under way
        self.in_sync = InSyncSets(broker, self.advance)
        self.led_since: dict[str, int] = {}  # partition -> metadata version in which this broker became its leader
        self.failed: dict[str, int] = {}  # partition -> leader epoch whose batches this follower could not append
        self._generation = 0
        self.direct: DirectReplication | None = None

    def forget(self) -> None:
        """A crash: no sessions, no requests under way."""
        self.fetching, self.led_since, self.failed = {}, {}, {}
        self.in_sync.forget()
        self._generation += 1

    def settle(self) -> None:
        """Let followers have what they lack where replication needs no frames."""
        if self.direct is not None:
            self.direct.settle()

    # the leader's half

    def has_replicated(self, log: PartitionLog, batch: Batch, cause: int) -> bool:
        """Raise the high watermark over the batch just appended where replication needs no frames; else return False.
        """
        direct = self.direct
        if direct is None:
            return False
        before = log.high_watermark
        if not direct.replicates(self, log, batch, cause):
            return False
        log.advance(log.log_end_offset)
        self.broker.watermark_moved(log.partition, before, cause)
        return True

    def serve(self, request: ReplicaFetch, context: Context) -> None:
        """Note how far the follower has got, move high watermarks, and answer or park the request."""
        self.settle()
        state, now = self.broker.state, self.broker.port.now
        assert context.request is not None
        sent, session = context.request.correlation_id, state.sessions.get(request.replica)
        if session is not None and sent < session.opened:
            self._refuse(context, Error.FETCH_SESSION_ID_NOT_FOUND)
            return
        if request.session_epoch == 0:
            session = state.sessions[request.replica] = FetchSession(sent, behind=dict.fromkeys(state.logs))
        elif session is None or request.session_epoch != session.epoch:
            error = Error.FETCH_SESSION_ID_NOT_FOUND if session is None else Error.INVALID_FETCH_SESSION_EPOCH
            self._refuse(context, error)
            return
        if request.metadata_version > state.metadata.version:
            error = Error.UNKNOWN_LEADER_EPOCH  # the follower knows more than this leader: let it come back
            self._refuse(context, error)
            return
        session.epoch += 1
        session.silent_since_ms = -1
        session.parked = (context, request.metadata_version)
        diverging: dict[str, ReplicaData] = {}
        name, partitions, led_since = self.broker.name, state.metadata.partitions, self.led_since
        for partition, (offset, last_epoch) in request.positions.items():
            info = partitions.get(partition)
            if info is None or info.leader != name or led_since.get(partition, 0) > request.metadata_version:
                continue
            log = state.log(partition)
            data = self._diverging(log, offset, last_epoch)
            if data is not None:
                diverging[partition] = data
                session.positions.pop(partition, None)
                continue
            session.positions[partition] = offset
            if offset == log.log_end_offset:
                session.caught_up_ms[partition] = now
        incarnation = self.broker.incarnation
        for partition in request.positions:
            self.advance(partition, context.cause)
            if self.broker.incarnation != incarnation:
                return
            self.in_sync.maybe_expand(partition, request.replica)
        for partition, start in request.log_starts.items():
            if session.log_starts.get(partition) != start:
                session.log_starts[partition] = start
                self.broker.wake(partition, context.cause)
        current = state.sessions.get(request.replica)
        if current is not None and current.parked is not None:
            self._answer(request.replica, current, diverging, context.cause)

    def _refuse(self, context: Context, error: Error) -> None:
        assert context.request is not None
        self.broker.port.respond(context.request, ReplicaFetchResponse(error=error, partitions={}), context.cause)

    def _diverging(self, log: PartitionLog, offset: int, last_epoch: int) -> ReplicaData | None:
        """Return what to tell a follower whose log is no beginning of this one (`Partition.readRecords`); else None."""
        if last_epoch == log.last_epoch and offset <= log.log_end_offset:
            return None
        state, epoch, end = self.broker.state, last_epoch, offset
        if last_epoch >= 0 and state.rules.on(LEADER_EPOCH):
            epoch, end = log.epoch_and_end(last_epoch)
        if epoch == last_epoch and offset <= min(end, log.log_end_offset):
            return None
        return ReplicaData(
            leader_epoch=state.metadata.partitions[log.partition].leader_epoch,
            high_watermark=log.high_watermark,
            diverging_offset=min(end, log.log_end_offset),
            diverging_epoch=epoch,
            log_start_offset=log.log_start_offset,
        )

    def feed(self, partition: str, cause: int) -> None:
        """The log has grown, or begins later: answer the followers that wait for this partition."""
        self.settle()
        state = self.broker.state
        for follower in state.metadata.partitions[partition].replicas:
            session = state.sessions.get(follower)
            if session is not None:
                if partition not in session.behind:
                    session.caught_up_ms[partition] = session.heard_ms(self.broker.port.now)
                session.behind[partition] = None
                if session.parked is not None:
                    self._answer(follower, session, {}, cause)

    def _answer(self, follower: str, session: FetchSession, diverging: dict[str, ReplicaData], cause: int) -> None:
        """Answer the parked request if there is anything new for the follower."""
        state = self.broker.state
        context, metadata_version = session.parked
        found = dict(diverging)
        for partition in list(session.behind):
            log = state.logs.get(partition) or state.log(partition)  # the second makes one
            position, end = session.positions.get(partition, 0), log.log_end_offset
            if position < 0:
                del session.behind[partition]
                continue
            if position >= end and session.told_starts.get(partition, 0) >= log.log_start_offset:
                del session.behind[partition]
                continue
            info = state.metadata.partitions.get(partition)
            if partition in found or info is None or info.leader != self.broker.name:
                continue
            if follower not in info.replicas or self.led_since.get(partition, 0) > metadata_version:
                continue
            in_range = log.log_start_offset <= position < end
            found[partition] = ReplicaData(
                leader_epoch=info.leader_epoch,
                high_watermark=log.high_watermark,
                log_start_offset=log.log_start_offset,
                batches=tuple(log.read_segment(position, end)) if in_range else (),
            )
        for partition, data in found.items():
            if data.log_start_offset:
                session.told_starts[partition] = data.log_start_offset
        if found:
            session.answered_ms = session.heard_ms(self.broker.port.now)
            session.parked = None
            self.broker.port.respond(context.request, ReplicaFetchResponse(partitions=found), cause)

    def advance(self, partition: str, cause: int) -> None:
        """Raise the high watermark to what every in-sync replica has; release what waited for it.

        It stays where it is while fewer replicas are in sync than min.insync.replicas requires, with any acks
        (`Partition.maybeIncrementLeaderHW`).
        """
        state, name = self.broker.state, self.broker.name
        info = state.metadata.partitions.get(partition)
        if info is None or info.leader != name:
            return
        log, sessions = state.log(partition), state.sessions
        before, reached = log.high_watermark, log.log_end_offset
        for replica in self.in_sync.maximal.get(partition, info.isr):
            if replica != name:
                session = sessions.get(replica)
                position = session.positions.get(partition, 0) if session else 0
                if position <= before:
                    return
                if position < reached:
                    reached = position
        if reached > before and not state.high_watermark_stands(partition) and log.advance(reached):
            step = self.note_marks(log, cause)
            self.broker.watermark_moved(partition, before, step)

    def note_marks(self, log: PartitionLog, cause: int) -> int:
        """Record the log's high watermark and last stable offset."""
        marks = {"partition": log.partition, "high_watermark": log.high_watermark}
        marks["last_stable_offset"] = log.last_stable_offset
        return self.broker.port.record(self.broker.name, "state", "watermark", cause, marks)

    # the follower's half

    def follow(self, leader: str, cause: int) -> None:
        """Start a new fetch session at this leader, with all that this broker has of its partitions."""
        self.settle()
        state = self.broker.state
        positions = {
            partition: FORGOTTEN if self._has_failed(partition) else (log.log_end_offset, log.last_epoch)
            for partition, log in state.logs.items()
            if state.metadata.leader(partition) == leader
        }
        self._fetch(leader, 0, positions, cause)

    def _has_failed(self, partition: str) -> bool:
        """Return True if the partition is fetched no more, until it has another leader epoch (`FailedPartitions`)."""
        return self.failed.get(partition) == self.broker.state.metadata.partitions[partition].leader_epoch

    def unfollow(self, leader: str) -> None:
        """Forget the fetch under way; its answer will be ignored."""
        del self.fetching[leader]

    def _fetch(self, leader: str, session_epoch: int, positions: dict[str, tuple[int, int]], cause: int) -> None:
        self._generation += 1
        generation = self.fetching[leader] = self._generation
        version = self.broker.state.metadata.version
        logs = self.broker.state.logs
        request = ReplicaFetch(
            replica=self.broker.name,
            session_epoch=session_epoch,
            metadata_version=version,
            positions=positions,
            log_starts={p: logs[p].log_start_offset for p in positions if logs[p].log_start_offset},
        )

        def on_response(response: Any, step: int) -> None:
            if self.fetching.get(leader) != generation:
                return
            if response is None or response.error is Error.UNKNOWN_LEADER_EPOCH:
                retry_ms = self.broker.state.config.replica_fetch_backoff_ms
                self.broker.port.timer(self.broker.name, retry_ms, lambda: again(step), True)
            elif response.error is not Error.NONE:
                self.follow(leader, step)
            else:
                self._fetch(leader, session_epoch + 1, self._take_over(response, step), step)

        def again(step: int) -> None:
            if self.fetching.get(leader) == generation:
                self.follow(leader, step)

        self.broker.port.request(self.broker.name, leader, request, on_response, cause, background=True)

    def truncate(self, partition: str, offset: int, cause: int) -> None:
        """Drop this replica's records from `offset` on."""
        self.broker.state.log(partition).truncate(offset, self.broker.port.now)
        cut = {"partition": partition, "offset": offset}
        self.broker.port.record(self.broker.name, "truncate", partition, cause, cut)

    def _take_over(self, response: ReplicaFetchResponse, cause: int) -> dict[str, tuple[int, int]]:
        """Append what is new; the positions to tell the leader next."""
        state, incarnation = self.broker.state, self.broker.incarnation
        changed: dict[str, tuple[int, int]] = {}
        for partition, data in response.partitions.items():
            info = state.metadata.partitions.get(partition)
            if info is None or info.leader_epoch != data.leader_epoch or info.leader == self.broker.name:
                continue
            log = state.log(partition)
            if data.diverging_offset != -1:
                epochs = state.rules.on(LEADER_EPOCH)
                own_end = log.end_offset_for(data.diverging_epoch) if epochs else log.log_end_offset
                self.truncate(partition, min(data.diverging_offset, own_end), cause)
            elif log.log_end_offset < data.log_start_offset:
                self.truncate(partition, log.log_start_offset, cause)
                log.start_at(data.log_start_offset)
            new: Sequence[Batch] = data.batches
            if new and new[0].base_offset < log.log_end_offset:
                new = [batch for batch in new if batch.base_offset >= log.log_end_offset]
            if log.producers.replication_error(new) is not Error.NONE:
                self.failed[partition] = info.leader_epoch
                changed[partition] = FORGOTTEN
                continue
            for batch in new:
                log.replicate(batch)
                self.broker.port.record(self.broker.name, "append", partition, cause, batch)
            if self.broker.incarnation != incarnation:
                return changed
            if log.advance(data.high_watermark):
                self.note_marks(log, cause)
            if log.raise_log_start(data.log_start_offset):
                self.broker.port.record(
                    self.broker.name, "state", "log start", cause, log_start_note(state, partition).data
                )
            changed[partition] = (log.log_end_offset, log.last_epoch)
        return changed
