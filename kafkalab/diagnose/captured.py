"""Judge the records of a capture by the checks, without Spark: those that `kafkalab audit` asks, in memory."""

from __future__ import annotations

from pathlib import Path

from kafkalab.checks.all import CHECKS
from kafkalab.checks.check import FORBIDDEN, VIOLATED
from kafkalab.checks.from_a_log import needs
from kafkalab.checks.view import view_of
from kafkalab.diagnose.evidence import SavedRun
from kafkalab.limits import list_names

ROWS = 300_000
"""Rows that are read into memory: above that `kafkalab audit` reads them."""


def judge_capture(folder: Path, known: str) -> SavedRun | None:
    """Return what the checks find in a capture; None if pyarrow is missing or there are more than ROWS rows.

    `known` says what the capture has of the transaction log; a check that lacks something is not asked. ValueError for
    files that are damaged or missing.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from kafkalab.spark.storage.history_files import read_list
        from kafkalab.spark.storage.rows import history_from
        from kafkalab.spark.storage.schemas import TABLES, arrow_schema
    except ImportError:
        return None
    if not (folder / "history.json").is_file():
        return None
    _, files = read_list(folder)
    if sum(file.rows for file in files) > ROWS:
        return None
    try:
        read = {
            name: [pq.ParquetFile(folder / file.path).read() for file in files if file.path.startswith(f"{name}/")]
            for name in TABLES
        }
        tables = {
            name: pa.concat_tables(own) if own else arrow_schema(name).empty_table() for name, own in read.items()
        }
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"the capture in {folder} is damaged: {error}") from None
    lacking = needs(known)
    view = view_of(history_from(tables))
    results = [check(view) for check in CHECKS if check.name not in lacking or check.from_a_log]
    broken = [one.name for one in results if one.verdict == VIOLATED]
    found = tuple(
        (one.name, min(finding.steps, default=0), finding.text)
        for one in results
        for finding in one.findings
        if finding.policy == FORBIDDEN
    )
    said = f"of {len(results)} audits {len(broken) or 'none'} found something forbidden"
    sentence = f"The capture: {said}. A capture cannot answer {list_names(list(lacking))}."
    return SavedRun(folder.name, VIOLATED if broken else "unknown", sentence, f"kafkalab audit {folder}", found)
