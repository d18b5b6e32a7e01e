"""A plugin of pytest, found by itself where kafkalab is installed: nbval treats the labs as a grader wants it to.

In a learner's copy a check that fails does not keep "Run All" from going on, and figures are shown though nothing was
run. nbval takes the one for an error that is meant, and the other for a mistake. And a kernel keeps progress beside the
notebook, and says how far a slow check has come, which no saved output has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable


def pytest_collection_modifyitems(items: Iterable[object]) -> None:
    """Let a check pass only if it raises nothing, compare no figures of a cell that was not run, and keep no progress.
    """
    from kafkalab.grading.progress import OFF, VARIABLE  # later: pytest loads this plugin for every project

    for item in items:
        cell, options = getattr(item, "cell", None), getattr(item, "options", None)
        if cell is None or not isinstance(options, dict):
            continue
        os.environ.setdefault(VARIABLE, OFF)  # the kernels, which start later, inherit it
        if cell.metadata.get("nbgrader", {}).get("grade"):
            options["check_exception"] = False
        if cell.get("execution_count") is None:
            cell["outputs"] = []
