"""DescribeConfigs: the settings of topics and brokers, with where each value comes from (KIP-133, KIP-226)."""

from __future__ import annotations

from kafkalab.protocol.api import Api
from kafkalab.protocol.errors import Error
from kafkalab.protocol.field_versions import since
from kafkalab.protocol.lazy_dataclass import dataclass

TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER, CLIENT_METRICS, GROUP_RESOURCE = 2, 4, 8, 16, 32
"""Kafka's numbers of what has settings (`ConfigResource.Type`)."""
TOPIC_CONFIG, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT_CONFIG = 1, 3, 4, 5
"""Kafka's numbers of where a value comes from (`DescribeConfigsResponse.ConfigSource`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigResource:
    """A topic by its name, or a broker by its number. Without `configuration_keys` all settings are meant."""

    resource_type: int
    resource_name: str
    configuration_keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigs:
    """With `include_synonyms` each setting comes with the broker's settings that its value falls back to."""

    resources: tuple[ConfigResource, ...]
    include_synonyms: bool = False
    include_documentation: bool = since(3, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSynonym:
    name: str
    value: str | None
    source: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """A setting as text. `read_only` is true if it needs a restart of the broker."""

    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    config_type: int = since(3, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfig:
    resource_type: int
    resource_name: str
    error: Error = Error.NONE
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResponse:
    """One result for each resource."""

    results: tuple[DescribedConfig, ...]


API = Api(
    32,
    range(1, 5),
    DescribeConfigs,
    DescribeConfigsResponse,
    "metadata",
    "Asks for the settings of topics and brokers.",
)
