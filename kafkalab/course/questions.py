"""The questions that learners bring with them, and the table of the labs' cells that settle them.

A cell settles a question if its metadata says so ({"kafkalab": {"questions": [19]}}), if its text names it (Q19), or
if it checks an exercise that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkalab.course.labs import COURSE
from kafkalab.course.measures import HEAD, RATES, measure_labs
from kafkalab.grading import check as checks
from kafkalab.grading.builder import LABS, SOLUTIONS, landings_in, read, sources
from kafkalab.grading.exercise import EXERCISES
from kafkalab.grading.landing import anchor_in_notebook, follow_headings, land_text
from kafkalab.grading.sheet import exercises_asked

PAGE = LABS / "README.md"
NAMED = re.compile(r"\bQ(\d{1,2})\b")
SOURCE_TEXTS = (
    "[docs/sources.md](../docs/sources.md) lists what the course's source texts describe, each item with its cells."
)

QUESTIONS: dict[int, str] = {
    1: "One record sent, and the end offset went up by two: who took the other offset?",
    2: "Why does the lag of a transactional topic never reach zero?",
    3: "My tool waits for the record before the end offset and hangs. Why?",
    4: "End offset minus start offset is the number of records, is it not?",
    5: "Offsets have gaps: was data lost?",
    6: "My read_committed consumer stands still while records keep coming. Why?",
    7: "My transaction is committed. Why does nobody see it while an older one is open?",
    8: "When a transaction aborts, are its records removed from the log?",
    9: "Which isolation level does a consumer have if I set none?",
    10: "Who filters aborted records, the broker or the client, and what does it need for that?",
    11: "Does a consumer hold records back in memory until their transaction commits?",
    12: "How do I choose a transactional.id: per process, per partition, at random?",
    13: "Two applications keep fencing each other. What do they share?",
    14: "ProducerFenced or InvalidProducerEpoch: which one is final for my producer?",
    15: "I have one producer only. Who fenced it?",
    16: "Why is my transaction.timeout.ms refused?",
    17: "After a crash, must I wait until the old transaction has timed out?",
    18: "initTransactions() times out on my one-broker cluster. Why?",
    19: "Does idempotence mean that there are no duplicates, ever?",
    20: "How many requests may be in flight under idempotence, and is it on by default?",
    21: "OUT_OF_ORDER_SEQUENCE_NUMBER: is data lost?",
    22: "My producer was idle for days and now fails. What was forgotten?",
    23: "INVALID_PRODUCER_ID_MAPPING again and again: what has expired?",
    24: "The commit timed out. Did it commit, and what may I do now?",
    25: "After EndTxn timed out, may I simply begin the next transaction?",
    26: "What has transaction version 2 changed, and why does the epoch rise with every commit?",
    27: "After an abort, does the consumer go back to where it was?",
    28: "Why does sendOffsetsToTransaction want the group's metadata?",
    29: "UNSTABLE_OFFSET_COMMIT: why can a group not read its own offsets?",
    30: "Is commitSync inside a transaction not the same thing?",
    31: "Does exactly-once cover my database?",
    32: "Is one annotation over database and Kafka atomic?",
    33: "Can Kafka take part in a two-phase commit?",
    34: "Is Spark's Kafka sink exactly-once?",
    35: "Are transactions slow, and what is it that costs?",
    36: "How much latency does read_committed add?",
    37: "Can one producer have several transactions open, one in each thread?",
    38: "How do I find a hanging transaction, and what if I abort it while its client commits?",
    39: "Does upgrading the brokers to transaction version 2 protect my librdkafka, sarama or aiokafka program?",
    40: "Can a share group take part in a transaction?",
    41: "What changes with the consumer group protocol: STALE_MEMBER_EPOCH, an assignment that is still mine?",
    42: "After an unclean election, what breaks, and how does a read_committed reader continue?",
    43: "May transaction.version be raised under load, and lowered again?",
    44: "Several transactions at once in one service: how many producers, and which names?",
    45: "Dead letters: inside or outside the transaction? Do they vanish with the abort?",
    46: "A stopped job left a transaction open: wait, abort or commit, and what is lost?",
    47: "Exactly-once source connectors: what is fenced, and where are the offsets?",
    48: "Is my state store exactly-once after a crash?",
    49: "transacted=true, @Transactional, exactly_once_v2: which switch really sends the offsets?",
    50: "Mirroring: are transactions and aborted records copied, and what do offsets mean there?",
    51: "A topic was deleted, and made again, within a transaction. What happens to it?",
    52: "The tool shows transactions that are gone, or none that hang. Which output can I trust?",
    53: "Other brokers speak the protocol: do they make the same promises?",
}
OUTSIDE = Path("docs") / "outside-this-lab.md"
ON_A_PAGE: dict[int, str] = {40: "Share groups", 48: "State stores", 50: "Mirroring", 53: "Other brokers"}
"""The questions that no lab can run, each with its heading on the page OUTSIDE."""
SETTLED_IN = {question: lab.number for lab in COURSE for question in lab.settles}
"""The lab that must settle a question; another may, too."""
NEEDED = tuple(sorted(SETTLED_IN))
"""The questions that the labs there are must settle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A cell that settles a question: its notebook, its id, and the heading under which it stands."""

    question: int
    lab: str
    cell: str
    heading: str

    @property
    def link(self) -> str:
        """A link of a page in labs/ to the heading."""
        return f"[{self.heading}]({self.lab}.ipynb#{anchor_in_notebook(self.heading)})"


def places(root: Path) -> dict[int, tuple[Place, ...]]:
    """Every question, with the cells that settle it, in the order of the labs."""
    found = [place for path in sources(root) for place in _places(path.stem, read(path)["cells"])]
    return {number: tuple(p for p in found if p.question == number) for number in QUESTIONS}


def _places(lab: str, cells: list[dict[str, Any]]) -> Iterator[Place]:
    for cell, heading in follow_headings(cells, lab):
        for number in sorted(_list_settled(cell, "".join(cell["source"]))):
            yield Place(question=number, lab=lab, cell=cell["id"], heading=heading)


def _list_settled(cell: dict[str, Any], text: str) -> set[int]:
    found = {int(n) for n in cell["metadata"].get("kafkalab", {}).get("questions", ())}
    if cell["cell_type"] == "markdown":
        found |= {int(n) for n in NAMED.findall(text)}
    for exercise in exercises_asked([text] if cell["cell_type"] == "code" else []):
        found |= set(checks.find(exercise).questions) if exercise in EXERCISES else set()
    unknown = found - set(QUESTIONS)
    if unknown:
        raise ValueError(f"cell {cell['id']} names question {min(unknown)}; there are 1 to {max(QUESTIONS)}")
    return found


def lacking(root: Path) -> tuple[int, ...]:
    """Those of the needed questions that no cell settles yet."""
    found = places(root)
    return tuple(number for number in NEEDED if not found[number])


def page(root: Path, of_a_class: bool = False) -> str:
    """Return labs/README.md: the labs there are, and where each question is answered.

    In the folder of a class there is no Makefile, and nobody builds labs.
    """
    labs = measure_labs(root)
    command = "kafkalab lab" if of_a_class else "make lab"
    opens = f"Open [00_start.ipynb](00_start.ipynb), or run `{command}` in the folder above."
    made = (
        f" Each notebook here is made from the one of the same name in `{SOLUTIONS.name}/` by `kafkalab build-labs`, "
        "and so is this page."
    )
    lines = [
        "# The labs",
        "",
        opens if of_a_class else opens + made,
        "",
        "| lab | | what you will know |",
        "|--:|:--|:--|",
        *(f"| {lab.number} | [{lab.title}]({lab.name}.ipynb) | {lab.know} |" for lab in COURSE if lab.name in labs),
        "",
        "## How long it takes",
        "",
        RATES,
        "",
        HEAD,
        *(f"| {lab.number} | {labs[lab.name].row}" for lab in COURSE if lab.name in labs),
        "",
        "## Where a question is answered",
        "",
        "| | question | answered in |",
        "|--:|:--|:--|",
    ]
    for number, found in places(root).items():
        firsts = {place.lab: place for place in reversed(found)}
        parts = [f"{lab[:2]} {firsts[lab].link}" for lab in sorted(firsts)]
        if number in ON_A_PAGE:
            heading = ON_A_PAGE[number]
            link = f"[{heading}](../{OUTSIDE.as_posix()}#{heading.lower().replace(' ', '-')})"
            parts.append(f"not shown in a lab: {heading if of_a_class else link}")
        links = "<br>".join(parts)
        lines.append(f"| {number} | {QUESTIONS[number]} | {links or 'a later lab'} |")
    if not of_a_class:
        lines += ["", SOURCE_TEXTS]
    return land_text("\n".join([*lines, ""]), landings_in(root))
