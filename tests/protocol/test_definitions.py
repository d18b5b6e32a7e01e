"""The table of messages is what `python -m tests.protocol.definitions` writes."""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.protocol import definitions
from tests.protocol.definitions import INSIDE, TABLE, main

DELETE_GROUPS = """// A comment.
{"apiKey": 42, "type": "request", "name": "DeleteGroupsRequest", "validVersions": "0-3", "flexibleVersions": "2+",
 "listeners": ["broker"], "fields": [
  // Another.
  {"name": "GroupsNames", "type": "[]Name", "versions": "0+", "about": "The names."}
], "commonStructs": [{"name": "Name", "versions": "0+", "fields": [
  {"name": "Name", "type": "string", "taggedVersions": "3+", "tag": 0, "default": "", "ignorable": true}]}]}"""
FIELDS = [{"versions": "0+", "name": "GroupsNames", "type": "[]Name", "fields": [
    {"versions": "3+", "name": "Name", "type": "string", "taggedVersions": "3+", "tag": 0, "default": ""}
]}]  # fmt: skip


def jar(folder: Path, names: list[str]) -> str:
    """Return a jar with these messages; all but one are empty."""
    with ZipFile(folder / "kafka.jar", "w") as made:
        for name in names:
            side = "request" if name.endswith("Request") else "response"
            row = {"apiKey": 1, "type": side, "name": name, "validVersions": "0", "flexibleVersions": "0+"}
            text = json.dumps({**row, "fields": []}) if name != "DeleteGroupsRequest" else DELETE_GROUPS
            made.writestr(f"common/message/{name}.json", text)
    return str(folder / "kafka.jar")


def test_it_keeps_of_a_definition_what_bytes_depend_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = json.loads(TABLE.read_text(encoding="utf-8"))["messages"]
    monkeypatch.setattr(definitions, "TABLE", tmp_path / "made.json")
    main([jar(tmp_path, [*wanted, "UpdateFeaturesRequest"])])
    made = json.loads((tmp_path / "made.json").read_text(encoding="utf-8"))
    assert list(made["messages"]) == list(wanted)
    assert made["messages"]["DeleteGroupsRequest"]["fields"] == FIELDS
    assert made["apis"]["42"] == "DeleteGroups"


def test_what_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"the jars lack .*{INSIDE[0]}.*usage: "):
        main([jar(tmp_path, ["DeleteGroupsRequest"])])
    with pytest.raises(SystemExit, match="No such file"):
        main([str(tmp_path / "none.jar")])
    with pytest.raises(SystemExit, match="usage: "):
        main([])
