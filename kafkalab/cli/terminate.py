"""`kafkalab transactions forceTerminateTransaction`: an administrator ends a transaction through its coordinator."""

from __future__ import annotations

import argparse
import json
from typing import Any

from kafkalab.cli.abort import saved_as
from kafkalab.cli.command_line import CommandLineError, Text
from kafkalab.cli.saved_scenarios import answer, free_name, simulate, with_admin
from kafkalab.client.admin.descriptions import TransactionDescription
from kafkalab.client.exceptions import KafkaError
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.scenario import Scenario


def add_terminate_options(parser: argparse.ArgumentParser, can_save: bool) -> None:
    """Those of `kafka-transactions.sh forceTerminateTransaction`, and where to save the scenario with it."""
    parser.add_argument("--transactionalId", dest="transactional_id", required=True)
    if can_save:
        parser.add_argument("--save", metavar="OUT", help="write the scenario with the termination added")
    parser.set_defaults(check=None)


def terminate(scenario: Scenario, cluster: Cluster, options: argparse.Namespace) -> int:
    """Print the transaction's state before and after. CommandLineError if its coordinator refuses."""
    tid, node, at_ms = options.transactional_id, free_name(cluster), cluster.now
    before = _describe(cluster, node, tid)
    added = with_admin(scenario, node, "force_terminate_transaction", {"at_ms": at_ms, "transactional_id": tid})
    again = simulate(added)
    result = again.results.get(node)
    if isinstance(result, KafkaError):
        raise CommandLineError(f"failed to force terminate {tid}: {type(result).__name__}: {result}")
    print(_format(at_ms, tid, before, _describe(again, node, tid), options.json))
    saved_as(added, options.save)
    return 0


def terminate_now(cluster: Cluster, options: argparse.Namespace) -> Text:
    """Terminate it in this cluster. CommandLineError if its coordinator refuses."""
    tid, node, at_ms = options.transactional_id, free_name(cluster), cluster.now
    before = _describe(cluster, node, tid)
    answer(cluster.client(node).admin().force_terminate_transaction(tid))
    return _format(at_ms, tid, before, _describe(cluster, node, tid), options.json)


def _describe(cluster: Cluster, node: str, tid: str) -> TransactionDescription:
    """Describe the id; CommandLineError for one that no coordinator knows. (Kafka's tool would create it.)"""
    found: TransactionDescription = answer(cluster.client(node).admin().describe_transactions([tid]))[tid]
    return found


def _format(at_ms: int, tid: str, before: TransactionDescription, after: TransactionDescription, as_json: bool) -> Text:
    if as_json:
        rows: dict[str, Any] = {name: {"state": d.state, "producer_epoch": d.producer_epoch, "partitions": d.partitions}
                                for name, d in (("before", before), ("after", after))}  # fmt: skip
        return Text(json.dumps({"transactional_id": tid, "at_ms": at_ms, **rows}, indent=1))
    lines = [f"{tid} at {at_ms} ms: terminated, and its producer is fenced"]
    for name, d in (("before", before), ("after", after)):
        where = f" in {', '.join(d.partitions)}" if d.partitions else ""
        lines.append(f"{name:<8}{d.state}{where}, producer {d.producer_id} epoch {d.producer_epoch}")
    return Text("\n".join(lines))
