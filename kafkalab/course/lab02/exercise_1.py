"""L2.E1: the configuration of a cluster of one broker; which lines break it, and what? Each line is tried in a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from kafkalab.grading.exercise import Exercise, Line
from kafkalab.grading.reviews import Reviewed, judge_review, read_lines, read_word
from kafkalab.grading.seeds import LEARNER_SEED, random_for, seed
from kafkalab.programs.first_evening import NO_PRODUCER, NO_START, READS, READS_NOTHING, WRITES
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Program, Scenario

READS_ABORTED, FINE = "reads aborted", ""
WORDS = (NO_PRODUCER, NO_START, READS_NOTHING, READS_ABORTED)
FORM = f'a dict with the faulty lines only, like {{"acks": "{NO_PRODUCER}"}}; the words are {", ".join(WORDS)}'
BROKER, PRODUCER, CONSUMER = "docker-compose.yml", "producer.properties", "consumer.properties"
PREFIX = "KAFKA_"
WAIT_MS = 2_000
"""The time after which the orders are written, one aborted and one committed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A line: its file, its name, values with which all is well, values that may break it, and where to look."""

    file: str
    name: str
    fine: tuple[str, ...]
    faulty: tuple[str, ...]
    look: str
    miss: str = ""

    @property
    def printed(self) -> str:
        """Its name as the file has it."""
        return PREFIX + self.name.upper().replace(".", "_") if self.file == BROKER else self.name

    @property
    def key(self) -> str:
        """Its name in a scenario or a program."""
        return self.name.replace(".", "_")


SETTINGS = (
    Setting(BROKER, "transaction.state.log.replication.factor", ("1",), ("3", "2"),
            "How many brokers are there to hold the replicas?", "one broker holds one replica"),
    Setting(BROKER, "transaction.state.log.min.isr", ("1", "2"), (),
            "This is Kafka 4.3, and the topic has one replica."),
    Setting(BROKER, "transaction.max.timeout.ms", ("900000", "60000"), ("30000",),
            "Compare it with the timeout that the producer asks for.", "two files must agree"),
    Setting(PRODUCER, "transaction.timeout.ms", ("60000",), ("1200000",),
            "Compare it with the longest timeout that the broker grants.", "two files must agree"),
    Setting(PRODUCER, "enable.idempotence", ("true",), ("false",),
            "Can there be a transaction without producer id and sequence?", "a transaction needs idempotence"),
    Setting(PRODUCER, "acks", ("all", "-1"), ("1", "0"),
            "Which acks does a transactional producer need?", "a transaction needs idempotence"),
    Setting(PRODUCER, "retries", ("2147483647", "3"), ("0",),
            "Is a producer without retries idempotent?", "a transaction needs idempotence"),
    Setting(PRODUCER, "max.in.flight.requests.per.connection", ("5", "1"), ("6", "10"),
            "How many batches of a producer does a leader remember?", "a transaction needs idempotence"),
    Setting(PRODUCER, "delivery.timeout.ms", ("120000", "60000"), ("20000",),
            "Is there time for one request? request.timeout.ms is 30000."),
    Setting(CONSUMER, "isolation.level", ("read_committed",), ("read_uncommitted",),
            "The shop has aborted one of its orders.", "readers must ask for committed"),
    Setting(CONSUMER, "auto.offset.reset", ("earliest",), ("latest",),
            "The orders are there before the program starts, and its group is new."),
)  # fmt: skip
"""In the order of the files."""

MAKERS, STARTERS, READERS = ("enable", "acks", "retries", "max.in", "delivery"), ("transaction.",), ("isol", "auto.")
DRAWN = ((MAKERS, 2), (STARTERS, 2), (READERS, 2))
"""The number of faulty lines that are drawn of each kind."""


def draw_faulty(of_seed: int = LEARNER_SEED) -> list[str]:
    """Return the names of lines that are to be faulty."""
    random = random_for("which lines of L2.E1", of_seed)
    kinds = [([s.name for s in SETTINGS if s.faulty and s.name.startswith(kind)], count) for kind, count in DRAWN]
    return [name for names, count in kinds for name in random.sample(names, count)]


@cache
def values(of_seed: int) -> dict[str, str]:
    """Return the value of each line of this seed's files: the same lines are faulty in all, with other values."""
    random, wrong = random_for("L2.E1", of_seed), draw_faulty()
    return {s.name: random.choice(s.faulty if s.name in wrong else s.fine) for s in SETTINGS}


