"""Scenarios, challenges and answers as one line of text that can be read out, typed and checked: "K1-HF398-M024E…".

A code is its kind (K scenario, C challenge, T answer), the version, and JSON, compressed, in groups of five signs (the
digits, and the letters but I, L, O and U). The last four signs are a checksum: every wrong sign, and every two
neighbours swapped, is noticed. A scenario that comes with kafkalab is its name, profile, seed, rules off and faults; of
any other the code holds everything, and is longer. Lines of 2026's first format ("klabC1.…") are still read.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import cache, partial
from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.registry import TYPES, fault_from_json, fault_to_json
from kafkalab.limits import CODE, FILE, quote, truncate, whole_number
from kafkalab.saved_data import json_of
from kafkalab.sim.scenario import FORMAT, Scenario
from kafkalab.sim.scenario import VERSION as FORMAT_VERSION
from kafkalab.sim.scenario_names import SCENARIOS

SCENARIO, CHALLENGE, ANSWER = "K", "C", "T"
KINDS = {SCENARIO: "code", CHALLENGE: "challenge", ANSWER: "answer"}
FORMER = {CHALLENGE: "klabC1", ANSWER: "klabT1"}
"""The beginnings of lines of these kinds in the first format."""
SIGNS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
ALIKE = str.maketrans("ILOilo", "110110")
VERSION, CHECK_SIGNS, GROUP = "1", 4, 5
AROUND = " \t\r\n\"'`´“”„‘’‚«»<>()[].,;:!"
"""The characters that may surround a code in the text that it is copied from."""
LINK = re.compile(r"[#?&/=]([A-Za-z][0-9]-[0-9A-Za-z-]+)")
"""A code in a link, such as the page's "…#run=K1-HC34P-…&step=54"."""
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
"""The dictionary that codes of version 1 are compressed against. A change of it makes another version."""
BILLING, PACKING = {"till-1": "first", "till-2": "second"}, {"anna": "one", "ben": "two"}
NODES = {"lab06": BILLING, "lab06-": BILLING, "lab10": PACKING, "pending_offsets": PACKING}
"""The names of the nodes of these scenarios in codes of version 1: those that they had when it began."""


def encode(kind: str, data: object) -> str:
    """Return plain data as a code of this kind, in groups of five signs; the same data always gives the same code."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=WORDS.encode())
    signs = _to_signs(packer.compress(text.encode()) + packer.flush())
    signs += _checksum(signs)
    return "-".join([f"{kind}{VERSION}", *(signs[i : i + GROUP] for i in range(0, len(signs), GROUP))])


def is_of_kind(kind: str, text: str) -> bool:
    """Return whether the text begins as a code of this kind does, in either format."""
    return _bare(text).startswith((f"{kind}{VERSION}-", f"{FORMER.get(kind)}."))


def _bare(text: str) -> str:
    """Return the code without the quotes, the punctuation or the link around it."""
    link = LINK.search(text) if "=" in text or "/" in text else None
    return link[1] if link else text.strip(AROUND)


def decode(kind: str, code: str) -> Any:
    """Return the data in a code. Small letters, spaces and hyphens do not matter, nor O for 0, I or L for 1.

    Quotes around the code, and a link that holds it, do not matter either.

    ValueError, saying what to do, for a code with a typo, one of a newer version or another kind, or anything else.
    """
    if isinstance(code, str) and len(code) <= CODE.most:
        code = _bare(code)
        if "".join(code.split()).startswith(f"{FORMER.get(kind)}."):
            return _decode_former(code)
    noun, begins = KINDS[kind], f"{kind}{VERSION}"
    if not isinstance(code, str) or len(code) > CODE.most:
        what = f"a line of letters and digits that begins with {begins}, of at most {CODE.most:,} {CODE.of}"
        raise ValueError(f"a {noun} is {what}")
    signs = "".join(code.split()).replace("-", "").upper()
    if signs[:1] != kind or len(signs) < 2 + CHECK_SIGNS:
        raise ValueError(f"{_short(code)} is no {noun} of kafkalab: those begin with {begins}; copy it again")
    version, signs = signs[1].translate(ALIKE), signs[2:].translate(ALIKE)
    if version != VERSION:
        newer = whole_number(version) > int(VERSION)
        which = f"of version {version}, newer than" if newer else "of no version known to"
        raise ValueError(f"this {noun} is {which} this kafkalab, which reads version {VERSION}; use a newer kafkalab")
    wrong = next((sign for sign in signs if sign not in SIGNS), "")
    if wrong:
        raise ValueError(f"there is a typo in the {noun}: no code has the sign {quote(wrong)}; compare it once more")
    body, check = signs[:-CHECK_SIGNS], signs[-CHECK_SIGNS:]
    if _checksum(body) != check:
        raise ValueError(f"there is a typo in the {noun}: its checksum is wrong; compare it once more, sign by sign")
    damaged = f"this {noun} is damaged: its checksum fits, but it holds nothing that can be read"
    try:
        unpacker = zlib.decompressobj(-15, zdict=WORDS.encode())
        text = unpacker.decompress(_from_signs(body), FILE.most).decode()
    except (zlib.error, UnicodeDecodeError):
        raise ValueError(damaged) from None
    return json_of(text, f"this {noun}", damaged)


def _decode_former(text: str) -> Any:
    """Return the data in a line of the first format: kind, base64url of zlib of JSON, and six hex digits of a CRC."""
    parts = "".join(text[: CODE.most].split()).split(".")
    check = f"{zlib.crc32('.'.join(parts[:2]).encode(errors='replace')) & 0xFFFFFF:06x}"
    if len(text) > CODE.most or len(parts) != 3 or parts[2] != check:
        raise ValueError("this code was damaged on its way: a letter is missing or another one; copy it again")
    damaged = "this code holds nothing that can be read"
    try:
        packed = base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_", validate=True)
        text = zlib.decompressobj().decompress(packed, FILE.most).decode()
    except (ValueError, binascii.Error, zlib.error):
        raise ValueError(damaged) from None
    return json_of(text, "this code", damaged)


def code_of(scenario: Scenario) -> str:
    """Return the scenario's code. ValueError for a program that is a function and not registered."""
    return encode(SCENARIO, scenario_row(scenario))


