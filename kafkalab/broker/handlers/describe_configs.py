"""DescribeConfigs: the settings that the lab has, of topics and of the broker that is asked (`ConfigHelper`).

Simplified: no topic has settings of its own but the internal ones; loggers, client metrics and groups have none.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkalab.broker.config_names import (
    DESCRIBED,
    DYNAMIC,
    INT,
    OWN_SETTINGS,
    TOPIC_SETTINGS,
    TYPES,
    TopicSetting,
    name_of,
)
from kafkalab.broker.handlers.create_topics import is_legal
from kafkalab.broker.state import BrokerConfig, BrokerState
from kafkalab.protocol.acls import CLUSTER, DESCRIBE_CONFIGS, GROUP, TOPIC
from kafkalab.protocol.api import Header
from kafkalab.protocol.errors import Error
from kafkalab.protocol.messages.describe_configs import (
    BROKER_LOGGER,
    BROKER_RESOURCE,
    CLIENT_METRICS,
    DEFAULT_CONFIG,
    DYNAMIC_DEFAULT_BROKER,
    GROUP_RESOURCE,
    STATIC_BROKER,
    TOPIC_CONFIG,
    TOPIC_RESOURCE,
    ConfigEntry,
    ConfigResource,
    ConfigSynonym,
    DescribeConfigs,
    DescribeConfigsResponse,
    DescribedConfig,
)
from kafkalab.protocol.partitions import TRANSACTION_TOPIC

OF_CLUSTER = (BROKER_RESOURCE, BROKER_LOGGER, CLIENT_METRICS)
DEFAULTS = BrokerConfig()
MIN_ISR, RETENTION_HOURS = "min.insync.replicas", "log.retention.hours"


def handle(broker: BrokerState, request: DescribeConfigs, header: Header) -> DescribeConfigsResponse:
    """One result for each resource; a type that Kafka does not know is an error of the whole request."""
    if any(r.resource_type not in (TOPIC_RESOURCE, GROUP_RESOURCE, *OF_CLUSTER) for r in request.resources):
        return DescribeConfigsResponse(results=tuple(_fail(r, Error.INVALID_REQUEST) for r in request.resources))
    allowed = {r: _refusal(broker, r, header) for r in request.resources}
    results = [_describe(broker, r, request) for r, error in allowed.items() if error is Error.NONE]
    refused = [_fail(r, error) for r, error in allowed.items() if error is not Error.NONE]
    return DescribeConfigsResponse(results=(*results, *refused))


def _fail(resource: ConfigResource, error: Error) -> DescribedConfig:
    return DescribedConfig(resource_type=resource.resource_type, resource_name=resource.resource_name, error=error)


def _refusal(broker: BrokerState, resource: ConfigResource, header: Header) -> Error:
    if resource.resource_type in OF_CLUSTER:
        denied = broker.denies(header.sender, DESCRIBE_CONFIGS, CLUSTER)
        return Error.CLUSTER_AUTHORIZATION_FAILED if denied else Error.NONE
    is_topic = resource.resource_type == TOPIC_RESOURCE
    if not broker.denies(header.sender, DESCRIBE_CONFIGS, TOPIC if is_topic else GROUP, resource.resource_name):
        return Error.NONE
    return Error.TOPIC_AUTHORIZATION_FAILED if is_topic else Error.GROUP_AUTHORIZATION_FAILED


def _describe(broker: BrokerState, resource: ConfigResource, request: DescribeConfigs) -> DescribedConfig:
    name, found = resource.resource_name, list[ConfigEntry]()
    if resource.resource_type == TOPIC_RESOURCE:
        if not is_legal(name):
            return _fail(resource, Error.INVALID_TOPIC_EXCEPTION)
        if not broker.metadata.has_topic(name):
            return _fail(resource, Error.UNKNOWN_TOPIC_OR_PARTITION)
        found = [_topic_entry(broker, name, setting) for setting in TOPIC_SETTINGS]
    elif resource.resource_type == BROKER_RESOURCE and name == "":
        synonyms = tuple(s for s in _synonyms(broker, "min_insync_replicas") if s.source == DYNAMIC_DEFAULT_BROKER)
        found = [_entry(MIN_ISR, synonyms[0].value, INT, synonyms)]
    elif resource.resource_type == BROKER_RESOURCE:
        if name != broker.name.removeprefix("b"):
            return _fail(resource, Error.INVALID_REQUEST)
        found = list(_broker_entries(broker))
    elif name == "" or (resource.resource_type == BROKER_LOGGER and name != broker.name.removeprefix("b")):
        return _fail(resource, Error.INVALID_REQUEST)
    keys = resource.configuration_keys
    shown = (entry for entry in sorted(found, key=lambda e: e.name) if not keys or entry.name in keys)
    configs = tuple(e if request.include_synonyms else _without_synonyms(e) for e in shown)
    return DescribedConfig(resource_type=resource.resource_type, resource_name=name, configs=configs)


def _entry(
    name: str, value: str | None, kind: int, synonyms: Iterable[ConfigSynonym], read_only: bool = False
) -> ConfigEntry:
    """Return a setting; it comes from where its first synonym does."""
    found = tuple(synonyms)
    source = found[0].source if found else DEFAULT_CONFIG
    return ConfigEntry(
        name=name, value=value, read_only=read_only, config_source=source, synonyms=found, config_type=kind
    )


def _without_synonyms(entry: ConfigEntry) -> ConfigEntry:
    return ConfigEntry(
        name=entry.name, value=entry.value, read_only=entry.read_only, config_source=entry.config_source,
        config_type=entry.config_type,
    )  # fmt: skip


def _value(broker: BrokerState, field: str) -> str:
    value = getattr(broker.config, field)
    if field == "transaction_state_log_replication_factor" and not value:
        value = min(3, len(broker.metadata.alive))
    return str(value).lower()


def _default(field: str) -> str:
    return "3" if field == "transaction_state_log_replication_factor" else str(getattr(DEFAULTS, field)).lower()


def _synonyms(broker: BrokerState, field: str) -> list[ConfigSynonym]:
    """Return the values of a broker's setting, the one that counts first. The default of log.retention.ms is that of
    log.retention.hours; a new cluster of Kafka 4 sets min.insync.replicas for all brokers (KIP-966)."""
    name, value, default = name_of(field), _value(broker, field), _default(field)
    found = [ConfigSynonym(name=name, value=value, source=STATIC_BROKER)] if value != default else []
    if field == "min_insync_replicas":
        found.insert(0, ConfigSynonym(name=name, value=value, source=DYNAMIC_DEFAULT_BROKER))
    if field != "log_retention_ms":
        return [*found, ConfigSynonym(name=name, value=default, source=DEFAULT_CONFIG)]
    return [*found, ConfigSynonym(name=RETENTION_HOURS, value="168", source=DEFAULT_CONFIG)] if found else []


def _broker_entries(broker: BrokerState) -> Iterable[ConfigEntry]:
    for name, field in DESCRIBED.items():
        synonyms = _synonyms(broker, field)
        value = _value(broker, field) if synonyms else None
        yield _entry(name, value, TYPES.get(field, INT), synonyms, field not in DYNAMIC)
    hours = ConfigSynonym(name=RETENTION_HOURS, value="168", source=DEFAULT_CONFIG)
    yield _entry(RETENTION_HOURS, "168", INT, [hours], True)
    number = broker.name.removeprefix("b")
    none = ConfigSynonym(name="broker.id", value="-1", source=DEFAULT_CONFIG)
    for name, defaults in {"broker.id": [none], "node.id": []}.items():
        given = ConfigSynonym(name=name, value=number, source=STATIC_BROKER)
        yield _entry(name, number, INT, [given, *defaults], True)


def _topic_entry(broker: BrokerState, topic: str, name: str) -> ConfigEntry:
    setting: TopicSetting = TOPIC_SETTINGS[name]
    if setting.field:
        value, synonyms = _value(broker, setting.field), _synonyms(broker, setting.field)
    else:
        value = setting.value
        synonyms = [ConfigSynonym(name=setting.synonym, value=value, source=DEFAULT_CONFIG)]
    own = OWN_SETTINGS.get(topic, {}).get(name)
    if topic == TRANSACTION_TOPIC and name == MIN_ISR:
        own = _value(broker, "transaction_state_log_min_isr")
    if own is not None:
        value, synonyms = own, [ConfigSynonym(name=name, value=own, source=TOPIC_CONFIG), *synonyms]
    return _entry(name, value, setting.kind, synonyms)
