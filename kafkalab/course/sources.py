"""docs/sources.md: what the texts at the beginning of this course describe, each item with the cells that show it.

The items are named here; headings are looked up in the notebooks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kafkalab.grading.builder import LABS, Cell, landings_in, read, sources
from kafkalab.grading.landing import anchor_in_notebook, follow_headings, land_text

PAGE = Path("docs") / "sources.md"
TEXTS = (
    "a description of the mechanism in Kafka 1.0.0",
    "a chapter of a book",
    "a short article on what readers can see",
    "notes on idempotence and transactions",
    "a walk through the sources of Kafka 3",
)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that the texts describe: the numbers of the texts, and "lab:cell" for each cell that shows it."""

    says: str
    texts: str
    shown: tuple[str, ...]


ITEMS = (
    Item("At most once, at least once and exactly once, by name", "1 2", ("10:names-three",)),
    Item("Offsets committed before the work or after it: loss or duplicate", "1 2 4",
         ("03:naive-again", "10:naive-crash")),
    Item("Producer id and sequence; a batch carries its first sequence", "1 2 3 4", ("01:retry-end", "01:client")),
    Item("The next sequence is the last plus one; a duplicate and a gap", "1 2 3 4", ("01:retry-end", "01:gap-end")),
    Item("A leader remembers five batches, so five may be in flight", "4", ("01:five",)),
    Item("The client: one batch at a time while retrying, batches in order, a new beginning after an expiry", "4",
         ("01:client", "01:expired")),
    Item("Order without idempotence: `max.in.flight=1` or `retries=0`", "4",
         ("01:naive-order", "01:naive-no-retry", "93:order")),
    Item("Settings that exclude each other: retries, acks, requests in flight", "2 4", ("01:settings",)),
    Item("Four combinations of `enable.idempotence` and `transactional.id`", "2 4", ("93:combos",)),
    Item("Transactional methods without a `transactional.id`", "2", ("93:no-id",)),
    Item("Idempotence covers one session of a producer and one partition", "1 2 3 4 5", ("01:restart",)),
    Item("What a leader checks of a Produce, permissions first", "4", ("93:acl",)),
    Item("UNKNOWN_PRODUCER_ID", "4", ("01:unknown",)),
    Item("A `transactional.id` outlives restarts; the epoch fences", "1 2 3 4 5", ("02:load-epoch", "06:walk-end")),
    Item("InitProducerId ends what the predecessor left open", "1 2 3 4 5", ("06:wait-run",)),
    Item("FindCoordinator: hash, 50 partitions, the leader coordinates", "1 2 3 4 5", ("02:hash",)),
    Item("InitProducerId without an id goes to any broker", "2 4", ("01:walk",)),
    Item("Producer ids come in blocks", "4", ("93:ids",)),
    Item("The records of the transaction log: bytes and states", "2 5", ("02:log-bytes",)),
    Item("`beginTransaction()` sends nothing", "1 2 3 4 5", ("03:walk", "93:client-run")),
    Item("Partitions join before the first write, which starts the clock", "1 2 3 4 5", ("03:versions", "07:walk-end")),
    Item("Offsets in a transaction do not count until the COMMIT", "1 2 3 4 5",
         ("10:pending-end", "93:broker-offsets")),
    Item("AddOffsetsToTxn left out for a group that is known", "1 4", ("93:add-offsets-run",)),
    Item("A commit flushes first; an abort drops what is unsent and waits for what is sent", "1 4", ("04:unsent",)),
    Item("EndTxn, Prepare…, markers, Complete…", "1 2 3 4 5", ("03:decided", "93:broker")),
    Item("The offsets' partition gets a marker, too", "1 2 3 4 5", ("03:walk", "93:broker-offsets")),
    Item("A control batch: attributes, key, value", "2", ("04:marker-bytes",)),
    Item("After Complete… the entries may go", "1 2 3 4", ("07:idle", "07:cost-log")),
    Item("A partition is down when its marker is due", "1 4", ("08:leader", "15:none-end")),
    Item("Isolation levels, the list of aborted transactions, what a consumer caches", "1 2 3 4",
         ("05:where", "05:where-fetched")),
    Item("Four ways in which a reader misses a part of a transaction", "1 2 3", ("04:later-table", "05:apart")),
    Item("Every copy of one partition is lost after the commit", "3", ("05:copies",)),
    Item("Reading again gives another order across partitions", "3", ("05:apart",)),
    Item("Five calls of the producer; consume, transform, produce", "1 2 4 5", ("03:walk", "10:walk-end")),
    Item("Mistakes of the texts' own programs: an offset without + 1, an abort after ProducerFenced", "2 4",
         ("10:e1-check", "06:which-insist-run")),
    Item("A transaction that only reads", "4", ("93:only-run",)),
    Item("The errors of a loop; OffsetOutOfRange; `group.instance.id`", "5",
         ("07:e2-check", "10:range-run", "10:static-run")),
    Item("The scan for timed out transactions: a new epoch, then the abort", "1 4", ("07:walk-end", "06:alone-run")),
    Item("A `transactional.id` expires after seven days", "1 4", ("07:idle",)),
    Item("Why there are timeouts: readers, memory, the size of the log", "1 4",
         ("07:naive", "07:cost-run", "07:cost-log")),
    Item("The exceptions of an application", "1", ("92:picture", "02:alone", "07:limit", "07:loop")),
    Item("A sequence is refused because the server's log became shorter", "1", ("01:truncated",)),
    Item("The coordinator dies before Prepare…, after it, after Complete…", "1", ("03:decided", "08:points")),
    Item("Many coordinators against one transaction manager", "1", ("14:many-run",)),
    Item("PostgreSQL's row versions, two-phase commit, ZooKeeper", "1 4",
         ("14:decider-rows", "14:undo-mvcc", "14:undo-zab")),
    Item("Only from Kafka to Kafka", "1 4", ("11:order",)),
    Item("Parameters: copies, `min.isr`, 50 partitions, 15 minutes, 7 days", "1 2 3 4 5",
         ("02:alone", "02:hash", "07:limit", "07:idle")),
    Item("`transaction.state.log.segment.bytes`", "4", ("07:cost-log",)),
    Item("Inside the client: states, sets of partitions, a queue of requests", "5", ("93:client-run",)),
    Item("Inside the brokers: a record for each name, its next state, pending offsets", "5",
         ("93:broker", "93:broker-offsets")),
)  # fmt: skip
"""In the order in which the texts come to them."""


