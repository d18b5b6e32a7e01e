"""A run as data: cluster shape, rules, programs, faults, seed. It can be saved, shared and forked."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kafkalab.broker.handlers.create_topics import is_legal
from kafkalab.broker.state import BrokerConfig
from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import check_fault, fault_from_json, fault_to_json
from kafkalab.limits import (
    DENIALS,
    FAULTS,
    NODES,
    NUMBER,
    PARTITIONS,
    PRODUCER_EPOCHS,
    QUOTE,
    RECORDS,
    TOPICS,
    list_names,
    quote,
    truncate,
)
from kafkalab.protocol.acls import Deny, is_server
from kafkalab.protocol.arguments import Name, check_arguments, check_fields
from kafkalab.protocol.partitions import INTERNAL_TOPICS, split
from kafkalab.protocol.profiles import Rules
from kafkalab.protocol.transaction_metadata import PRODUCER_EPOCH_MAX
from kafkalab.saved_data import check_plain, file_text, json_of
from kafkalab.sim.registry import Registry

FORMAT, VERSION = "kafkalab-scenario", 1

ProgramFunction = Callable[..., Coroutine[Any, Any, Any]]
PROGRAMS: Registry[ProgramFunction] = Registry("programs")

BROKER_SETTINGS = {f.name: bool if isinstance(f.default, bool) else int for f in fields(BrokerConfig)}
"""The settings that a scenario's `config` may name, with their types."""


def program(function: ProgramFunction) -> ProgramFunction:
    """Register an `async def` function under its name, so that a scenario which runs it can be saved."""
    PROGRAMS.register(function.__name__, function)
    return function


