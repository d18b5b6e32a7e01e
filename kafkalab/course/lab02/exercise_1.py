"""L2.E1: which partition of __transaction_state owns an id; a function beside Kafka's, and beside mutants."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from random import Random
from typing import Any

from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.grading.tables import Table
from kafkalab.protocol.partitions import INT_MIN, INTERNAL_PARTITIONS, java_hash, partition_for

FORM = "a function partition_of(transactional_id, partitions) that returns a number"
NAMES = (
    "payments", "orders", "invoices", "shipping", "billing", "stock", "ledger", "refunds", "clicks",
    "zürich", "данные", "订单",
)  # fmt: skip
SMILE = "😀"
SMALLEST = "polygenelubricants"
"""Its hash is the smallest number of 32 bits, which has no absolute value."""


def _hash64(text: str) -> int:
    value = 0
    for unit in text:
        value = value * 31 + ord(unit)
    return value


def _hash32(units: Iterable[int]) -> int:
    value = 0
    for unit in units:
        value = _int32(value * 31 + unit)
    return value


def _int32(value: int) -> int:
    """Return what Java's int keeps of a number: 32 bits, with a sign."""
    return (value + 2**31) % 2**32 - 2**31


def _absolute(hashed: int, partitions: int) -> int:
    return (0 if hashed == INT_MIN else abs(hashed)) % partitions


MUTANTS = (
    Mutant(
        "sign bit cleared",
        "the sign bit were cleared, as producers do for keys; the coordinator takes the absolute value",
        lambda text, partitions: (java_hash(text) & 0x7FFFFFFF) % partitions,
        hint=0,
    ),
    Mutant(
        "no absolute value",
        "a negative hash were divided as it is",
        lambda text, partitions: java_hash(text) % partitions,
        hint=0,
    ),
    Mutant(
        "no wrap to 32 bits",
        "the hash could grow without end; Java's has 32 bits",
        lambda text, partitions: _absolute(_hash64(text), partitions),
        hint=1,
    ),
    Mutant(
        "bytes",
        "the hash went over bytes; it goes over UTF-16 units",
        lambda text, partitions: _absolute(_hash32(text.encode()), partitions),
        hint="Java's hashCode goes over UTF-16 units of 16 bits. Which encoding of Python gives those?",
    ),
    Mutant(
        "code points",
        "the hash went over whole characters; it goes over UTF-16 units, of which an emoji has two",
        lambda text, partitions: _absolute(_hash32(map(ord, text)), partitions),
        hint="`ord` of an emoji is more than 65535, more than one UTF-16 unit holds: Java sees two units there.",
    ),
    Mutant(
        "the smallest number",
        "the smallest number of 32 bits had an absolute value; there Kafka takes 0",
        lambda text, partitions: abs(java_hash(text)) % partitions,
        hint="-2147483648 has no counterpart among Java's positive numbers. What does Utils.abs return for it?",
    ),
    Mutant(
        "always 50",
        "there were always 50 partitions",
        lambda text, partitions: partition_for(text, INTERNAL_PARTITIONS),
        hint="The number of partitions is an argument: a cluster may have been set up with another than 50 "
        "(transaction.state.log.num.partitions).",
    ),
)


@cache
def cases(of_seed: int) -> tuple[Case, ...]:
    """Ids as they are in use, and numbers of partitions; some with letters beyond ASCII, one with the smallest hash."""
    random = random_for("L2.E1", of_seed)
    found: list[Case] = [(_name(random), INTERNAL_PARTITIONS) for _ in range(24)]
    found += [(f"{_name(random)}-{SMILE}", INTERNAL_PARTITIONS) for _ in range(4)]
    found += [(SMALLEST, random.choice((6, 7, 9, 12, 30))), *((_name(random), random.randint(5, 40)) for _ in range(8))]
    random.shuffle(found)
    return tuple(found)


def _name(random: Random) -> str:
    parts = [random.choice(NAMES), *(str(random.randint(0, 99)) for _ in range(random.randint(1, 2)))]
    return random.choice("-_.").join(parts)


def steps(given: Any, text: str, partitions: int) -> Table:
    """Return how Kafka comes from the id's UTF-16 units to its partition, with `given`, the learner's, at the end."""
    data, value = text.encode("utf-16-be"), 0
    rows: list[tuple[str, str, str]] = []
    for number, place in enumerate(range(0, len(data), 2), 1):
        unit = data[place] * 256 + data[place + 1]
        whole = value * 31 + unit
        kept = _int32(whole)
        cut = f"{whole}, in 32 bits {kept}" if kept != whole else str(kept)
        read = f"bytes {data[place]} {data[place + 1]} = {unit}"
        rows.append((f"unit {number}", read, f"31 · {value} + {unit} = {cut}"))
        value = kept
    absolute = 0 if value == INT_MIN else abs(value)
    rows.append(("Utils.abs", str(value), str(absolute)))
    rows.append((f"% {partitions}", str(absolute), f"{partition_for(text, partitions)}; your function says {given!r}"))
    title = f"From {text!r} to its partition: Java's hashCode unit by unit, the absolute value, the remainder"
    return Table(title=title, columns=("step", "in", "out"), rows=tuple(rows), at=len(rows) - 1)


EXERCISE = Exercise(
    "L2.E1",
    lambda answer: against_mutants(answer, partition_for, MUTANTS, cases(seed()), FORM, rows_of=steps),
    (
        "Three steps: Java's hash of the string, its absolute value, the remainder.",
        "The hash: begin with 0; for each UTF-16 unit multiply by 31 and add the unit; keep 32 bits. As Java's int has "
        "a sign, 2**31 and more stand for a negative number: subtract 2**32.",
        'The units: `data = text.encode("utf-16-be")`, two bytes each, `data[i] * 256 + data[i + 1]`. The '
        "absolute value of -2**31 counts as 0.",
    ),
    points=7,
    misses=hints_of(MUTANTS),
    question=lambda of_seed: cases(of_seed)[:8],
    afterwards=(
        "Why: every broker can compute this number from the name alone, so a client may ask any of them, and none "
        "has to keep a list. Next: who sends what in a first transaction?"
    ),
)
