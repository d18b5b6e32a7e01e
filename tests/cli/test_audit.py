"""`kafkalab workload` and `kafkalab audit`, as they are typed: a history is made and judged; mistakes cost one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkalab.history.history import History
from kafkalab.spark.session.errors import one_line

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("audit", "the following arguments are required: path"),
        ("audit nowhere", "there is no file or folder nowhere; `kafkalab workload` makes one"),
        ("audit . --only duplicate,dirt", "there is no audit dirt; there are inconsistent-offsets, G1a"),
        ("audit . --only ,", "there is no audit named; there are"),
        ("audit . --html no/where.html", "cannot write no/where.html: there is no folder"),
        ("audit . --html .", "cannot write .: it is a folder; --html takes the name of a new file"),
        ("audit . --scratch no/where", "cannot use --scratch no/where: there is no such folder"),
        ("audit . --scratch xyz://lab", "cannot use xyz://lab: Unrecognized filesystem type in URI"),
        ("audit s3://key:secret@lab/night", "a URI with a password in it is not kept secret: write s3://lab/night"),
        ("capture localhost:1 --topics a --out s3://lab/a?region=eu", "goes to a folder of this machine; copy it to"),
        ("audit .", "has no history.json: it is no history, or writing it did not come to its end"),
        ("audit kept.txt", "kept.txt is not a history that kafkalab saved: its format is None"),
        ("audit run.jsonl --memory lots", 'memory is like "768m" or "2g"'),
        ("workload", "the following arguments are required: simulated|synthetic"),
        ("workload made --out x", "argument simulated|synthetic: invalid choice: 'made'"),
        ("workload synthetic", "the following arguments are required: --out"),
        ("workload synthetic --out kept.txt/made", "cannot write 'kept.txt/made': "),
        ("workload synthetic --out .", ". is there already; give --out a new folder, or remove it"),
        ("workload synthetic --out x --records many", "argument --records: a whole number from 0 on, not 'many'"),
        ("workload synthetic --out x --records 10_000_000_001", "a whole number, at most 10,000,000,000, not"),
        ("workload synthetic --out x --records 10_000_000_000", "it takes about 1,600,001 MB, and "),
        ("workload simulated --out x --seeds 1-10000001", "--seeds names 10,000,001 runs; the limit is 10,000,000"),
        ("workload synthetic --out x --seed ²", "a whole number from 0 on, not '²'"),
        ("workload simulated --out x --scenario /dev/zero", "is a device, a pipe or a socket; a regular file is"),
        ("workload synthetic --out x --abort-rate 2", "argument --abort-rate: a share from 0 to 1, not '2'"),
        ("workload synthetic --out x --plant duplicate", "--plant is like duplicate=0.0001, not duplicate; anomalies:"),
        ("workload synthetic --out x --plant dupes=0.1", "--plant is like duplicate=0.0001, not dupes=0.1; anomalies:"),
        ("workload synthetic --out x --plant duplicate=9", "--plant duplicate=9: a share from 0 to 1, not '9'"),
        ("workload synthetic --out x --profile 5", "argument --profile: invalid choice: '5'"),
        ("workload simulated --out x --scenario y.klab", "cannot read y.klab: no such file"),
    ],
)
def test_a_mistake_costs_one_line_and_no_java(typed: Any, words: str, said: str) -> None:
    Path("kept.txt").touch()
    History().save("run.jsonl")
    status, out, err = typed(*words.split())
    command = words.split()[0]
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"kafkalab {command}: ")
    assert said in err


def test_without_java_one_line_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys, kafkalab.spark.session.java as java; java._fetch = lambda: None; sys.prefix = sys.argv[1]; "
        "from kafkalab.cli.main import main; sys.exit(main(['audit', sys.argv[2]]))"
    )
    History().save(tmp_path / "run.jsonl")
    env = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code, str(tmp_path), str(tmp_path / "run.jsonl")]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert "PySpark needs Java 17 or newer" in run.stderr


def test_without_pyspark_one_line_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None; from kafkalab.cli.main import main; sys.exit(main(['audit', '.']))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (2, "", 1)
    assert "kafkalab audit: this needs PySpark: pip install 'kafkalab-course[spark]'" in run.stderr


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[TABLE_OR_VIEW_NOT_FOUND] There is no log. SQLSTATE: 42P01;\n'Project", "There is no log. SQLSTATE: 42P01;"),
        ("An exception\nTraceback (most recent call last):\n  File x\nValueError: seeds\n\n\tat org.x", "seeds"),
        ("", "RuntimeError"),
        ("x" * 400, "x" * 300 + " …"),
    ],
)  # fmt: skip
def test_of_an_error_the_line_that_helps_is_kept(text: str, line: str) -> None:
    assert one_line(RuntimeError(text)) == line
