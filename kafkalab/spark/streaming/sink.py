"""The sink of a stream's findings: a file for each micro-batch, named by its number, so that a batch counts once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkalab.checks.check import Finding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FindingsFolder:
    """Findings as JSON lines, PATH/batches/00000007.jsonl for micro-batch 7, beside the stream's checkpoint.

    A batch that is run again, since the process died before Spark noted that it was done, replaces its own file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self.batches = self.path / "batches"
        self.checkpoint = self.path / "checkpoint"

    def put(self, frame: DataFrame, batch_id: int) -> None:
        """The batch's file holds these findings, and nothing else; it is there whole or not at all.

        A batch without findings has no file, so a stream of weeks leaves as many as there is to tell.
        """
        rows = sorted(json.dumps(row.asDict(), ensure_ascii=False) for row in frame.collect())
        self.batches.mkdir(parents=True, exist_ok=True)
        if not rows:
            (self.batches / f"{batch_id:08}.jsonl").unlink(missing_ok=True)
            return
        part = self.batches / f".{batch_id:08}.part"
        with part.open("w", encoding="utf-8") as file:
            file.writelines(f"{row}\n" for row in rows)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.batches / f"{batch_id:08}.jsonl")

    def files(self) -> list[Path]:
        """The batches that found something, in order."""
        return sorted(self.batches.glob("*.jsonl"))

    def in_file(self, file: Path) -> Iterator[tuple[int, Finding]]:
        """Run and finding of everything in one batch."""
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield int(row.pop("run")), finding(row)

    def read_findings(self) -> list[tuple[int, Finding]]:
        """Run and finding of everything so far, batch by batch."""
        return [found for file in self.files() for found in self.in_file(file)]


def finding(row: dict[str, Any]) -> Finding:
    """A finding from the columns of one."""
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Finding(**given)