def show_files(of_seed: int) -> Line:
    """Return the text of the files."""
    drawn = values(of_seed)
    lines = [f"# {BROKER}", "services:", "  broker:", "    image: apache/kafka:4.3.1", "    environment:"]
    lines += [f"      {s.printed}: {drawn[s.name]}" for s in SETTINGS if s.file == BROKER]
    for file in (PRODUCER, CONSUMER):
        lines += ["", f"# {file}", *(f"{s.printed}={drawn[s.name]}" for s in SETTINGS if s.file == file)]
        lines += ["transactional.id=packer-0"] if file == PRODUCER else ["group.id=packers"]
    return Line("\n".join(lines))


def scenario(of_seed: int, setting: Setting) -> Scenario:
    """Return the cluster and its programs with these files, in which each other faulty line is repaired."""
    drawn = values(of_seed)
    given = {s: drawn[s.name] if s == setting or drawn[s.name] in s.fine else s.fine[0] for s in SETTINGS}
    of = {
        file: {s.key: _read(value) for s, value in given.items() if s.file == file}
        for file in (BROKER, PRODUCER, CONSUMER)
    }
    orders: list[list[Any]] = [["init_transactions"]]
    for value, end in (("order 1", "abort_transaction"), ("order 2", "commit_transaction")):
        orders += [["begin_transaction"], ["send", READS, value, None, 0], ["flush"], [end]]
    settings = {
        "producer_settings": {"transactional_id": "packer-0", **of[PRODUCER]},
        "consumer_settings": of[CONSUMER],
        "wait_ms": WAIT_MS,
    }
    return Scenario(
        title="One broker, and a new cluster",
        seed=of_seed,
        brokers=1,
        fresh=True,
        config=of[BROKER],
        topics={READS: 1, WRITES: 1},
        programs=(
            Program("shop", "operations", {"transactional_id": "shop-0", "steps": orders}),
            Program("app", "first_evening", settings),
        ),
    )


def _read(value: str) -> Any:
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.lstrip("-").isdecimal() and value != "-1" else value


@cache
def run(of_seed: int, setting: Setting) -> Cluster:
    """Return the run of `scenario`, to its end."""
    return ran(scenario(of_seed, setting))


def find_broken(of_seed: int, setting: Setting) -> str:
    """Return what breaks in the run with this line, or "" if nothing does."""
    result = run(of_seed, setting).results["app"]
    if isinstance(result, str):
        return result
    return READS_ABORTED if "order 1" in result else FINE


def check(answer: object) -> str:
    """ "11 of 11 lines" if each line that breaks something is named with that; WrongAnswer opens the run of a line."""
    names = [setting.name for setting in SETTINGS]
    given = {name: read_word(word, WORDS, name, FORM) for name, word in read_lines(answer, names, FORM, _name).items()}
    said = [{given[name]} if name in given else set() for name in names]
    return judge_review([_review(setting) for setting in SETTINGS], said, "line")


def _name(printed: str) -> str:
    """Return the name of a line that is written as in either file."""
    return printed.strip().removeprefix(PREFIX).lower().replace("_", ".")


def _review(setting: Setting) -> Reviewed:
    broken, run = find_broken(seed(), setting), scenario(seed(), setting)
    miss = setting.miss if broken else "strange is not wrong"
    return Reviewed(
        shown=setting.printed,
        breaks={broken: run} if broken else {},
        run=run,
        miss=lambda said, word: miss,
        look=f"Every other faulty line is repaired there. {setting.look}",
    )


EXERCISE = Exercise(
    "L2.E1",
    check,
    (
        "Go through the program: it makes a producer, calls initTransactions, reads, and writes. Which lines does each "
        "of these calls depend on?",
        "A transactional producer must be idempotent: lab 1 has the settings that exclude each other. "
        "initTransactions needs a topic that can be created, and a timeout that the broker grants.",
        "A line that differs from its default need not be wrong. If the topic has one replica, min.isr=2 asks for one "
        "copy. Fewer retries, or one request in flight, break nothing.",
    ),
    points=7,
    questions=(18,),
    misses={
        "one broker holds one replica": "A topic cannot have more replicas than there are brokers. When is "
        "`__transaction_state` created, and who waits for it?",
        "two files must agree": "The producer sends its transaction timeout with InitProducerId. What does the "
        "coordinator compare it with?",
        "a transaction needs idempotence": 1,
        "readers must ask for committed": "The default of a consumer is read_uncommitted. Which orders does it get?",
        "strange is not wrong": "In the run below nothing breaks. Is this value wrong, or only not the default?",
    },
    question=show_files,
    afterwards=(
        "Why: most of these mistakes stop the program at once, and one does not: with read_uncommitted the program "
        "works, and packs a cancelled order. Next: who sends what in a first transaction?"
    ),
)
