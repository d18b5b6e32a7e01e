"""The scenarios of lab 4."""

from __future__ import annotations

from typing import Any

from kafkalab.faults.fault import Fault
from kafkalab.faults.storage import Compact, DeleteSegment, Roll
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import register_scenario, variant

ORDERS, PRICES = "orders", "prices"
TABLES = (("tea", "bun"), ("cake",), ("soup",))
LEAVES = "cake"
"""The orders of the table that leaves without paying."""


def _till(transactions: bool) -> list[list[Any]]:
    """The till's calls: one transaction for each table, and one second before the last; or each order at once."""
    steps: list[list[Any]] = [["init_transactions"]] if transactions else []
    for number, orders in enumerate(TABLES):
        sent: list[list[Any]] = [["send", ORDERS, order, None, 0] for order in orders]
        end = ["abort_transaction"] if LEAVES in orders else ["commit_transaction"]
        pause = [["sleep", 1_000]] if number == len(TABLES) - 1 else []
        begun, ended = ([["begin_transaction"]], [end]) if transactions else ([], [])
        steps += [*pause, *begun, *sent, ["flush"], *ended]
    return steps


@register_scenario
def lab04(transactions: bool = True, seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """Three tables order, and the second one leaves; a bookkeeper reads after the second table and after the third."""
    look = [["poll", 500], ["commit_sync"]]
    steps = [["sleep", 500], ["assign", [f"{ORDERS}-0"]], *look, ["sleep", 1_500], *look]
    till = {"steps": _till(transactions), "transactional_id": "till-0" if transactions else None}
    return Scenario(
        title="Markers, offsets and lag",
        profile=profile,
        seed=seed,
        topics={ORDERS: 1},
        programs=(
            Program("till", "operations", till),
            Program("books", "consumer_operations", {"steps": steps, "group_id": "books"}),
        ),
    )


variant("lab04-", lab04, transactions=False)


@register_scenario
def price_list(cleaned: str = "", seed: int = 1, profile: str = "4.x/TV2") -> Scenario:
    """Two prices change in one transaction, later one of them again; then the log is `cleaned`.

    "compacted" keeps the newest price of each key; "deleted" drops the first segment, which ends between the two.
    """
    tea: list[list[Any]] = [["send", PRICES, "2.00", "tea", 0], ["flush"], ["sleep", 200]]
    again: list[list[Any]] = [["send", PRICES, "2.50", "tea", 0], ["flush"]]
    steps: list[list[Any]] = [["init_transactions"]]
    for sent in ([*tea, ["send", PRICES, "1.00", "bun", 0], ["flush"]], again):
        steps += [["begin_transaction"], *sent, ["commit_transaction"], ["sleep", 100]]
    faults: dict[str, tuple[Fault, ...]] = {
        "": (),
        "compacted": (Compact(f"{PRICES}-0", at_ms=2_000),),
        "deleted": (Roll(f"{PRICES}-0", at_ms=150), DeleteSegment(f"{PRICES}-0", at_ms=2_000)),
    }
    if cleaned not in faults:
        raise ValueError(f'cleaned is "", "compacted" or "deleted", not {cleaned!r}')
    return Scenario(
        title="A price list",
        profile=profile,
        seed=seed,
        topics={PRICES: 1},
        programs=(Program("office", "operations", {"transactional_id": "office-0", "steps": steps}),),
        faults=faults[cleaned],
    )


for one in ("compacted", "deleted"):
    variant(f"price_list-{one}", price_list, cleaned=one)
