"""`kafkalab transactions`: what `kafka-transactions.sh` does (KIP-664), of a saved scenario or a running cluster."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kafkalab.cli.abort import abort, abort_now, add_abort_options
from kafkalab.cli.command_line import CommandLineError, Parser, Text, integer, table_text
from kafkalab.cli.saved_scenarios import add_scenario_options, answer, free_name, load_scenario, log_of, simulate
from kafkalab.cli.terminate import add_terminate_options, terminate, terminate_now
from kafkalab.client.admin.admin import Admin
from kafkalab.limits import quote, whole_number
from kafkalab.protocol.partitions import index_of, topic_of
from kafkalab.protocol.transaction_metadata import TxnState
from kafkalab.sim.cluster import Cluster

LISTED = ("TransactionalId", "Coordinator", "ProducerId", "TransactionState")
DESCRIBED = (
    "CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState", "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions",
)  # fmt: skip
PRODUCERS = (
    "ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp",
    "CurrentTransactionStartOffset",
)  # fmt: skip
HANGING = (
    "Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp",
    "Duration(min)",
)  # fmt: skip
MINUTE_MS = 60_000

Ask = Callable[[Cluster, Admin, argparse.Namespace], list[list[Any]]]


def transactions_of(cluster: Cluster, command: str) -> Text:
    """Return what `kafkalab transactions` prints, asked of a cluster as it stands: `transactions_of(cluster, "list")`.

    The command is typed as for a saved scenario, without the file: list, describe, describe-producers, find-hanging,
    abort, forceTerminateTransaction. The cluster's clock goes on until the answer is there, and with it whatever is
    under way. ValueError, with one line, for a mistake; TypeError for anything but a cluster.
    """
    if not isinstance(cluster, Cluster):
        raise TypeError(f"transactions_of asks a Cluster, not {type(cluster).__name__}")
    try:
        parser = Parser(prog="kafkalab transactions", description="Ask about the transactions of a running cluster.")
        add_options(parser, running=True)
        options = parser.parse_args(shlex.split(command))
        if options.check is not None:
            options.check(options)
        told: Text = options.now(cluster, options) if options.ask is None else _answer(cluster, options)
        return told
    except CommandLineError as error:
        raise ValueError(str(error)) from None


def add_options(parser: argparse.ArgumentParser, running: bool = False) -> None:
    """Add the commands; those for a saved scenario take a file and a moment, and can save."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)

    def command(name: str, about: str, ask: tuple[Sequence[str], Ask] | None, check: object = None) -> Parser:
        found: Parser = commands.add_parser(name, help=about, description=about)
        if not running:
            add_scenario_options(found)
        found.add_argument("--json", action="store_true", help="print JSON")
        found.set_defaults(ask=ask, check=check)
        return found

    listing = command("list", "list transactions", (LISTED, _list), _check_states)
    listing.add_argument("--state", action="append", default=[], help="only transactions in this state")
    listing.add_argument("--producer-id", action="append", type=integer, default=[], help="only of this producer id")
    listing.add_argument("--duration-filter", type=integer, default=-1, help="only those that run longer, in ms")
    listing.add_argument("--transactional-id-pattern", help="only ids that match this expression as a whole")
    describing = command("describe", "describe the state of a transactional id", (DESCRIBED, _describe))
    describing.add_argument("--transactional-id", required=True)
    producers = command("describe-producers", "describe a partition's producers", (PRODUCERS, _producers))
    producers.add_argument("--topic", required=True)
    producers.add_argument("--partition", type=integer, required=True)
    producers.add_argument("--broker-id", default="", help="ask this replica and not the leader")
    hanging = command("find-hanging", "find hanging transactions", (HANGING, _find_hanging), _check_scope)
    hanging.add_argument("--topic", default="")
    hanging.add_argument("--partition", type=integer, default=-1)
    hanging.add_argument("--broker-id", default="", help="search what this broker has replicas of")
    hanging.add_argument("--max-transaction-timeout", type=integer, default=15, help="in minutes (15)")
    aborting = command("abort", "abort a hanging transaction", None)
    aborting.set_defaults(change=abort, now=abort_now)
    add_abort_options(aborting, can_save=not running)
    ending = command("forceTerminateTransaction", "force abort an ongoing transaction on transactionalId", None)
    ending.set_defaults(change=terminate, now=terminate_now)
    add_terminate_options(ending, can_save=not running)