@dataclass(frozen=True, slots=True)
class ItemCell:
    """A cell that shows an item: its notebook, the cell, and the heading before it."""

    notebook: str
    cell: Cell
    heading: str

    @property
    def link(self) -> str:
        """The heading with its lab's number, as a link of a page in docs/."""
        place = f"../{LABS}/{self.notebook}.ipynb#{anchor_in_notebook(self.heading)}"
        return f"[{self.notebook[:2]} {self.heading}]({place})"


def page(root: Path) -> str:
    """Return docs/sources.md. ValueError for an item whose cell is in no notebook."""
    known = cells(root)
    lines = [
        "# From the course's source texts to the cells that show them",
        "",
        f"Five texts stand at the beginning of this course: {'; '.join(f'({n}) {t}' for n, t in enumerate(TEXTS, 1))}. "
        f"They describe {len(ITEMS)} things. Each has a cell that runs it, and "
        f"[lab 93](../{LABS}/93_old_articles.ipynb) says what is no longer true. Written by `kafkalab build-labs`.",
        "",
        "| | the texts describe | text | shown in |",
        "|--:|:--|:--|:--|",
    ]
    for number, item in enumerate(ITEMS, 1):
        links = dict.fromkeys(_link_to(place, known) for place in item.shown)
        lines.append(f"| {number} | {item.says} | {', '.join(item.texts.split())} | {'<br>'.join(links)} |")
    return land_text("\n".join([*lines, ""]), landings_in(root))


def cells(root: Path) -> dict[str, ItemCell]:
    """Return every cell of the solutions under "lab:cell", such as "03:walk"."""
    return {
        f"{path.stem[:2]}:{cell['id']}": ItemCell(path.stem, cell, heading)
        for path in sources(root)
        for cell, heading in follow_headings(read(path)["cells"], path.stem)
    }


def _link_to(place: str, known: dict[str, ItemCell]) -> str:
    if place not in known:
        raise ValueError(f"no notebook has the cell {place}")
    return known[place].link
