"""What Maven cannot get is skipped, or missed where it is required."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.maven import jars_of


def test_without_maven_a_test_is_skipped_or_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("KAFKALAB_REQUIRE", "java,node")
    with pytest.raises(pytest.skip.Exception, match="needs java and Maven"):
        jars_of(tmp_path / "pom.xml", tmp_path, "a-*.jar")
    monkeypatch.setenv("KAFKALAB_REQUIRE", "java,index")
    with pytest.raises(pytest.fail.Exception, match="needs java and Maven"):
        jars_of(tmp_path / "pom.xml", tmp_path, "a-*.jar")
    (tmp_path / "a-1.jar").touch()
    assert jars_of(tmp_path / "pom.xml", tmp_path, "a-*.jar") == tmp_path