def scenario_of_code(code: str) -> Scenario:
    """Return the scenario that the code names. ValueError, as of `decode`, for anything else."""
    return scenario_of_row(decode(SCENARIO, code))


def scenario_row(scenario: Scenario) -> Any:
    """Return [name in SCENARIOS, profile, seed, rules off, faults], "" for what is usual; or the scenario's JSON."""
    plain = replace(scenario, faults=())
    for name, made in SCENARIOS.items():
        base = _base(made, scenario.profile)
        if base is None or base.programs != plain.programs:
            continue
        if replace(base, seed=scenario.seed, rules_off=scenario.rules_off, faults=()) == plain:
            given, usual = (
                [s.seed, list(s.rules_off), _rename([fault_row(fault) for fault in s.faults], NODES.get(name, {}))]
                for s in (scenario, base)
            )
            row = [name, scenario.profile, *("" if a == b else a for a, b in zip(given, usual, strict=True))]
            while row[-1] == "":
                row.pop()
            return row
    return scenario.to_json()


@cache
def _base(made: partial[Scenario], profile: str) -> Scenario | None:
    """Return the scenario under that profile; None if it does not exist there."""
    try:
        return made(profile=profile)
    except (KeyError, ValueError):
        return None


def scenario_of_row(row: Any) -> Scenario:
    """Return the scenario of a row, also of one that leaves out defaults; ValueError for anything else."""
    if isinstance(row, dict):
        return Scenario.from_json({"format": FORMAT, "version": FORMAT_VERSION, **row}, "the scenario of this code")
    try:
        name, profile, seed, rules_off, faults = (*row, "", "", "")[:5]
        changes: dict[str, Any] = {} if seed == "" else {"seed": seed}
        if rules_off != "":
            changes["rules_off"] = tuple(rules_off)
        if faults != "":
            present = {former: node for node, former in NODES.get(name, {}).items()}
            changes["faults"] = tuple(fault_of_row(fault) for fault in _rename(faults, present))
        return replace(SCENARIOS[name](profile=profile), **changes)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(truncate(f"this code holds a scenario that this kafkalab does not know: {error}")) from None


def _rename(data: object, names: dict[str, str]) -> Any:
    """Return the lists and dicts with each string in them that `names` has replaced."""
    if isinstance(data, (list, tuple)):
        return [_rename(value, names) for value in data]
    if isinstance(data, dict):
        return {key: _rename(value, names) for key, value in data.items()}
    return names.get(data, data) if isinstance(data, str) else data


def fault_row(fault: Fault) -> list[Any]:
    """Return the fault's name and its fields, without those at the end that have their defaults.

    A response's frame is called "EndTxnReply#1", as when version 1 began; reading gives it its present name.
    """
    row = fault_to_json(fault)
    row |= {k: row[k].replace("Response#", "Reply#") for k in ("frame", "after", "before") if k in row}
    values = [list(v) if isinstance(v, tuple) else v for v in row.values()]
    while len(values) > 2 and values[-1] == -1:
        values.pop()
    return values


def fault_of_row(row: Any) -> Fault:
    """Return the fault of a row, or of its JSON; ValueError, TypeError or KeyError for anything else."""
    if isinstance(row, dict):
        return fault_from_json(row)
    name, *values = row if isinstance(row, list) else [row]
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
    """Return a cell that makes `scenario`, imports included. ValueError for a program that is not registered."""
    row = scenario_row(scenario)
    kinds = {type(f).__name__ for f in scenario.faults}
    if isinstance(row, list):
        made = SCENARIOS[row[0]]
        name = made.func.__name__
        given = dict(zip(("seed", "rules_off", "faults"), row[2:], strict=False))
        changes = [f"{k}={getattr(scenario, k)!r}" for k, value in given.items() if value != ""]
        more = "".join(f", {key}={value!r}" for key, value in made.keywords.items())
        call = f'{name}(profile="{scenario.profile}"{more})'
        if not changes:
            return f"{_import({name})}\n\nscenario = {call}"
        names = _import({name, *(kinds if given.get("faults") else ())})
        return f"from dataclasses import replace\n\n{names}\n\nscenario = replace({call}, {', '.join(changes)})"
    programs = tuple(replace(p, run=p.run if isinstance(p.run, str) else p.run.__name__) for p in scenario.programs)
    extra = ["Program"] * bool(programs) + ["Deny"] * bool(scenario.acls) + ["Scenario"]
    return f"{_import({*kinds, *extra})}\n\nscenario = {replace(scenario, programs=programs)!r}"


def _import(names: set[str]) -> str:
    return f"from kafkalab import {', '.join(sorted(names))}"