@dataclass(frozen=True, slots=True)
class Program:
    """The program of a client node: a registered program's name, or a function, with its arguments."""

    node: Name
    run: str | ProgramFunction
    args: dict[str, Any] = field(default_factory=dict)

    def function(self) -> ProgramFunction:
        """The function; ValueError if no program has this name."""
        if callable(self.run):
            return self.run
        if self.run not in PROGRAMS:
            raise ValueError(f"no program {quote(self.run)} is registered; there are {list_names(sorted(PROGRAMS))}")
        return PROGRAMS[self.run]

    def check_arguments(self) -> None:
        """Raise ValueError for arguments that the program does not take; one not registered yet is not checked."""
        if not isinstance(self.run, str) or self.run in PROGRAMS:
            check_arguments(self.function(), self.node, self.args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """All that a run depends on. `topics` maps a name to its number of partitions, `records` a partition to values.

    With `fresh` the internal topics do not exist yet and are created on demand. `config` holds broker settings other
    than the defaults, by their names in `BrokerConfig`; `producer_epochs` the transactional ids that have been in use
    before, each with the epoch that it has reached; `acls` forbid clients something.
    """

    title: str = ""
    brokers: int = 3
    profile: str = "4.x/TV2"
    rules_off: tuple[str, ...] = ()
    topics: dict[str, int] = field(default_factory=dict)
    records: dict[str, tuple[str, ...]] = field(default_factory=dict)
    programs: tuple[Program, ...] = ()
    faults: tuple[Fault, ...] = ()
    seed: int = 1
    fresh: bool = False
    config: dict[str, Any] = field(default_factory=dict)
    producer_epochs: dict[str, int] = field(default_factory=dict)
    acls: tuple[Deny, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, but=("faults", "brokers", "seed"))
        if type(self.brokers) is not int or not 1 <= self.brokers <= 9:
            raise ValueError(f"brokers is a number from 1 to 9, not {quote(self.brokers)}")
        if type(self.seed) is not int or abs(self.seed) > NUMBER.most:
            raise ValueError(f"seed is a whole number, at most {NUMBER.most:,}, not {quote(self.seed)}")
        Rules(self.profile, self.rules_off)
        self._check_topics()
        self._check_brokers()
        NODES.check(len(self.programs), "the scenario")
        names = [p.node for p in self.programs]
        if len(set(names)) < len(names) or any(is_server(name) for name in names):
            raise ValueError(f"every program needs a node name of its own, none like a broker's: {quote(names)}")
        for program in self.programs:
            program.check_arguments()
        DENIALS.check(len(self.acls), "the scenario")
        self._check_faults(self.faults)

    def _check_faults(self, faults: tuple[Fault, ...]) -> None:
        FAULTS.check(len(self.faults), "the scenario")
        for fault in faults:
            check_fault(fault, self.nodes, self.topics)

    def _check_topics(self) -> None:
        TOPICS.check(len(self.topics), "the scenario")
        for topic, count in self.topics.items():
            if not is_legal(topic):
                raise ValueError(f"{quote(topic)} is no name of a topic: it has letters, digits and ._-, at most 249")
            if topic in INTERNAL_TOPICS:
                raise ValueError(f"{topic} is an internal topic: it is always there, or made on demand with fresh")
            if count < 1:
                raise ValueError(f"topic {quote(topic)} has 1 partition or more, not {quote(count)}")
        PARTITIONS.check(sum(self.topics.values()), "the scenario")
        RECORDS.check(sum(len(values) for values in self.records.values()), "the scenario")
        for partition in self.records:
            topic, index = split(partition)
            if not 0 <= index < self.topics.get(topic, 0):
                raise ValueError(f"records for {quote(partition)}, but the topics are {quote(self.topics)}")

    def _check_brokers(self) -> None:
        for name, value in self.config.items():
            if type(value) is not BROKER_SETTINGS.get(name) or not 0 <= value <= NUMBER.most:
                known = list_names(f"{n} ({kind.__name__})" for n, kind in BROKER_SETTINGS.items())
                raise ValueError(f"config has broker settings: {known}; not {quote(name)}: {quote(value)}")
        PRODUCER_EPOCHS.check(len(self.producer_epochs), "the scenario")
        for tid, epoch in self.producer_epochs.items():
            if not 0 <= epoch < PRODUCER_EPOCH_MAX:
                raise ValueError(
                    f"a producer's epoch is a number from 0 to {PRODUCER_EPOCH_MAX - 1}; {quote(tid)}: {quote(epoch)}"
                )
        if self.producer_epochs and self.fresh:
            raise ValueError("producer_epochs are in __transaction_state, which a fresh cluster does not have")

    @property
    def nodes(self) -> tuple[str, ...]:
        """All node names: clients first, then brokers, then the controller."""
        brokers = tuple(f"b{i}" for i in range(1, self.brokers + 1))
        return (*(p.node for p in self.programs), *brokers, "controller")

    @property
    def rules(self) -> Rules:
        return Rules(self.profile, self.rules_off)

    def with_faults(self, *faults: Fault) -> Scenario:
        """Return the same scenario with these faults more; only they are checked, since all else has been."""
        struck = object.__new__(type(self))
        for name in FIELDS:
            object.__setattr__(struck, name, getattr(self, name))
        object.__setattr__(struck, "faults", (*self.faults, *faults))
        struck._check_faults(faults)
        return struck

    def with_seed(self, seed: int) -> Scenario:
        """The same scenario with other latencies."""
        return replace(self, seed=seed)

    def to_json(self) -> dict[str, Any]:
        """Plain data. ValueError for a program that is a function and not registered: code cannot be saved."""
        row: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        row["faults"] = [fault_to_json(f) for f in self.faults]
        row["acls"] = [asdict(a) for a in self.acls]
        row["programs"] = []
        for p in self.programs:
            name = p.run if isinstance(p.run, str) else p.run.__name__
            if not isinstance(p.run, str) and PROGRAMS.get(name) is not p.run:
                raise ValueError(f"program {name!r} cannot be saved: register it with @program first")
            row["programs"].append({"node": p.node, "run": name, "args": p.args})
        return {"format": FORMAT, "version": VERSION, **row}

    def save(self, path: str | Path) -> None:
        """Write the scenario as JSON."""
        text = json.dumps(self.to_json(), ensure_ascii=False, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def from_json(cls, row: object, where: str = "this") -> Scenario:
        """The inverse of `to_json`; ValueError, saying what is wrong with `where`, for anything else."""
        if not isinstance(row, dict) or row.get("format") != FORMAT:
            raise ValueError(f"{where} is not a scenario that kafkalab saved")
        if row.get("version") != VERSION:
            raise ValueError(
                f"{where} is a scenario of version {quote(row.get('version'))}; this kafkalab reads version {VERSION}."
                " Open it with the kafkalab that saved it, or save it anew."
            )
        check_plain(row, where)
        known = {f.name for f in fields(cls)}
        extra = sorted(set(row) - known - {"format", "version"})
        if extra:
            names = list_names(truncate(name, QUOTE) for name in extra)
            raise ValueError(f"{where} has fields that no scenario has: {names}")
        values = {k: v for k, v in row.items() if k in known}
        try:
            values["faults"] = tuple(fault_from_json(f) for f in values.get("faults", ()))
            values["programs"] = tuple(
                Program(p["node"], p["run"], p.get("args", {})) for p in values.get("programs", ())
            )
            values["records"] = {k: _tuple(v) for k, v in values.get("records", {}).items()}
            values["acls"] = tuple(Deny(**a) for a in values.get("acls", ()))
            values["rules_off"] = _tuple(values.get("rules_off", ()))
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(truncate(f"{where} is damaged: {error}")) from None

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a saved scenario; ValueError with the file's name for anything else, OSError as of `open`."""
        name = quote(str(path))
        return cls.from_json(json_of(file_text(path), name), name)


def _tuple(value: object) -> Any:
    """A list as a tuple; anything else is left to the check of its type."""
    return tuple(value) if isinstance(value, list) else value


FIELDS = tuple(f.name for f in fields(Scenario))
