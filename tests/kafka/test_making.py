"""The scripts that are made from tables are what the tables make, and each has a name of its own."""

from __future__ import annotations

from tests.kafka.making.__main__ import make_families
from tests.kafka.script import HERE, scripts_of


def test_the_files_are_what_the_tables_make() -> None:
    for name, text in make_families().items():
        kept = (HERE / "scripts" / f"{name}.json").read_text()
        assert text == kept, f"scripts/{name}.json is not what its table makes: run python -m tests.kafka.making"


def test_every_script_has_a_name_of_its_own_and_its_family() -> None:
    names = [s["name"] for s in scripts_of()]
    assert len(set(names)) == len(names) >= 300
