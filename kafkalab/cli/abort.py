"""`kafkalab transactions abort`: an administrator ends a hanging transaction, in the scenario once more, or now."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from kafkalab.cli.command_line import CommandLineError, Text, integer
from kafkalab.cli.saved_scenarios import answer, free_name, log_of, simulate, with_admin
from kafkalab.client.admin.descriptions import AbortTransactionSpec
from kafkalab.client.exceptions import KafkaError
from kafkalab.limits import QUOTE, list_names, truncate
from kafkalab.protocol.messages.describe_producers import ActiveProducer
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario

IDENTIFIED = (
    "the transaction must be identified either with --start-offset, "
    "or with --producer-id, --producer-epoch and --coordinator-epoch"
)


def add_abort_options(parser: argparse.ArgumentParser, can_save: bool) -> None:
    """Those of `kafka-transactions.sh abort`, and where to save the scenario with the abort in it."""
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partition", type=integer, required=True)
    parser.add_argument("--start-offset", type=integer, help="where the transaction begins (Kafka 3.0 and newer)")
    parser.add_argument("--producer-id", type=integer)
    parser.add_argument("--producer-epoch", type=integer)
    parser.add_argument("--coordinator-epoch", type=integer)
    if can_save:
        parser.add_argument("--save", metavar="OUT", help="write the scenario with the abort added")
    parser.set_defaults(check=_check)


def _check(options: argparse.Namespace) -> None:
    if options.start_offset is not None:
        return
    if options.producer_id is None:
        raise CommandLineError(IDENTIFIED)
    for name in ("producer_epoch", "coordinator_epoch"):
        if getattr(options, name) is None:
            raise CommandLineError(f"missing --{name.replace('_', '-')}")


def abort(scenario: Scenario, cluster: Cluster, options: argparse.Namespace) -> int:
    """Print the partition before and after the marker. CommandLineError if the leader refuses it."""
    asked_ms, node, partition = cluster.now, free_name(cluster), f"{options.topic}-{options.partition}"
    before = _marks(cluster, partition)
    arguments = {"at_ms": asked_ms, **asdict(_spec(cluster, partition, node, options))}
    added = with_admin(scenario, node, "abort_transaction", arguments)
    again = simulate(added)
    result = again.results.get(node)
    if isinstance(result, KafkaError):
        raise CommandLineError(f"failed to abort: {type(result).__name__}: {result}")
    print(_format(arguments, before, _marks(again, partition), options.json))
    saved_as(added, options.save)
    return 0


def saved_as(scenario: Scenario, path: str | None) -> None:
    """Write the scenario, if a path is given; CommandLineError if it cannot be written."""
    if not path:
        return
    try:
        scenario.save(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise CommandLineError(f"cannot write {truncate(path, QUOTE)}: {why.lower()}") from None


def abort_now(cluster: Cluster, options: argparse.Namespace) -> Text:
    """Write the marker into the partition of this cluster. CommandLineError if its leader refuses it."""
    asked_ms, node, partition = cluster.now, free_name(cluster), f"{options.topic}-{options.partition}"
    before = _marks(cluster, partition)
    spec = _spec(cluster, partition, node, options)
    answer(cluster.client(node).admin().abort_transaction(spec))
    return _format({"at_ms": asked_ms, **asdict(spec)}, before, _marks(cluster, partition), options.json)


def _format(arguments: dict[str, Any], before: dict[str, int], after: dict[str, int], as_json: bool) -> Text:
    if as_json:
        return Text(json.dumps({**arguments, "before": before, "after": after}, indent=1))
    a = arguments
    who = f"producer {a['producer_id']} epoch {a['producer_epoch']} on {a['partition']} at {a['at_ms']} ms"
    lines = [f"{who}: ABORT written"]
    for name, marks in (("before", before), ("after", after)):
        lso, hw = marks["last_stable_offset"], marks["high_watermark"]
        lines.append(f"{name:<8}last stable offset {lso}, high watermark {hw}")
    return Text("\n".join(lines))


def _marks(cluster: Cluster, partition: str) -> dict[str, int]:
    log = log_of(cluster, partition)
    return {"last_stable_offset": log.last_stable_offset, "high_watermark": log.high_watermark}


def _spec(cluster: Cluster, partition: str, node: str, options: argparse.Namespace) -> AbortTransactionSpec:
    """Return what is given, or the producer whose open transaction begins there; unknown coordinator epochs become 0.

    Kafka's tool sends a marker for any producer id and epoch that it is given; a leader that has never seen them writes
    it, and the mistake stays unnoticed. Here both must be known to the partition.
    """
    admin = cluster.client(node).admin()
    states: tuple[ActiveProducer, ...] = answer(admin.describe_producers([partition]))[partition]
    if options.start_offset is None:
        producer_id, epoch = options.producer_id, options.producer_epoch
        known = {state.producer_id: state.producer_epoch for state in states}
        if known.get(producer_id) != epoch:
            there = list_names(f"{i} with epoch {e}" for i, e in known.items()) or "none"
            raise CommandLineError(f"{partition} knows no producer {producer_id} with epoch {epoch}; it knows {there}")
        return AbortTransactionSpec(partition, producer_id, epoch, max(options.coordinator_epoch, 0))
    for state in states:
        if state.current_txn_start_offset == options.start_offset and options.start_offset >= 0:
            epoch = max(state.coordinator_epoch, 0)
            return AbortTransactionSpec(partition, state.producer_id, state.producer_epoch, epoch)
    raise CommandLineError(
        f"could not find any open transaction that starts at offset {options.start_offset} of {partition}"
    )
