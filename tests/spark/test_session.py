"""One place for Spark's settings: a Java is found or explained, wrong settings are refused, one session is shared."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kafkalab.spark.session.java import HOW_TO_GET_ONE, JavaMissingError, java_home, version_of
from kafkalab.spark.session.session import LOCAL, megabytes, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_that_says(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize(("said", "major"), [("17.0.15", 17), ("1.8.0_412", 8), ("21", 21)])
def test_a_java_is_asked_for_its_version(tmp_path: Path, said: str, major: int) -> None:
    assert version_of(java_that_says(tmp_path / "jdk", said)) == major


def test_a_folder_without_java_has_version_0(tmp_path: Path) -> None:
    assert version_of(tmp_path) == 0


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setattr("kafkalab.spark.session.java._fetch", lambda: None)


@pytest.mark.usefixtures("nowhere")
def test_without_java_one_line_says_how_to_get_it() -> None:
    with pytest.raises(JavaMissingError, match=r"PySpark needs Java 17 or newer.*conda install") as caught:
        java_home()
    assert "\n" not in str(caught.value)
    assert str(caught.value) == HOW_TO_GET_ONE


@pytest.mark.usefixtures("nowhere")
def test_a_java_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path / "old", "11.0.2")))
    with pytest.raises(JavaMissingError, match="Found but too old: Java 11 in "):
        java_home()


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = java_that_says(tmp_path / "mine", "21")
    monkeypatch.setenv("JAVA_HOME", str(mine))
    assert java_home() == mine


@pytest.mark.parametrize("memory", ["lots", "100m", "0g", "", "1.5g"])
def test_a_wrong_memory_is_refused(memory: str) -> None:
    with pytest.raises(ValueError, match='memory is like "768m"'):
        spark_session(memory=memory)


def test_a_setting_with_a_wrong_name_is_refused() -> None:
    with pytest.raises(ValueError, match="settings are named like spark_sql_shuffle_partitions"):
        spark_session(shuffle_partitions="8")


def test_gigabytes_are_megabytes() -> None:
    assert (megabytes("2g"), megabytes("768m")) == (2048, 768)


@pytest.mark.spark
def test_the_session_is_small_quiet_and_shared(spark: SparkSession) -> None:
    assert spark.conf.get("spark.driver.memory") == "768m"
    assert spark.conf.get("spark.ui.enabled") == "false"
    assert spark.conf.get("spark.sql.execution.arrow.pyspark.enabled") == "true"
    assert spark.sparkContext.master == LOCAL == "local[2,2]"
    assert spark_session(memory="2g") is spark
    assert spark.range(1000).selectExpr("sum(id)").first() == (499500,)


@pytest.mark.spark
def test_workers_run_this_python(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == os.environ["PYSPARK_PYTHON"] == sys.executable


def test_a_downloader_may_bring_a_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = java_that_says(tmp_path / "brought", "17.0.15")
    asked: list[dict[str, str]] = []

    def java_home_of(**options: str) -> str:
        asked.append(options)
        return str(brought)

    monkeypatch.setitem(sys.modules, "cjdk", SimpleNamespace(java_home=java_home_of))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert java_home() == brought
    assert asked == [{"vendor": "temurin", "version": "17"}]


def test_without_a_network_the_downloader_says_why_and_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def java_home_of_cjdk(**options: str) -> str:
        raise RuntimeError("no route to host\nand more")

    monkeypatch.setitem(sys.modules, "cjdk", SimpleNamespace(java_home=java_home_of_cjdk))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    with pytest.raises(JavaMissingError, match="PySpark needs Java 17 or newer"):
        java_home()
    assert capsys.readouterr().err.splitlines()[-1] == "cjdk could not get it: no route to host"


@pytest.mark.spark
def test_a_session_that_runs_elsewhere_is_not_taken_for_the_one_asked_for(spark: SparkSession) -> None:
    assert spark_session(master="local[2]") is spark
    with pytest.raises(ValueError, match=r"a session runs on local\S* already: stop it"):
        spark_session(master="spark://localhost:7077")


@pytest.mark.spark
def test_a_mistake_shows_no_line_of_java(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    from pyspark.errors import PySparkException

    for mistake in (
        lambda: spark.range(3).select("x"),
        lambda: spark.sql("select 1/0").collect(),
        lambda: spark.read.parquet("/nowhere").count(),
        lambda: spark.range(3).mapInArrow(no_rows, "id long").count(),
    ):
        with pytest.raises(PySparkException) as caught:
            mistake()
        assert "\tat " not in str(caught.value)
        assert "JVM stacktrace" not in str(caught.value)
    shown = capfd.readouterr()
    assert "\\tat " not in shown.err + shown.out
    assert "\tat " not in shown.err + shown.out


def no_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise ValueError("nothing comes of nothing")
    yield from batches
