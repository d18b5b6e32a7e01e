"""Histories on disk come back as they were; every file that is wrong is refused with its name and the difference."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkalab.spark.storage.frames import Histories
from kafkalab.spark.storage.history_files import (
    BY_KEY,
    FEWEST_BUCKETS,
    INDEX,
    HistoryError,
    _keep_only,
    files_of,
    read_histories,
    write_histories,
)
from kafkalab.spark.storage.places import place_of
from kafkalab.spark.storage.schemas import TABLES, arrow_schema
from kafkalab.spark.synthetic.generator import synthetic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def histories(spark: SparkSession) -> Histories:
    return synthetic(spark, records=600, block=300, tasks=2)


@pytest.fixture(scope="module")
def written(histories: Histories, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histories") / "one"
    write_histories(histories, folder, buckets=3)
    return folder


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    shutil.copytree(written, tmp_path / "copy")
    return tmp_path / "copy"


def rows(frame: Any) -> Counter[str]:
    return Counter(map(str, frame.toArrow().to_pylist()))


def catch_refusal(folder: Path) -> str:
    """Return what is said of the folder, without its path."""
    with pytest.raises(HistoryError) as caught:
        files_of(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


def first(folder: Path, table: str) -> str:
    return next(file.path for file in files_of(folder) if file.table == table)


def test_every_table_comes_back_with_its_rows_and_its_schema(
    spark: SparkSession, histories: Histories, written: Path
) -> None:
    found = read_histories(spark, written)
    for name in TABLES:
        assert found.table(name).columns == histories.table(name).columns
        assert rows(found.table(name)) == rows(histories.table(name))


def test_a_table_put_in_the_place_of_another_is_what_is_written(
    spark: SparkSession, histories: Histories, tmp_path: Path
) -> None:
    few = histories.log.where("offset < 3")
    write_histories(replace(histories, log=few), tmp_path / "few")
    assert rows(read_histories(spark, tmp_path / "few").log) == rows(few)


def test_what_a_task_left_that_was_tried_again_goes(tmp_path: Path) -> None:
    names = ("log/bucket=0/part-00000.parquet", "log/bucket=1/part-00000.parquet", "log/bucket=1/_part-1.parquet-7.tmp")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    _keep_only(place_of(tmp_path), "log", {names[0]})
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*part*")] == [names[0]]


def test_the_list_says_how_many_rows_every_table_has(histories: Histories, written: Path) -> None:
    index = json.loads((written / INDEX).read_text())
    assert (index["format"], index["version"]) == ("kafkalab-histories", 4)
    assert index["rows"] == {name: histories.table(name).count() for name in TABLES}


@pytest.mark.parametrize("table", BY_KEY)
def test_all_rows_of_a_key_lie_in_one_bucket(written: Path, table: str) -> None:
    columns = ["key", "function", "client"] if table == "operations" else ["key"]
    keys: dict[int, set[str]] = {}
    for file in (file for file in files_of(written) if file.table == table):
        rows = pq.ParquetFile(written / file.path).read(columns).to_pylist()
        keys.setdefault(file.bucket, set()).update(map(_together, rows))
    assert set(keys) <= {0, 1, 2}
    assert len(keys) > 1
    assert sum(len(one) for one in keys.values()) == len(set().union(*keys.values()))


def _together(row: dict[str, str]) -> str:
    """Return what a row's bucket follows from: a send's key, or the client of another operation."""
    return row["key"] if row.get("function", "send") == "send" else row["client"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert catch_refusal(tmp_path / "nowhere") == f"there is no folder {tmp_path / 'nowhere'}"


def test_a_folder_without_the_list(copy: Path) -> None:
    (copy / INDEX).unlink()
    assert "has no history.json: it is no history, or writing it did not come to its end" in catch_refusal(copy)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:100], "history.json is damaged or cut off"),
        (lambda text: "[]", "history.json is not of a history that kafkalab wrote"),
        (lambda text: text.replace('"version": 4', '"version": 1'), "is of version 1; this kafkalab reads 2 to 4"),
        (lambda text: text.replace('"leaders": ', '"leaders": 1'), "says that leaders has 1"),
        (lambda text: text.replace('"files"', '"file"'), "history.json is damaged or cut off ('files')"),
    ],
)
def test_a_list_that_is_wrong(copy: Path, change: Callable[[str], str], said: str) -> None:
    index = copy / INDEX
    index.write_text(change(index.read_text()))
    assert said in catch_refusal(copy)


def test_a_file_that_is_missing(copy: Path) -> None:
    path = first(copy, "reads")
    (copy / path).unlink()
    assert catch_refusal(copy).startswith(f"{path} is missing: history.json lists it with ")


def test_a_file_that_is_cut_off(copy: Path) -> None:
    path = first(copy, "log")
    size = (copy / path).stat().st_size
    (copy / path).write_bytes((copy / path).read_bytes()[:-100])
    assert catch_refusal(copy) == f"{path} has {size - 100} bytes, not {size}: it is cut off or was changed"


def test_a_file_with_other_bytes(copy: Path) -> None:
    path = first(copy, "log")
    size = (copy / path).stat().st_size
    (copy / path).write_bytes(b"\0" * size)
    assert catch_refusal(copy).startswith(f"{path} is no Parquet file any more (")


def test_a_file_that_is_there_twice(copy: Path) -> None:
    path = first(copy, "polls")
    again = path.replace("part-", "part-9")
    shutil.copy(copy / path, copy / again)
    assert catch_refusal(copy) == f"{again} is there twice: it is a copy of {path}; remove it"


def test_a_file_of_another_history(copy: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), copy / "leaders" / "other.parquet")
    assert (
        catch_refusal(copy) == "leaders/other.parquet is not of this history: history.json does not list it; remove it"
    )


def change_file(folder: Path, table: str, rows: pa.Table, **options: Any) -> str:
    """Another table in the place of a file, with the list made to fit."""
    path = first(folder, table)
    index = json.loads((folder / INDEX).read_text())
    pq.write_table(rows, folder / path, **options)
    for file in index["files"]:
        if file["path"] == path:
            index["rows"][table] += rows.num_rows - file["rows"]
            file |= {"bytes": (folder / path).stat().st_size, "rows": rows.num_rows}
    (folder / INDEX).write_text(json.dumps(index))
    return path


def test_a_file_without_a_column(copy: Path) -> None:
    path = change_file(copy, "labels", pa.table({"run": [1], "name": ["x"]}))
    assert catch_refusal(copy) == f"{path} is not of the table labels: it has no column value"


def test_a_file_with_a_column_of_another_type(copy: Path) -> None:
    path = change_file(copy, "labels", pa.table({"run": ["1"], "name": ["x"], "value": ["y"]}))
    assert catch_refusal(copy) == f"{path} is not of the table labels: run is string, not int64"


def test_a_file_with_a_column_more(copy: Path) -> None:
    path = change_file(copy, "labels", pa.table({"run": [1], "name": ["x"], "value": ["y"], "z": [1]}))
    assert catch_refusal(copy) == f"{path} is not of the table labels: it has a column z"


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(("table", "column"), [("log", "offset"), ("log", "key"), ("transactions", "producer_id")])
def test_nulls_where_none_may_be(copy: Path, table: str, column: str, statistics: bool) -> None:
    """numpy made them the smallest integer, and the audits counted with it."""
    place = copy / first(copy, table)
    rows = pq.read_table(place, partitioning=None)
    at = rows.schema.get_field_index(column)
    cells = [None, *rows.column(column).to_pylist()[1:]]
    rows = rows.set_column(at, pa.field(column, rows.schema.field(column).type), [cells])
    path = change_file(copy, table, rows, write_statistics=statistics)
    assert (
        catch_refusal(copy) == f"{path} has nulls in the column {column}, which may have none: make the history again"
    )


def test_columns_that_may_have_nulls_have_some(copy: Path) -> None:
    path = copy / first(copy, "log")
    assert pq.read_table(path, partitioning=None).column("value").null_count > 0
    assert files_of(copy)


def test_nulls_are_refused_before_they_are_written_or_judged(histories: Histories, tmp_path: Path) -> None:
    frame = histories.log.selectExpr(*(f"nullif({n}, {n}) AS {n}" if n == "step" else n for n in histories.log.columns))
    with pytest.raises(Exception, match="null values to non-nullable"):
        write_histories(replace(histories, log=frame), tmp_path / "a")
    assert not (tmp_path / "a" / INDEX).exists()
    with pytest.raises(ValueError, match="the table log has nulls in the column step, which may have none"):
        replace(histories, log=frame).collect()


def test_a_file_with_other_rows_of_the_same_size_in_the_list(copy: Path) -> None:
    path = change_file(copy, "labels", arrow_schema("labels").empty_table())
    index = json.loads((copy / INDEX).read_text())
    for file in index["files"]:
        if file["path"] == path:
            file["rows"] = 5
            index["rows"]["labels"] += 5
    (copy / INDEX).write_text(json.dumps(index))
    assert catch_refusal(copy) == f"{path} has 0 rows, not 5: it was changed"


def test_reading_refuses_what_the_list_refuses(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="there is no folder"):
        read_histories(spark, tmp_path / "nowhere")


def test_an_empty_history_is_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    write_histories(Histories.of(spark, []), tmp_path / "empty")
    assert read_histories(spark, tmp_path / "empty").collect() == {}
    assert json.loads((tmp_path / "empty" / INDEX).read_text())["buckets"] == FEWEST_BUCKETS


def test_a_longer_history_has_more_buckets(
    histories: Histories, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkalab.spark.storage.history_files.RECORDS_OF_A_BUCKET", histories.records() // 11)
    write_histories(histories, tmp_path / "long")
    assert json.loads((tmp_path / "long" / INDEX).read_text())["buckets"] == 11


def test_a_folder_with_something_in_it_is_not_overwritten_unless_asked_for(histories: Histories, copy: Path) -> None:
    with pytest.raises(FileExistsError, match="is not empty: name another folder, or pass replace=True"):
        write_histories(histories, copy)
    (copy / INDEX).unlink()
    with pytest.raises(FileExistsError, match="no history: it is left alone"):
        write_histories(histories, copy, replace=True)


def test_replacing_leaves_nothing_of_what_was_there(spark: SparkSession, copy: Path) -> None:
    files = write_histories(Histories.of(spark, []), copy, replace=True)
    assert files_of(copy) == files
    assert sum(file.rows for file in files) == 0


def test_a_table_that_is_none_is_refused_before_it_is_written(histories: Histories, tmp_path: Path) -> None:
    refused = "^the DataFrame labels is not of the table labels: "
    with pytest.raises(HistoryError, match=f"{refused}it has no column value$"):
        write_histories(replace(histories, labels=histories.labels.drop("value")), tmp_path / "a")
    wrong = histories.labels.selectExpr("cast(run as int) as run", "name", "value")
    with pytest.raises(HistoryError, match=f"{refused}run is int32, not int64$"):
        write_histories(replace(histories, labels=wrong), tmp_path / "b")
    more = histories.labels.selectExpr("*", "1 as one")
    with pytest.raises(HistoryError, match=f"{refused}it has a column one$"):
        write_histories(replace(histories, labels=more), tmp_path / "c")


def test_a_folder_of_version_2_is_read_with_todays_names_of_frames(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    from kafkalab.course.lab03.scenario import lab03
    from kafkalab.history.export import history_of
    from kafkalab.sim.cluster import Cluster

    cluster = Cluster(lab03())
    cluster.run()
    made = Histories.of(spark, [(1, history_of(cluster))])
    older = {name: F.regexp_replace(name, "Response(?=#|$)", "Reply") for name in ("id", "name", "of", "copy_of")}
    kind = F.when(F.col("kind") == "response", "reply").otherwise("request")
    frames = made.frames.withColumns({"kind": kind, **older})
    write_histories(replace(made, frames=frames), tmp_path / "h")
    assert "EndTxnReply" in {row["name"] for row in read_histories(spark, tmp_path / "h").frames.collect()}
    index = tmp_path / "h" / INDEX
    index.write_text(index.read_text(encoding="utf-8").replace('"version": 4', '"version": 2'), encoding="utf-8")
    again = read_histories(spark, tmp_path / "h")
    assert rows(again.frames) == rows(made.frames)
    assert rows(again.log) == rows(made.log)


def test_a_folder_of_version_3_has_no_headers_and_its_effects_are_unknown(spark: SparkSession, tmp_path: Path) -> None:
    from kafkalab.course.lab03.scenario import lab03
    from kafkalab.history.export import history_of
    from kafkalab.sim.cluster import Cluster
    from kafkalab.spark.audits.audit import audit

    cluster = Cluster(lab03())
    cluster.run()
    write_histories(Histories.of(spark, [(1, history_of(cluster))]), tmp_path / "h")
    verdict = audit(read_histories(spark, tmp_path / "h"), "exactly-once", False, files=tmp_path / "h", way="key pass")
    index = json.loads((tmp_path / "h" / INDEX).read_text(encoding="utf-8"))
    index["version"] = 3
    for file in index["files"]:
        path = tmp_path / "h" / file["path"]
        table = pq.read_table(path, partitioning=None)
        if "headers" in table.column_names:
            pq.write_table(table.drop_columns(["headers"]), path)
            file["bytes"] = path.stat().st_size
    (tmp_path / "h" / INDEX).write_text(json.dumps(index), encoding="utf-8")
    older = read_histories(spark, tmp_path / "h")
    assert {tuple(row.headers) for row in older.log.collect()} == {()}
    again = audit(older, "exactly-once", False, files=tmp_path / "h", way="key pass")
    assert (verdict.verdicts["exactly-once"], again.verdicts["exactly-once"]) == ("ok", "unknown")


def test_a_label_names_inputs_from_which_no_output_was_made(spark: SparkSession, tmp_path: Path) -> None:
    """`kafka_lab.pipeline` declares them; without the label nothing is known of these inputs."""
    from kafkalab.checks.all import BY_NAME
    from kafkalab.checks.exactly_once import INPUT
    from kafkalab.history.builder import HistoryBuilder
    from kafkalab.history.schema import Label
    from kafkalab.spark.audits.audit import audit
    from tests.checks.test_exactly_once import inputs, process

    made = HistoryBuilder()
    inputs(made, "10", "25")
    process(made, "a", (0,), 2, pid=1, declared=False)
    without = made.history()
    named = replace(without, labels=(*without.labels, Label(name=INPUT, value="in")))
    expected, found = [], []
    for number, history in enumerate((without, named)):
        path = tmp_path / str(number)
        write_histories(Histories.of(spark, [(1, history)]), path)
        verdicts = audit(read_histories(spark, path), "exactly-once", False, files=path, way="key pass").verdicts
        found.append(verdicts["exactly-once"])
        expected.append(BY_NAME["exactly-once"](history).verdict)
    assert found == expected == ["unknown", "violated"]


def test_positions_outside_kafka_are_judged_alike_by_every_way(spark: SparkSession, tmp_path: Path) -> None:
    """A sink with checkpoints loses a record: violated by its position, unknown without it, and never ok."""
    from kafkalab.checks.all import BY_NAME
    from kafkalab.history.builder import HistoryBuilder
    from kafkalab.history.positions import with_positions
    from kafkalab.spark.audits.audit import audit
    from tests.checks.test_exactly_once import positions_elsewhere

    made = HistoryBuilder()
    positions_elsewhere(made)
    lost = made.history()
    given = (with_positions(lost, "in", {"in-0": 3}), with_positions(lost, "in", "unknown"), lost)
    for number, (history, expected) in enumerate(zip(given, ("violated", "unknown", "unknown"), strict=True)):
        path = tmp_path / str(number)
        write_histories(Histories.of(spark, [(1, history)]), path)
        found = {
            audit(read_histories(spark, path), "exactly-once", False, files=path, way=way).verdicts["exactly-once"]
            for way in ("checks", "key pass")
        }
        assert found == {BY_NAME["exactly-once"](history).verdict} == {expected}
