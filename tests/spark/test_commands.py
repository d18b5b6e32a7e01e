"""`kafkalab workload` and `kafkalab audit` at work: a history is made, kept, judged, and shown on a page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.spark.streaming.histories import without


@pytest.mark.spark
def test_a_history_is_made_and_judged(spark: object, typed: Any) -> None:
    making = "workload synthetic --records 3000 --plant duplicate=0.002 --plant DUPLICATE=0.003 --seed 7 --out night"
    status, out, err = typed(*making.split())
    said = err.splitlines()
    assert (status, said[1:]) == (0, ["making 3,000 records …", "writing night …"])
    assert re.fullmatch("at most about 1 MB on the disk of [0-9,]+ MB free, 768m and 800 MB of memory", said[0])
    assert out.endswith("kafkalab audit night says what it holds\n")
    judging = ["audit", "night", "--only", "Duplicate,g1a", "--html", "night.html"]
    status, out, err = typed(*judging)
    assert status == 1
    assert "2 audits in" in err
    assert "duplicate" in out.splitlines()[1] + out.splitlines()[2]
    assert "violated" in out
    assert "run 7, duplicate: " in out
    page = Path("night.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "1 guarantee was broken: night" in page
    assert page.count("<tr>") > 5
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert typed("workload", "synthetic", "--out", "night")[0] == 2
    assert typed("audit", "night", "--only", "G1a", "--quiet")[::2] == (0, "")


@pytest.mark.spark
def test_simulations_are_judged_and_a_damaged_folder_is_named(spark: object, typed: Any) -> None:
    status, _, err = typed("workload", "simulated", "--seeds", "3-4", "--out", "runs")
    assert (status, err.splitlines()[1:]) == (0, ["simulating 2 runs …", "writing runs …"])
    status, out, _ = typed("audit", "runs", "--only", "LSO regression")
    assert status == 0
    assert "No forbidden finding" in out
    flipped = next(Path("runs/watermarks").rglob("*.parquet"))
    whole = flipped.read_bytes()
    middle = len(whole) // 4
    part = bytes(byte ^ 255 for byte in whole[middle : middle + 40])
    flipped.write_bytes(whole[:middle] + part + whole[middle + 40 :])
    status, out, err = typed("audit", "runs", "--only", "LSO regression", "--quiet")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"{flipped} is damaged (" in err
    assert "make the history again with `kafkalab workload`" in err
    flipped.write_bytes(whole)
    assert [name for name in os.listdir() if "unfinished" in name] == []
    next(Path("runs/reads").rglob("*.parquet")).unlink()
    status, out, err = typed("audit", "runs")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "reads" in err
    status, out, err = typed("workload", "simulated", "--seeds", "9-3", "--out", "others")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "seeds go upwards from 0" in err


@pytest.mark.spark
def test_a_saved_history_is_judged_too(spark: object, typed: Any) -> None:
    without("deduplication").save("one.history")
    status, out, _ = typed("audit", "one.history", "--only", "duplicate", "--quiet")
    assert status == 1
    assert "duplicate" in out
    Path("none.history").write_text("{}")
    assert "none.history is not a history that kafkalab saved" in typed("audit", "none.history")[2]
