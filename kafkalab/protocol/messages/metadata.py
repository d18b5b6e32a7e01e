"""Metadata: which broker leads which partition, as the answering broker knows it."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.cluster_metadata import ClusterMetadata
from kafkalab.protocol.errors import Error
from kafkalab.protocol.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    error: Error = Error.NONE
    metadata: ClusterMetadata


API = Api(3, range(0, 14), Metadata, MetadataResponse, "metadata", "Asks which broker leads which partition.")
