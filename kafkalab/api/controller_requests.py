"""What brokers ask of the controller, and what it tells them. Simplified: no Raft, the image is pushed."""

from __future__ import annotations

from dataclasses import dataclass

from kafkalab.api.api import Api
from kafkalab.core.cluster_metadata import ClusterMetadata
from kafkalab.core.errors import Error


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadata:
    """The controller's newest image, for one broker."""

    metadata: ClusterMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataReply:
    error: Error = Error.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartition:
    """A leader asks to change the in-sync replicas of one partition that it leads under `leader_epoch`."""

    partition: str
    leader_epoch: int
    isr: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionReply:
    error: Error = Error.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIds:
    """A broker asks for a block of producer ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsReply:
    error: Error = Error.NONE
    producer_id_start: int
    producer_id_len: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """A broker that has (re)started asks to be let in."""

    broker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationReply:
    error: Error = Error.NONE


def _api(key: int, versions: range, request: type, reply: type, about: str) -> Api:
    return Api(key, versions, request, reply, None, "metadata", about)


APIS = (
    _api(6, range(0, 9), UpdateMetadata, UpdateMetadataReply, "The controller tells a broker who leads what."),
    _api(56, range(2, 4), AlterPartition, AlterPartitionReply, "A leader asks to change the in-sync replicas."),
    _api(67, range(0, 1), AllocateProducerIds, AllocateProducerIdsReply, "A broker asks for 1000 producer ids."),
    _api(62, range(0, 5), BrokerRegistration, BrokerRegistrationReply, "A restarted broker asks to be let in."),
)
