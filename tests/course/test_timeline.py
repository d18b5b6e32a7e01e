"""Lab 7's picture of time: what it reads from a run, and that its text and its drawing say the same."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from kafkalab.course.lab07.runs_in_time import timeline
from kafkalab.course.lab07.scenario import cut_off, idle_for, lab07, ninety_seconds, shelf
from kafkalab.course.lab07.timeline import ROLE, Bar, Lane, Part, Timeline, seconds
from kafkalab.sim.cluster import Cluster, ran
from kafkalab.widgets.views.sequence import Sequence

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: Timeline) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(picture.svg()).iter(f"{SVG}text")]


def widths(picture: Timeline, fill: str) -> list[float]:
    boxes = ElementTree.fromstring(picture.svg()).iter(f"{SVG}rect")
    return [float(e.get("width", "0")) for e in boxes if e.get("fill") == fill]


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("profile", ["4.x/TV1", "4.x/TV2"])
def test_a_transaction_is_open_from_its_first_record_to_the_coordinators_look(seed: int, profile: str) -> None:
    (part,) = timeline(lab07(seed, profile)).parts
    counter, transaction = part.lanes
    first = transaction.bars[0]
    assert 1_000 < first.start_ms < 1_100
    assert (first.due_ms, first.struck) == (first.start_ms + 60_000, True)
    assert 70_000 <= first.end_ms < 70_100
    assert (counter.bars[0].says, counter.bars[0].struck) == ("InvalidProducerEpochError", True)
    assert counter.bars[0].end_ms > 76_000
    then = ", then committed" if profile == "4.x/TV2" else ""
    assert transaction.says == f"aborted at {seconds(first.end_ms)}{then}"


def test_sleep_and_a_jump_are_drawn() -> None:
    picture = timeline(*map(ninety_seconds, ("slow", "long GC", "jump")))
    slow, long_gc, jump = picture.parts
    assert [bar for bar in long_gc.lanes[0].bars if bar.asleep] == [
        Bar(start_ms=2_000, end_ms=92_000, says="asleep", asleep=True)
    ]
    assert (slow.jumps, long_gc.jumps, jump.jumps) == ((), (), ((2_000, 92_000),))
    assert jump.lanes[1].says == "aborted at 92.0 s"
    said = texts(picture)
    assert (said.count("asleep"), said.count("all clocks jump"), said.count("60 s")) == (1, 1, 4)


def test_the_text_and_the_drawing_say_how_each_row_ended() -> None:
    picture = timeline(lab07())
    assert {"InvalidProducerEpochError", "aborted at 70.0 s, then committed"} <= set(texts(picture))
    assert "its transaction  1.0 s to 70.0 s, limit 60.0 s: aborted at 70.0 s" in str(picture)
    assert picture._repr_mimebundle_() == {"image/svg+xml": picture.svg(), "text/plain": str(picture)}


def test_what_is_late_is_not_filled() -> None:
    colour = ROLE["coordinator"]
    late = Bar(start_ms=0, end_ms=10_000, limit_ms=5_000, says="struck", struck=True)
    (filled,) = widths(Timeline(parts=(Part(title="", lanes=(Lane("a", "coordinator", (late,)),)),)), colour)
    (whole,) = widths(
        Timeline(parts=(Part(title="", lanes=(Lane("a", "coordinator", (replace(late, limit_ms=0),)),)),)), colour
    )
    assert filled == pytest.approx(whole / 2)


def test_a_limit_that_was_not_reached_is_not_marked() -> None:
    assert texts(timeline(shelf(work_ms=20_000))).count("60 s") == 0


def test_a_run_that_has_not_ended_is_drawn_to_its_end() -> None:
    base = shelf(work_ms=20_000, remedy="retry")
    turn = Sequence(base, step=ran(base).trace.frames["EndTxn#1"].sent_step)
    turn.press("pause", "counter")
    assert timeline(turn.cluster).parts[0].lanes[0].says == "has not ended"
    for press, details in (("end", {}), ("advance", {"ms": 90_000}), ("end", {})):
        turn.press(press, **details)  # type: ignore[arg-type]
    turn.press("resume", "counter")
    counter, transaction = timeline(turn.cluster).parts[0].lanes
    assert (counter.says, transaction.says) == ("KafkaTimeoutError", "committed")
    assert turn.cluster.results["counter"] == ["commit_transaction: KafkaTimeoutError", "committed"]


def test_days_are_written_as_days() -> None:
    picture = timeline(idle_for(8, remedy="recreate"))
    assert {"0 d", "8 d"} <= set(texts(picture))
    assert len(picture.svg()) < 10_000


def test_a_counter_without_a_transaction_has_an_empty_row() -> None:
    cluster = Cluster(shelf(*cut_off(500, 200_000), work_ms=1_000))
    cluster.run()
    picture = timeline(cluster, lab07())
    assert [lane.bars for lane in picture.parts[0].lanes] == [(), ()]
    assert picture.svg()
