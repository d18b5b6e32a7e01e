"""What lab 12 says in words is what its saved run printed."""

from __future__ import annotations

import re
from pathlib import Path

from kafkalab.checks.all import CHECKS
from kafkalab.course.lab12.configurations import CONFIGURATIONS, FATES
from kafkalab.course.lab12.guarantee import open_run
from kafkalab.course.lab12.rates import share_of
from kafkalab.grading.builder import FIGURE, SOLUTIONS, read
from kafkalab.grading.check import find
from kafkalab.programs.copying import INPUTS, PARTITIONS

PATH = Path(__file__).resolve().parents[2] / SOLUTIONS / "12_auditing_with_spark.ipynb"
CELLS = {c["id"]: c for c in read(PATH)["cells"]}
TEXTS = {name: "".join(cell["source"]) for name, cell in CELLS.items()}


def table(cell: str) -> list[list[str]]:
    """The rows that the cell's saved run printed, without their heading."""
    text = "".join("".join(o.get("text", [])) for o in CELLS[cell]["outputs"])
    return [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if "|" in line][1:]


def rates() -> dict[tuple[str, str], dict[str, int]]:
    """The table of rates that the saved run printed: lost, once, more, unfinished by configuration and level."""
    (output,) = CELLS["rates"]["outputs"]
    assert "<svg" in "".join(output["data"][FIGURE])
    lines = "".join(output["data"]["text/plain"]).splitlines()[1:]
    found = (re.fullmatch(r"(.+?) {2,}(read_\w+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) .*", line) for line in lines)
    rows = [match.groups() for match in found if match]
    assert len(rows) == len(lines) == 2 * len(CONFIGURATIONS)
    return {(r[0], r[1]): dict(zip(FATES, (int(n.replace(",", "")) for n in r[2:]), strict=True)) for r in rows}


def test_the_rates_are_as_the_text_below_them_says() -> None:
    of = rates()
    committed = {name: of[name, "read_committed"] for name in CONFIGURATIONS}
    assert [name for name, row in committed.items() if row["lost"]] == ["acks=1"]
    assert [name for name, row in committed.items() if not row["more"]] == ["transactions"]
    assert 0.7 < committed["idempotent"]["more"] / committed["acks=1"]["more"] < 0.8  # three for every four
    assert of["transactions", "read_uncommitted"]["more"] > committed["acks=1"]["more"]
    assert {sum(row.values()) for row in of.values()} == {80 * PARTITIONS * INPUTS}
    assert "above 3.7 %" in TEXTS["rates-what"]
    assert str(share_of([0] * 80, [18] * 80)) == "none (< 3.7 %)"
    assert (1 - 1 / 27) ** 80 < 0.05 < (1 - 1 / 28) ** 80


def test_the_run_that_opens_the_lab_is_the_one_that_the_text_tells() -> None:
    (output,) = CELLS["opening"]["outputs"]
    said = "".join(output["data"]["text/plain"])
    assert "Delay(frame='EndTxn#2'" in said
    assert "b1 appends 1/3 to out-1 at offset 6." in said
    assert "[4 1/3 · pid 0 e0 seq 3 · committed]" in said
    title = re.sub(r"\]\([^)]*\)|\[", "", TEXTS["title"])
    assert "`1/3` is in `out-1` at offset 4 and is written again at offset 6" in title
    frames = open_run("old client", 3).cluster.trace.frames
    late, again = frames["EndTxn#2"], frames["EndTxn#5"]
    assert {late.sender, again.sender} == {"m2"}
    assert late.sent_ms < again.sent_ms < again.received_ms < late.received_ms


def test_counting_offsets_calls_hundreds_of_payments_lost_in_every_partition() -> None:
    assert [row[0] for row in table("naive")] == ["out-0", "out-1", "out-2", "out-3"]
    assert all(int(lost) == int(end) - int(there) > 200 for _, end, there, lost in table("naive"))


def test_no_marker_is_among_the_records() -> None:
    assert {outcome for outcome, _ in table("gaps")} == {"aborted", "committed", "plain"}


def test_the_suite_has_as_many_audits_as_the_lab_says() -> None:
    assert f"has {len(CHECKS)}; here are five" in TEXTS["audit-why"]
    (output,) = CELLS["audit"]["outputs"]
    said = "".join(output["data"]["text/plain"])
    assert {word for word in ("forbidden", "allowed", "reported") if f" {word}" in said.partition("findings")[2]} == {
        "forbidden", "allowed", "reported"
    }  # fmt: skip
    assert "<svg" in "".join(output["data"][FIGURE])


def test_the_long_night_has_a_million_rows_and_one_torn_transaction() -> None:
    counts = {control: int(count) for control, count in table("million")}
    assert set(counts) == {"", "ABORT", "COMMIT"}
    assert abs(sum(counts.values()) - 1_000_000) < 20_000
    assert len(table("e2-million")) == 1


def test_twelve_rows_become_sixteen_records_and_twelve_with_the_other_sink() -> None:
    assert sum(int(count) for _, _, count in table("sink")) == 16
    assert TEXTS["sink-what"].startswith("Sixteen records")
    (output,) = CELLS["sink-idempotent"]["outputs"]
    assert output["data"]["text/plain"] == ["12"]


def test_every_exercise_gives_the_points_that_it_is_worth() -> None:
    for cell in CELLS.values():
        facts = cell["metadata"].get("nbgrader", {})
        if facts.get("grade"):
            (named,) = re.findall(r'check\("(L12\.E\d)"', TEXTS[cell["id"]])
            assert facts["points"] == find(named).points
            assert len(find(named).hints) == 3


def test_the_questions_that_the_lab_settles_are_in_its_recap() -> None:
    settled = sorted({n for c in CELLS.values() for n in c["metadata"].get("kafkalab", {}).get("questions", [])})
    assert settled == [4, 5, 34]
    assert all(f"| Q{number} |" in TEXTS["recap"] for number in settled)


def test_nothing_was_said_to_stderr() -> None:
    outputs = [o for c in CELLS.values() for o in c.get("outputs", [])]
    assert [o for o in outputs if o.get("name") == "stderr"] == []
