"""A run as data: cluster shape, rules, programs, faults, seed. It can be saved, shared and forked."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from kafkalab.broker.state import BrokerConfig
from kafkalab.broker.transaction_coordinator.metadata import PRODUCER_EPOCH_MAX
from kafkalab.protocol.acls import Deny
from kafkalab.protocol.profiles import Rules
from kafkalab.sim.faults import Fault, check_fault, fault_from_json, fault_to_json
from kafkalab.sim.registry import Registry

FORMAT, VERSION = "kafkalab-scenario", 1

ProgramFunction = Callable[..., Coroutine[Any, Any, Any]]
PROGRAMS: Registry[ProgramFunction] = Registry("programs")

BROKER_SETTINGS = {f.name: bool if isinstance(f.default, bool) else int for f in fields(BrokerConfig)}
"""What a scenario's `config` may name, and of which type it is."""


def program(function: ProgramFunction) -> ProgramFunction:
    """Register an `async def` function under its name, so that a scenario which runs it can be saved."""
    PROGRAMS.register(function.__name__, function)
    return function


@dataclass(frozen=True, slots=True)
class Program:
    """What a client node runs: a registered program's name, or a function, with its arguments."""

    node: str
    run: str | ProgramFunction
    args: dict[str, Any] = field(default_factory=dict)

    def function(self) -> ProgramFunction:
        """The function; ValueError if no program has this name."""
        if callable(self.run):
            return self.run
        if self.run not in PROGRAMS:
            raise ValueError(f"no program {self.run!r} is registered; there are {', '.join(sorted(PROGRAMS))}")
        return PROGRAMS[self.run]


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
        if not isinstance(self.brokers, int) or not 1 <= self.brokers <= 9:
            raise ValueError(f"brokers is a number from 1 to 9, not {self.brokers!r}")
        if not isinstance(self.seed, int) or isinstance(self.seed, bool):
            raise ValueError(f"seed is a whole number, not {self.seed!r}")
        Rules(self.profile, self.rules_off)
        for partition in self.records:
            topic, _, index = partition.rpartition("-")
            if not index.isdigit() or int(index) >= self.topics.get(topic, 0):
                raise ValueError(f"records for {partition!r}, but the topics are {self.topics}")
        self._check_brokers()
        names = [p.node for p in self.programs]
        if len(set(names)) < len(names) or any(n.startswith("b") and n[1:].isdigit() for n in names):
            raise ValueError(f"every program needs a node name of its own, none like a broker's: {names}")
        for fault in self.faults:
            check_fault(fault, self.nodes, self.topics)

    def _check_brokers(self) -> None:
        for name, value in self.config.items():
            if type(value) is not BROKER_SETTINGS.get(name) or value < 0:
                known = ", ".join(f"{n} ({kind.__name__})" for n, kind in BROKER_SETTINGS.items())
                raise ValueError(f"config has broker settings: {known}; not {name!r}: {value!r}")
        for tid, epoch in self.producer_epochs.items():
            if not isinstance(epoch, int) or not 0 <= epoch < PRODUCER_EPOCH_MAX:
                raise ValueError(f"a producer's epoch is a number from 0 to {PRODUCER_EPOCH_MAX - 1}; {tid}: {epoch!r}")
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
        """The same scenario with these faults more."""
        return replace(self, faults=(*self.faults, *faults))

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
    def from_json(cls, row: Any, where: str = "this") -> Scenario:
        """The inverse of `to_json`; ValueError, saying what is wrong with `where`, for anything else."""
        if not isinstance(row, dict) or row.get("format") != FORMAT:
            raise ValueError(f"{where} is not a scenario that kafkalab saved")
        if row.get("version") != VERSION:
            raise ValueError(
                f"{where} is a scenario of version {row.get('version')!r}; this kafkalab reads version {VERSION}. "
                "Open it with the kafkalab that saved it, or save it anew."
            )
        known = {f.name for f in fields(cls)}
        extra = sorted(set(row) - known - {"format", "version"})
        if extra:
            raise ValueError(f"{where} has fields that no scenario has: {', '.join(extra)}")
        values = {k: v for k, v in row.items() if k in known}
        try:
            values["faults"] = tuple(fault_from_json(f) for f in values.get("faults", ()))
            values["programs"] = tuple(
                Program(p["node"], p["run"], p.get("args", {})) for p in values.get("programs", ())
            )
            values["records"] = {k: tuple(v) for k, v in values.get("records", {}).items()}
            values["acls"] = tuple(Deny(**a) for a in values.get("acls", ()))
            values["rules_off"] = tuple(values.get("rules_off", ()))
            return cls(**values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{where} is damaged: {error}") from None

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """Read a saved scenario; ValueError with the file's name for anything else."""
        try:
            row = json.loads(Path(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError):
            raise ValueError(f"{path} is not a scenario that kafkalab saved: it is no JSON") from None
        return cls.from_json(row, str(path))
