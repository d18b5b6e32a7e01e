"""A scenario as a short code that can be read out, typed and checked: "K1-…"; and as Python that can be pasted.

A code holds the name of a scenario that comes with kafkalab, the profile, the seed, the rules switched off and the
faults; of any other scenario it holds everything, and is longer. The last four signs are a checksum: every wrong sign,
and every two neighbours swapped, is noticed.
"""

from __future__ import annotations

import binascii
import json
import zlib
from collections.abc import Callable
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import Any

from kafkalab.programs.billing import lab06
from kafkalab.programs.first_transaction import lab02
from kafkalab.programs.groups import two_members, zombie_member
from kafkalab.programs.hanging_writer import hanging
from kafkalab.programs.orders import lab00, lab01
from kafkalab.programs.readers import lab05, two_accounts
from kafkalab.programs.transfers import kafka_17754, lab03
from kafkalab.sim.faults import TYPES, Fault, fault_from_json, fault_to_json
from kafkalab.sim.scenario import PROGRAMS, Scenario

BASES: dict[str, Callable[..., Scenario]] = {
    f.__name__: f
    for f in (lab03, lab05, two_accounts, kafka_17754, hanging, two_members, zombie_member, lab00, lab01, lab02, lab06)
}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in BASES} | {
    "lab01-": ("lab01", {"idempotence": False}),
    "lab05-": ("lab05", {"isolation_level": "read_uncommitted"}),
    "lab06-": ("lab06", {"first": None, "second": None}),
}
"""What a code may name: a scenario with its arguments. Only ever add: codes of version 1 are read for good."""
SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ALIKE = str.maketrans("ILOilo", "110110")
VERSION, CHECK_SIGNS, GROUP = "1", 4, 5
LONGEST = 20_000
WORDS = (
    '"]]{"format":"kafkalab-scenario","version":1,"title":"","brokers":3,"profile":"","rules_off":[],"topics":{"out":1},'
    '"records":{},"programs":[{"node":"app","run":"","args":{}}],"faults":[],"seed":1,"fresh":false,"config":{},'
    '"producer_epochs":{},"acls":[]}AllocateProducerIds#1FetchReply#1ReplicaFetch#1MetadataReply#1AlterPartition#1'
    '"Reorder""DeleteSegment""Compact""Roll""Release""Heal""Cut""AdvanceClock","ms":10000"ElectLeader","partition":"'
    '__consumer_offsets-__transaction_state-transfers-0accounts-0","broker":"b2","unclean":false"Pause""Resume""Restart"'
    '"Hold""Delay","delay_ms":1000"Duplicate","frame":"JoinGroup#1SyncGroup#1Heartbeat#1FindCoordinator#1OffsetFetch#1'
    'AddOffsetsToTxn#1AddPartitionsToTxnReply#1TxnOffsetCommitReply#1InitProducerIdReply#1WriteTxnMarkersReply#1'
    'ProduceReply#1Produce#1EndTxnReply#1EndTxn#1"Crash","node":"b3","at_step":1","at_ms":-1"Drop","'
    '["zombie_member","two_members","hanging","kafka_17754","0.11","1.0","4.x/TV1","lab03","4.x/TV2",0,0,0]"lab03","4.x/TV2",0,0,[['
)
"""What codes of version 1 are compressed against. A change of it makes another version."""


def code_of(scenario: Scenario) -> str:
    """The code, in groups of five signs. ValueError for a program that is a function and not registered."""
    row = _row(scenario)
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=WORDS.encode())
    signs = _to_signs(packer.compress(text.encode()) + packer.flush())
    signs += _checksum(signs)
    return "-".join([f"K{VERSION}", *(signs[i : i + GROUP] for i in range(0, len(signs), GROUP))])


def scenario_of_code(code: str) -> Scenario:
    """The scenario that the code names. Small letters, spaces and hyphens do not matter, nor O for 0, I or L for 1.

    ValueError, saying what to do, for a code with a typo, one of a newer version, or anything else.
    """
    if not isinstance(code, str) or len(code) > LONGEST:
        raise ValueError("a code is a line of letters and digits that begins with K1")
    signs = "".join(code.split()).replace("-", "").upper()
    if signs[:1] != "K" or len(signs) < 2 + CHECK_SIGNS:
        raise ValueError(f"{_short(code)} is not a code of kafkalab: those begin with K{VERSION}; copy it anew")
    version, signs = signs[1].translate(ALIKE), signs[2:].translate(ALIKE)
    if version != VERSION:
        newer = version.isdigit() and version > VERSION
        kind = f"of version {version}, newer than" if newer else "of no version known to"
        raise ValueError(f"this code is {kind} this kafkalab, which reads version {VERSION}; use a newer kafkalab")
    wrong = next((sign for sign in signs if sign not in SIGNS), "")
    if wrong:
        raise ValueError(f"there is a typo in the code: no code has the sign {wrong!r}; compare it once more")
    body, check = signs[:-CHECK_SIGNS], signs[-CHECK_SIGNS:]
    if _checksum(body) != check:
        raise ValueError("there is a typo in the code: its checksum does not fit; compare it once more, sign by sign")
    try:
        unpacker = zlib.decompressobj(-15, zdict=WORDS.encode())
        row = json.loads(unpacker.decompress(_from_signs(body), 1_000_000))
    except (zlib.error, ValueError):
        raise ValueError("this code is damaged: its checksum fits, but it holds no scenario") from None
    return _scenario(row)


