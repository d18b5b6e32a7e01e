"""L7.E1: seven settings, five inequalities: which are violated? Each is found by a run in which it alone matters."""

from __future__ import annotations

from functools import partial
from random import Random

from kafkalab.course.lab07.scenario import cut_off, find_first_error, shelf, told_at
from kafkalab.grading.exercise import Exercise
from kafkalab.grading.mutants import Case, Counterexample, Mutant, against_mutants, hints_of
from kafkalab.grading.seeds import random_for, seed
from kafkalab.programs.counting import COUNTER
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.sim.scenario import Scenario

FORM = 'a function violated(settings) that returns a list of letters in the order of the alphabet, like ["B", "D"]'
CASES = 14
APART_MS = 30_000
"""Work and limits differ by more than the coordinator's ten seconds between two looks."""
LATE_MS = 3_000_000

Settings = dict[str, int]


def settings_of(random: Random) -> Settings:
    """Seven settings of one deployment; in some a sum or a limit is met exactly."""
    while True:
        linger, request = random.choice((0, 5_000, 20_000)), random.choice((30_000, 60_000))
        timeout = random.choice((60_000, 300_000, 900_000, 1_000_000))
        found = {
            "linger_ms": linger,
            "request_timeout_ms": request,
            "delivery_timeout_ms": random.choice((request + linger, request, 120_000, 240_000, 500_000)),
            "transaction_timeout_ms": timeout,
            "transaction_max_timeout_ms": random.choice((timeout, 900_000, 300_000, 1_800_000)),
            "max_poll_interval_ms": random.choice((60_000, 300_000, 600_000)),
            "work_ms": random.choice((20_000, 100_000, 200_000, 400_000, 700_000)),
        }
        work, delivery = found["work_ms"], found["delivery_timeout_ms"]
        gaps = (work - timeout, work - found["max_poll_interval_ms"], delivery - timeout)
        if min(map(abs, gaps)) >= APART_MS:
            return found


def cases(of_seed: int) -> tuple[Case, ...]:
    """The arguments of the learner's function: at least one for each mutant, on which it is wrong."""
    random = random_for("L7.E1", of_seed)
    found = [(settings_of(random),) for _ in range(CASES - len(MUTANTS))]
    for mutant in MUTANTS:
        settings = settings_of(random)
        while mutant.function(settings) == judge(settings):
            settings = settings_of(random)
        found.append((settings,))
    return tuple(found)


# the truth: a run for each letter, in which all other settings are out of the way


def alone(letter: str, s: Settings) -> Scenario:
    """The run in which only this inequality decides."""
    match letter:
        case "A":
            return shelf(
                title="The client reads its settings", work_ms=1_000, linger_ms=s["linger_ms"],
                request_timeout_ms=s["request_timeout_ms"], delivery_timeout_ms=s["delivery_timeout_ms"],
            )  # fmt: skip
        case "B":
            config = {"transaction_max_timeout_ms": s["transaction_max_timeout_ms"]}
            timeout = s["transaction_timeout_ms"]
            return shelf(
                title="The broker reads the timeout", work_ms=1_000, config=config, transaction_timeout_ms=timeout
            )
        case "C":
            return shelf(
                title="The next poll", reads=True, work_ms=s["work_ms"], transaction_timeout_ms=2_000_000,
                max_poll_interval_ms=s["max_poll_interval_ms"], config={"transaction_max_timeout_ms": LATE_MS},
            )  # fmt: skip
        case "D":
            return shelf(
                title="The commit", work_ms=s["work_ms"], transaction_timeout_ms=s["transaction_timeout_ms"],
                config={"transaction_max_timeout_ms": LATE_MS},
            )  # fmt: skip
        case _:
            return shelf(
                *cut_off(1_500, LATE_MS), title="No broker can be reached", work_ms=1_000, request_timeout_ms=10_000,
                delivery_timeout_ms=s["delivery_timeout_ms"], transaction_timeout_ms=s["transaction_timeout_ms"],
                config={"transaction_max_timeout_ms": LATE_MS},
            )  # fmt: skip


