"""A streaming query that stops in the middle of micro-batches as a killed process does, and goes on in a new one.

No process is killed here, so that a check takes seconds: an error ends the query, files that a killed process would not
have written are removed, and the learner's function is made anew, with nothing that it has remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException

from kafkalab.course.lab16.feed import SCHEMA
from kafkalab.course.lab16.folders import make_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Write = Callable[[DataFrame, int, str], Any]

FILES = 3
"""The number of files that a plain write of a micro-batch makes."""


class StoppedError(Exception):
    """The process would be gone here."""


class Stopping:
    """The learner's function as a process runs it that stops at one place, or at none."""

    def __init__(self, write: Write, sink: Path, stop: tuple[int, str] | None) -> None:
        self.write, self.sink, self.stop = write, sink, stop
        self.stopped = False
        self.error: Exception | None = None

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write one micro-batch."""
        number, moment = self.stop or (-1, "")
        if number == batch_id and moment == "before":
            self._stop()
        there = set(_list_files(self.sink))
        try:
            self.write(frame.repartition(FILES), batch_id, str(self.sink))
        except Exception as error:
            self.error = error
            raise
        if number == batch_id:
            if moment == "half":
                _remove_half(sorted(set(_list_files(self.sink)) - there))
            self._stop()

    def _stop(self) -> None:
        self.stopped = True
        raise StoppedError("the process stops here")


def run_through(
    spark: SparkSession, write: Write, feed: Path, stops: Sequence[tuple[int, str]]
) -> DataFrame | None:
    """Run the stream, a new query from the checkpoint after each stop; return what lies in the sink, None if nothing.

    What the function raises is raised here.
    """
    sink, checkpoint = make_folder(), str(make_folder())
    spark.sparkContext.setLogLevel("OFF")  # of each stop Spark would log a page
    try:
        for stop in (*stops, None):
            process = Stopping(_copy(write), sink, stop)
            try:
                start_stream(spark, feed, checkpoint, process).awaitTermination()
            except StreamingQueryException:
                if not process.stopped:
                    raise process.error or RuntimeError("the query has ended") from None
    finally:
        spark.sparkContext.setLogLevel("ERROR")
    if others := [path.name for path in _list_data(_list_files(sink)) if path.suffix != ".parquet"]:
        raise ValueError(f"{others[0]} is no Parquet file")
    return read_sink(spark, sink) if _list_files(sink) else None


def start_stream(spark: SparkSession, feed: Path, checkpoint: str, write: Callable[[DataFrame, int], None]) -> Any:
    """Start a query that gives each file of the feed to `write` as one micro-batch, until there are no more."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(feed))
    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint)
    return writer.trigger(availableNow=True).start()


def read_sink(spark: SparkSession, sink: str | Path) -> DataFrame:
    """Return the rows of all Parquet files in the folder and below; folders such as `batch=7` name a column."""
    folders = [path for path in Path(sink).rglob("*") if path.is_dir() and not path.name.startswith("_")]
    plain = any("=" not in path.name for path in folders)
    return spark.read.schema(SCHEMA).option("recursiveFileLookup", str(plain)).parquet(str(sink))


def _copy(write: Write) -> Write:
    """Return the function as a new process has it; the same one where it cannot be copied."""
    try:
        found: Write = cloudpickle.loads(cloudpickle.dumps(write))  # type: ignore[no-untyped-call]
    except Exception:
        return write
    return found


def _list_files(sink: Path) -> list[Path]:
    return [path for path in sink.rglob("*") if path.is_file() and path.suffix != ".crc"]


def _remove_half(new: Sequence[Path]) -> None:
    """Keep the first half of the data files; a job's mark that it is done is written last."""
    data = _list_data(new)
    for path in [*data[len(data) // 2 :], *(path for path in new if path not in data)]:
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def _list_data(files: Sequence[Path]) -> list[Path]:
    """Return the files that Spark reads as data."""
    return [path for path in files if not path.name.startswith(("_", "."))]