def _row(scenario: Scenario) -> Any:
    """[name in VARIANTS, profile, seed, rules off, faults], "" for what is usual; or all of the scenario."""
    plain = replace(scenario, faults=())
    for name in VARIANTS:
        base = _base(name, scenario.profile)
        if base and replace(base, seed=scenario.seed, rules_off=scenario.rules_off, faults=()) == plain:
            faults = [_fault_row(fault) for fault in scenario.faults]
            given = [scenario.seed, list(scenario.rules_off), faults]
            usual = [base.seed, list(base.rules_off), [_fault_row(fault) for fault in base.faults]]
            row = [name, scenario.profile, *("" if a == b else a for a, b in zip(given, usual, strict=True))]
            while row[-1] == "":
                row.pop()
            return row
    return scenario.to_json()


def _base(name: str, profile: str) -> Scenario | None:
    """The scenario that comes with kafkalab, under that profile; None if it does not exist there."""
    try:
        return _named(name, profile)
    except (KeyError, ValueError):
        return None


def _named(name: str, profile: str) -> Scenario:
    made_by, arguments = VARIANTS[name]
    return BASES[made_by](profile=profile, **arguments)


def _fault_row(fault: Fault) -> list[Any]:
    """The fault's name and its fields, without those at the end that have their defaults."""
    values = list(fault_to_json(fault).values())
    plain = [list(v) if isinstance(v, tuple) else v for v in values]
    while len(plain) > 2 and plain[-1] == -1:
        plain.pop()
    return plain


def _scenario(row: Any) -> Scenario:
    if isinstance(row, dict):
        return Scenario.from_json(row, "this code")
    try:
        name, profile, seed, rules_off, faults = (*row, "", "", "")[:5]
        changes: dict[str, Any] = {} if seed == "" else {"seed": seed}
        if rules_off != "":
            changes["rules_off"] = tuple(rules_off)
        if faults != "":
            changes["faults"] = tuple(_fault(*fault) for fault in faults)
        return replace(_named(name, profile), **changes)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"this code holds a scenario that this kafkalab does not know: {error}") from None


def _fault(name: str, *values: Any) -> Fault:
    names = [f.name for f in dataclass_fields(TYPES[name])]
    return fault_from_json({"fault": name, **dict(zip(names, values, strict=False))})


def _to_signs(data: bytes) -> str:
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join(SIGNS[int(bits[i : i + 5], 2)] for i in range(0, len(bits), 5))


def _from_signs(signs: str) -> bytes:
    bits = "".join(f"{SIGNS.index(sign):05b}" for sign in signs)
    return bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - len(bits) % 8, 8))


def _checksum(signs: str) -> str:
    """Four signs: a CRC of 16 bits over the bits of the signs in their order, which notices any burst of 16."""
    bits = "".join(f"{SIGNS.index(sign):05b}" for sign in signs)
    data = bytes(int(bits[i : i + 8].ljust(8, "0"), 2) for i in range(0, len(bits), 8))
    crc = binascii.crc_hqx(data + bytes([len(signs) % 256]), 0xFFFF)
    return "".join(SIGNS[crc >> shift & 31] for shift in (15, 10, 5, 0))


def _short(code: str) -> str:
    text = " ".join(code.split())
    return repr(text if len(text) <= 24 else text[:24] + "…")


def python_of(scenario: Scenario) -> str:
    """A cell that makes the scenario: imports, and `scenario = …`. ValueError for a program that is not registered."""
    row = _row(scenario)
    kinds = sorted({type(f).__name__ for f in scenario.faults})
    if isinstance(row, list):
        name, arguments = VARIANTS[row[0]]
        names = f"from {BASES[name].__module__} import {name}"
        given = dict(zip(("seed", "rules_off", "faults"), row[2:], strict=False))
        changes = [f"{k}={getattr(scenario, k)!r}" for k, value in given.items() if value != ""]
        more = "".join(f", {key}={value!r}" for key, value in arguments.items())
        made = f'{name}(profile="{scenario.profile}"{more})'
        if not changes:
            return f"{names}\n\nscenario = {made}"
        made = f"replace({made}, {', '.join(changes)})"
        kinds = kinds if given.get("faults") else []
        return "\n".join(["from dataclasses import replace", "", *_import(kinds), names, "", f"scenario = {made}"])
    programs = tuple(replace(p, run=p.run if isinstance(p.run, str) else p.run.__name__) for p in scenario.programs)
    extra = ["Program"] * bool(programs) + ["Deny"] * bool(scenario.acls) + ["Scenario"]
    return "\n".join([*_import([*kinds, *extra]), "", f"scenario = {replace(scenario, programs=programs)!r}"])


def _import(names: list[str]) -> list[str]:
    return [f"from kafkalab import {', '.join(sorted(names))}"] if names else []


assert all(PROGRAMS.get(p.run) for base in BASES.values() for p in base().programs if isinstance(p.run, str))