def is_broken(letter: str, cluster: Cluster) -> bool:
    """Return True if the run ended otherwise than the settings meant; for E, if the client was not the first to act."""
    if letter != "E":
        return bool(cluster.results["counter"] != ["committed"])
    aborts = [e.at_ms for e in cluster.trace.of("state", "transaction") if _is_abort(e.data)]
    return bool(aborts) and aborts[0] < find_first_error(cluster).at_ms


def _is_abort(data: dict[str, object]) -> bool:
    return (data["transactional_id"], data["state"]) == (COUNTER, "PrepareAbort")


def truth(settings: Settings) -> list[str]:
    """The letters whose run goes wrong."""
    return [letter for letter in "ABCDE" if is_broken(letter, ran(alone(letter, settings)))]


def judge(
    s: Settings,
    *,
    linger: bool = True,
    at_most: bool = True,
    maximum: bool = True,
    poll: str = "max_poll_interval_ms",
    work: str = "transaction_timeout_ms",
    race: bool = True,
) -> list[str]:
    """By arithmetic, with some rules switched; with none it is what the runs say."""
    delivery, timeout, limit = s["delivery_timeout_ms"], s["transaction_timeout_ms"], s["transaction_max_timeout_ms"]
    least = s["request_timeout_ms"] + (s["linger_ms"] if linger else 0)
    said = {
        "A": least > delivery or (not at_most and least == delivery),
        "B": maximum and (timeout > limit or (not at_most and timeout == limit)),
        "C": bool(poll) and s["work_ms"] > s[poll],
        "D": s["work_ms"] > s[work],
        "E": race and delivery > timeout,
    }
    return [letter for letter, wrong in said.items() if wrong]


MUTANTS = (
    Mutant(
        "equal is too much", "a sum or a timeout that meets its limit exactly broke it", partial(judge, at_most=False),
        hint="Both limits say *at most*. Which operator is that?",
    ),
    Mutant(
        "linger costs nothing", "a record did not wait linger_ms before its first request",
        partial(judge, linger=False), hint=1,
    ),
    Mutant(
        "no maximum", "a broker took any transaction timeout", partial(judge, maximum=False),
        hint="One of the seven is a broker's setting. What does the broker compare with it?",
    ),
    Mutant(
        "poll is the transaction's", "a group watched the transaction, and not the calls of poll()",
        partial(judge, poll="transaction_timeout_ms"),
        hint="The group knows nothing of transactions. Which setting limits the time between two polls?",
    ),
    Mutant(
        "delivery is the work's", "delivery.timeout.ms limited the work; it limits one record on its way",
        partial(judge, work="delivery_timeout_ms"),
        hint="Who watches how long a transaction is open, and by which setting?",
    ),
    Mutant(
        "no race", "the client could not be slower than the coordinator", partial(judge, race=False),
        hint="The broker is away. The client gives a record up after delivery_timeout_ms; what has the coordinator "
        "done by then?",
    ),
    Mutant(
        "poll is free", "the work could be as long as one likes between two polls", partial(judge, poll=""), hint=0,
    ),
)  # fmt: skip


def _run_of(settings: Settings) -> Counterexample:
    """The run of the first letter that is violated, else the commit's, where its counter is told how it ended."""
    letter = next(iter(truth(settings)), "D")
    cluster = ran(alone(letter, settings))
    return {"run": cluster, "step": told_at(cluster)}


EXERCISE = Exercise(
    "L7.E1",
    lambda answer: against_mutants(answer, truth, MUTANTS, cases(seed()), FORM, _run_of),
    (
        "Write one comparison for each letter of the table. Each compares two settings; one of them is a sum.",
        "A record waits linger_ms, and then one request may take request_timeout_ms: both together must fit into "
        "delivery_timeout_ms. Compare the work with two limits: the group's and the coordinator's.",
        "A: linger + request > delivery. B: transaction timeout > broker's maximum. C: work > max poll interval. "
        "D: work > transaction timeout. E: delivery > transaction timeout. Return the letters that are true.",
    ),
    points=7,
    questions=(16,),
    question=lambda of_seed: cases(of_seed)[:2],
    misses=hints_of(MUTANTS),
    afterwards=(
        "Why: each limit belongs to another process. The client refuses A and the broker refuses B. No process checks "
        "C, D and E before they strike. Next: what to do when one has struck."
    ),
)
