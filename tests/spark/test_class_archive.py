"""The archive of Spark's classes belongs to one Java, one Spark and one environment, and is read where there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalab.spark.session.class_archive import archive_of, archive_options
from kafkalab.spark.session.java import java_home


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    home = tmp_path / "java"
    home.mkdir()
    (home / "release").write_text('JAVA_VERSION="17.0.15"')
    return home


def test_another_java_has_another_archive(java: Path) -> None:
    before = archive_of(java)
    (java / "release").write_text('JAVA_VERSION="17.0.16"')
    assert archive_of(java) != before
    assert archive_of(java).parent == java.parent / "share" / "kafkalab"


def test_an_archive_is_read_where_there_is_one(java: Path) -> None:
    assert archive_options(java) == ""
    archive_of(java).parent.mkdir(parents=True)
    archive_of(java).touch()
    assert archive_options(java).endswith(f" -XX:SharedArchiveFile={archive_of(java)}")


def test_one_whose_path_java_cannot_be_given_is_left_alone(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(java / "with a space"))
    archive_of(java).parent.mkdir(parents=True)
    archive_of(java).touch()
    assert archive_options(java) == ""


@pytest.mark.spark
def test_the_session_reads_it(program: Callable[[str], str], request: pytest.FixtureRequest) -> None:
    program("java")
    archive = archive_of(java_home())
    if not archive.is_file():
        pytest.skip("no archive of classes: `python -m kafkalab.spark.session.keep_classes` makes one")
    request.getfixturevalue("spark")
    from pyspark import SparkContext

    maps = Path(f"/proc/{SparkContext._gateway.proc.pid}/maps")  # type: ignore[union-attr]
    if not maps.is_file():
        pytest.skip("this system does not tell which files a process has mapped")
    assert str(archive.resolve()) in maps.read_text()
