"""The interpreter's hook of a graded notebook: of all programs it may start only those that Spark needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalab.grading.sandbox import POPEN, _Fence


@pytest.mark.parametrize("event", POPEN)
@pytest.mark.parametrize("program", ["/bin/sh", b"/usr/bin/env", Path("/usr/bin/python3"), "java.sh"])
def test_a_program_is_refused_however_subprocess_starts_it(
    event: str, program: str | bytes | Path, tmp_path: Path
) -> None:
    with pytest.raises(PermissionError, match="starts no other process"):
        _Fence(tmp_path, [], [])(event, (program, [program], None))


@pytest.mark.parametrize("event", POPEN)
@pytest.mark.parametrize("program", ["/usr/bin/java", b"/usr/bin/java", Path("/opt/jdk/bin/java")])
def test_a_java_may_be_started_also_as_python_3_13_does_it(
    event: str, program: str | bytes | Path, tmp_path: Path
) -> None:
    _Fence(tmp_path, [], [])(event, (program, [program], None))