def act(options: argparse.Namespace, root: Path) -> int:
    """Print the answer to one question about the transactions of a saved scenario."""
    if options.check is not None:
        options.check(options)
    scenario = load_scenario(options.file)
    cluster = simulate(scenario, options.at_ms, options.after_ms)
    if options.ask is None:
        status: int = options.change(scenario, cluster, options)
        return status
    print(_answer(cluster, options))
    return 0


def _answer(cluster: Cluster, options: argparse.Namespace) -> Text:
    headers, ask = options.ask
    rows = ask(cluster, cluster.client(free_name(cluster)).admin(), options)
    return table_text(headers, rows, options.json)


def _check_states(options: argparse.Namespace) -> None:
    for state in options.state:
        try:
            TxnState.of(state)
        except ValueError as error:
            raise CommandLineError(str(error)) from None


def _check_scope(options: argparse.Namespace) -> None:
    if not options.topic and not options.broker_id:
        raise CommandLineError("find-hanging needs either --topic or --broker-id, to limit the search")
    if options.partition >= 0 and not options.topic:
        raise CommandLineError("--partition needs --topic")


def _list(cluster: Cluster, admin: Admin, options: argparse.Namespace) -> list[list[object]]:
    step = admin.list_transactions(
        options.state, options.producer_id, options.duration_filter, options.transactional_id_pattern
    )
    return [[t.transactional_id, t.coordinator, t.producer_id, t.state] for t in answer(step)]


def _describe(cluster: Cluster, admin: Admin, options: argparse.Namespace) -> list[list[object]]:
    tid = options.transactional_id
    found = answer(admin.describe_transactions([tid]))[tid]
    start = found.transaction_start_time_ms
    times = ["None", "None"] if start is None else [start, cluster.now - start]
    who = [found.coordinator, tid, found.producer_id, found.producer_epoch]
    return [[*who, found.state, found.transaction_timeout_ms, *times, list(found.partitions)]]


def _producers(cluster: Cluster, admin: Admin, options: argparse.Namespace) -> list[list[object]]:
    partition = f"{options.topic}-{options.partition}"
    log_of(cluster, partition)  # else the client would look for an unknown partition for a minute
    states = answer(admin.describe_producers([partition], _broker(cluster, options.broker_id)))[partition]
    rows: list[list[Any]] = []
    for s in states:
        start = s.current_txn_start_offset if s.current_txn_start_offset >= 0 else "None"
        rows.append([s.producer_id, s.producer_epoch, s.coordinator_epoch, s.last_sequence, s.last_timestamp_ms, start])
    return rows


def _find_hanging(cluster: Cluster, admin: Admin, options: argparse.Namespace) -> list[list[object]]:
    step = admin.find_hanging_transactions(
        options.topic,
        options.partition,
        _broker(cluster, options.broker_id),
        options.max_transaction_timeout * MINUTE_MS,
    )
    rows = []
    for found in answer(step):
        state = found.producer
        where = [topic_of(found.partition), index_of(found.partition)]
        who = [state.producer_id, state.producer_epoch, state.coordinator_epoch, state.current_txn_start_offset]
        rows.append([*where, *who, state.last_timestamp_ms, found.duration_ms // MINUTE_MS])
    return rows


def _broker(cluster: Cluster, name: str) -> str:
    """ "b1" for "b1" and for "1"."""
    broker = f"b{name}" if whole_number(name) >= 0 else name
    if broker and broker not in cluster.broker_names:
        raise CommandLineError(f"no broker {quote(name)}; there are {', '.join(cluster.broker_names)}")
    return broker
