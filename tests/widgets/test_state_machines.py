"""The three machines and their pictures: every cell of the tables, every arrow, and what is committed is current."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from kafkalab.protocol.transition_tables.group import GROUP_TABLE, GroupAsk, GroupState, Move
from kafkalab.protocol.transition_tables.outcomes import Refuse
from kafkalab.protocol.transition_tables.producer import Call, ProducerState, SenderEvent
from kafkalab.protocol.transition_tables.transaction import TABLES, Go, edges
from kafkalab.widgets.payload.state_diagrams import NAMES, draw, ids, machine_of, read_diagram
from kafkalab.widgets.payload.state_machines import ANY, STATES, machine


@pytest.mark.parametrize("version", TABLES)
def test_the_coordinators_machine_is_its_table(version: str) -> None:
    chart = machine("coordinator", version)
    assert chart.edges() == edges(version)
    for state, row in TABLES[version].items():
        for ask, outcome in row.items():
            (cell,) = (c for c in chart.row(state.label) if c.ask == ask.value)
            assert cell.to == (outcome.state.label if isinstance(outcome, Go) else "")
            assert (cell.kind == "refuse") == isinstance(outcome, Refuse)
            if isinstance(outcome, Refuse):
                assert cell.answer == outcome.error.name


def test_init_in_an_open_transaction_aborts_it_and_is_told_to_come_back() -> None:
    (cell,) = (c for c in machine("coordinator", "TV2").row("Ongoing") if c.ask == "InitProducerId")
    assert (cell.to, cell.answer) == ("PrepareAbort", "CONCURRENT_TRANSACTIONS")
    assert cell.words().startswith("Ongoing → PrepareAbort: InitProducerId — CONCURRENT_TRANSACTIONS. What is open")


def test_the_groups_machine_is_its_table() -> None:
    chart = machine("group")
    assert chart.edges() == [
        (state.value, ask.value, cell.state.value)
        for state, row in GROUP_TABLE.items()
        for ask, cell in row.items()
        if isinstance(cell, Move)
    ]
    assert len(chart.cells) == len(GROUP_TABLE) * len(GroupAsk)
    assert {c.kind for c in chart.cells} == {"go", "same", "wait", "refuse"}


def test_the_producers_machine_has_every_call_and_event_and_one_arrow_to_the_end() -> None:
    chart = machine("producer")
    assert len(chart.cells) == len(ProducerState) * (len(Call) + len(SenderEvent))
    assert [e for e in chart.edges() if e[2] == "FATAL_ERROR"] == [(ANY, SenderEvent.FATAL.value, "FATAL_ERROR")]
    (begin,) = (c for c in chart.row("READY") if c.ask == "beginTransaction()")
    assert (begin.kind, begin.to) == ("go", "IN_TRANSACTION")
    (send,) = (c for c in chart.row("READY") if c.ask == "send()")
    assert (send.kind, send.answer) == ("refuse", "IllegalState: no transaction to send to")
    assert all(c.to == "FATAL_ERROR" for c in chart.cells if "KAFKA-14831" in c.answer)


def test_each_state_has_a_sentence() -> None:
    assert list(STATES["group"]) == [s.value for s in GroupState]
    assert list(STATES["producer"]) == [s.name for s in ProducerState]
    assert list(STATES["coordinator"]) == [s.label for s in TABLES["TV2"]]


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_picture_has_every_state_and_arrow(name: str) -> None:
    chart = machine_of(name)
    picture = read_diagram(chart)
    wanted = {f"s_{s}" for s in chart.states} | {f"e_{a}__{b}" for a, _, b in chart.edges()}
    assert ids(picture) == wanted | ({f"s_{ANY}"} if name == "producer" else set())
    titles = [t.text or "" for t in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}title")]
    for a, question, b in chart.edges():
        assert any(t.startswith(f"{a} → {b}: ") and question in t for t in titles), (a, question, b)
    assert len(picture) < 17_000
    assert "href" not in picture


@pytest.mark.parametrize("name", NAMES)
def test_dot_makes_the_committed_picture(name: str, program: Callable[[str], str]) -> None:
    program("dot")
    assert ids(draw(machine_of(name))) == ids(read_diagram(machine_of(name)))


def test_what_is_no_machine_is_refused() -> None:
    with pytest.raises(ValueError, match="there are coordinator, producer, group"):
        machine("broker")
    with pytest.raises(ValueError, match="there are TV1, TV2"):
        machine("coordinator", "TV3")
