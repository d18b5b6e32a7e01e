"""kafka_fields.txt is written from Kafka's definitions: what `python -m tests.protocol.kafka_fields` prints."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.protocol.kafka_fields import main

REQUEST = """// A comment.
{"apiKey": 35, "type": "request", "name": "DescribeLogDirsRequest", "validVersions": "1-5", "fields": [
  // Another.
  {"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [
    {"name": "Topic", "type": "string", "versions": "0+"}]}
]}"""
RESPONSE = {
    "apiKey": 35, "type": "response", "name": "DescribeLogDirsResponse", "validVersions": "1-5",
    "fields": [
        {"name": "ErrorCode", "type": "int16", "versions": "3+"},
        {"name": "Dirs", "type": "[]Dir", "versions": "0-2"},
    ],
    "commonStructs": [{"name": "Dir", "fields": [{"name": "Path", "type": "string", "versions": "0+"}]}],
}  # fmt: skip
LINES = """DescribeLogDirs Request 1-5
    Topics 0+
    Topics.Topic 0+
DescribeLogDirs Response 1-5
    ErrorCode 3+
    Dirs 0-2
    Dirs.Path 0+"""


@pytest.fixture
def jar(tmp_path: Path) -> str:
    with ZipFile(tmp_path / "kafka-clients.jar", "w") as made:
        made.writestr("common/message/DescribeLogDirsRequest.json", REQUEST)
        made.writestr("common/message/DescribeLogDirsResponse.json", json.dumps(RESPONSE))
    return str(tmp_path / "kafka-clients.jar")


def test_each_field_has_its_path_and_its_versions_rows_inside_too(jar: str) -> None:
    assert main(["DescribeLogDirs", jar]) == LINES


def test_what_is_not_there_is_said_in_one_line(jar: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has no API EndTxns; there are DescribeLogDirs"):
        main(["EndTxns", jar])
    with pytest.raises(SystemExit, match="No such file"):
        main(["EndTxn", str(tmp_path / "none.jar")])
    with pytest.raises(SystemExit, match="usage: "):
        main([])
