"""The tables that lab 16 shows, and the outline of a query's plan."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkalab.course.lab16 import balances, traffic
from kafkalab.course.lab16.folders import make_folder
from kafkalab.course.lab16.tasks import read_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEED = 7
"""The seed of what is shown; checks use others."""
OPERATOR = re.compile(r"^([\s:+\-*]*)(?:\(\d+\) )?(\w+)")
KEYS = re.compile(r"hashpartitioning\((.*?), \d+\)")
NUMBER = re.compile(r"#\d+L?")


def read_history(version: int) -> tuple[DataFrame, DataFrame]:
    """Return the tables log and sends of a few producers under this transaction version."""
    folder = str(_folder() / traffic.write_folder(_folder(), version, SEED))
    return read_table(folder, "log"), read_table(folder, "sends")


def read_balances() -> tuple[DataFrame, DataFrame]:
    """Return the tables updates, of four files, and owners; one account has nine tenths of the updates."""
    folder = str(_folder() / balances.write_folder(_folder(), SEED))
    return read_table(folder, "updates"), read_table(folder, "owners")


@cache
def _folder() -> Path:
    """Return the folder for what is shown; the one for checks is not a notebook's to write."""
    return make_folder()


def outline_plan(frame: DataFrame) -> str:
    """Return the operators that `explain()` prints, one a line, and of an Exchange the columns that it shuffles by."""
    query: Any = frame._jdf
    lines = []
    for line in query.queryExecution().executedPlan().toString().splitlines():
        if found := OPERATOR.match(line):
            keys = KEYS.search(line)
            lines.append(f"{found[0]} by {NUMBER.sub('', keys[1])}" if keys else found[0])
    return "\n".join(lines)
