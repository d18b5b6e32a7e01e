"""Virtual time: what is due comes in order, and the clock is never set back."""

from __future__ import annotations

from kafkalab.sim.kernel.schedule import Schedule


def plan(*entries: tuple[int, str] | tuple[int, str, bool]) -> tuple[Schedule, list[str]]:
    """A schedule of (time, name, background); the list gets the names as they are done."""
    schedule, done = Schedule(), []
    for at_ms, name, *background in entries:
        schedule.at(at_ms, name, 3, lambda name=name: done.append(name), *background)  # type: ignore[misc]
    return schedule, done


def run(schedule: Schedule) -> list[tuple[int, int]]:
    """Do everything; the time and the foreground entries left after each."""
    seen = []
    while len(schedule):
        schedule.pop()[-1]()
        seen.append((schedule.now, schedule.foreground))
    return seen


def test_entries_come_by_time_and_those_of_one_time_as_they_were_planned() -> None:
    schedule, done = plan((5, "c"), (2, "a"), (5, "d"), (2, "b"), (9, "e"))
    assert (len(schedule), schedule.foreground, schedule.now) == (5, 5, 0)
    assert run(schedule) == [(2, 4), (2, 3), (5, 2), (5, 1), (9, 0)]
    assert done == ["a", "b", "c", "d", "e"]


def test_an_entry_says_what_it_is() -> None:
    schedule, _ = plan((5, "node", True))
    background, node, incarnation, _ = schedule.pop()
    assert (background, node, incarnation) == (True, "node", 3)


def test_only_the_foreground_counts_as_work() -> None:
    schedule, _ = plan((2, "a"), (4, "b", True), (6, "c"), (8, "d", True))
    assert (schedule.foreground, schedule.worked_ms) == (2, 0)
    found = []
    while len(schedule):
        schedule.pop()
        found.append((schedule.now, schedule.foreground, schedule.worked_ms))
    assert found == [(2, 1, 2), (4, 1, 2), (6, 0, 6), (8, 0, 6)]


def test_the_last_entry_that_keeps_a_run_going() -> None:
    schedule, _ = plan((2, "a"), (6, "b", True), (6, "c"), (9, "d", True))
    assert schedule.last_foreground_ms == 6
    for _ in range(3):
        schedule.pop()
    assert schedule.last_foreground_ms == -1
    assert Schedule().last_foreground_ms == -1


def test_the_past_is_now_and_a_jump_of_the_clock_makes_all_due() -> None:
    schedule, done = plan((2, "a"), (7, "b"))
    schedule.advance(5)
    assert schedule.now == 5
    schedule.advance(5)
    assert schedule.now == 10
    schedule.at(4, "late", 0, lambda: done.append("late"))
    schedule.at(10, "now", 0, lambda: done.append("now"))
    assert run(schedule) == [(10, 3), (10, 2), (10, 1), (10, 0)]
    assert done == ["a", "b", "late", "now"]
    assert schedule.worked_ms == 10


def test_a_time_that_is_used_up_can_be_planned_again() -> None:
    schedule, done = plan((2, "a"))
    run(schedule)
    schedule.at(2, "b", 0, lambda: done.append("b"))
    schedule.at(3, "c", 0, lambda: done.append("c"))
    assert run(schedule) == [(2, 1), (3, 0)]
    assert done == ["a", "b", "c"]


def test_the_time_of_the_next_entry_is_known_without_taking_it() -> None:
    schedule, done = plan((9, "b"), (5, "a"))
    assert (schedule.next_ms, len(schedule), done) == (5, 2, [])
    schedule.pop()
    assert schedule.next_ms == 9
    schedule.pop()
    assert schedule.next_ms == -1
