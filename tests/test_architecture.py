"""ARCHITECTURE.md names every package, and its picture has the layers that tests hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.architecture import ARROWS, FLOW, PICTURE, SOURCE, draw, source, texts
from tests.test_layers import LAYERS


def test_the_committed_source_is_what_the_layers_say_today(root: Path) -> None:
    assert (root / SOURCE).read_text(encoding="utf-8") == source(), "run `python -m tests.architecture`"


def test_the_committed_picture_has_every_layer(root: Path) -> None:
    shown = texts((root / PICTURE).read_text(encoding="utf-8"))
    assert [layer for layer in LAYERS if ", ".join(layer) not in shown] == []


def test_dot_makes_the_committed_picture(root: Path, program: Callable[[str], str]) -> None:
    program("dot")
    assert texts(draw()) == texts((root / PICTURE).read_text(encoding="utf-8"))


def test_the_way_of_a_run_leads_through_packages_that_exist() -> None:
    packages = {part for layer in LAYERS for part in layer}
    assert {part for _, parts in FLOW.values() for part in parts} - packages == set()
    assert {end for arrow in ARROWS for end in arrow.split(" -> ")} == set(FLOW)


def test_the_page_is_short_and_names_every_package(root: Path) -> None:
    text = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    parts = [part for layer in LAYERS for part in layer if part != "__main__"]
    assert [part for part in parts if f"[{part}](kafkalab/{part}" not in text] == []
    assert len(text.splitlines()) <= 150
