"""What Maven cannot get is skipped, or missed where it is required."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.maven import jars_of


def test_without_maven_a_test_is_skipped_or_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("KAFKALAB_REQUIRE", "java,node")
    with pytest.raises(pytest.skip.Exception, match="needs java and Maven"):
        jars_of(tmp_path / "pom.xml", tmp_path, "a-*.jar")
    monkeypatch.setenv("KAFKALAB_REQUIRE", "java,index")
    with pytest.raises(pytest.fail.Exception, match="needs java and Maven"):
        jars_of(tmp_path / "pom.xml", tmp_path, "a-*.jar")
    (tmp_path / "a-1.jar").touch()
    assert jars_of(tmp_path / "pom.xml", tmp_path, "a-*.jar") == tmp_path


def test_maven_fills_the_folder_at_once_or_the_test_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, folder = tmp_path / "bin", tmp_path / "cache" / "jars"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("KAFKALAB_REQUIRE", "java,index")
    for name, words in {"java": "", "mvn": "echo no route; exit 1"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{words}\n")
        (programs / name).chmod(0o755)
    with pytest.raises(pytest.skip.Exception, match=r"could not get a-.*no route"):
        jars_of(tmp_path / "pom.xml", folder, "a-*.jar")
    assert not folder.exists()
    (programs / "mvn").write_text(
        '#!/bin/sh\nfor word; do out="${word#-DoutputDirectory=}"; done\n'
        f'mkdir "$out" && touch "$out/a-1.jar" && test ! -e {folder}\n'
    )
    assert jars_of(tmp_path / "pom.xml", folder, "a-*.jar") == folder
    assert [file.name for file in folder.iterdir()] == ["a-1.jar"]
    assert [file.name for file in folder.parent.iterdir()] == ["jars"]
