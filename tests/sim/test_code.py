"""A scenario goes through one line of text and comes out the same, or not at all."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from kafkalab.programs.random_scenarios import Seeded, scenario_by_chance
from kafkalab.programs.transfers import lab03
from kafkalab.sim.code import pack, scenario_of_row, scenario_row, unpack
from kafkalab.sim.faults import Crash, Cut, Drop
from kafkalab.sim.scenario import Program, Scenario


def scenario_to_code(scenario: Scenario) -> str:
    return pack("klab1", scenario_row(scenario))


def scenario_from_code(text: str) -> Scenario:
    return scenario_of_row(unpack("klab1", text))


def test_every_saved_scenario_comes_out_as_it_went_in(root: Path) -> None:
    saved = sorted((root / "data").rglob("*.klab"))
    assert len(saved) > 50
    for path in saved:
        scenario = Scenario.load(path)
        assert scenario_from_code(scenario_to_code(scenario)) == scenario, path.name


@pytest.mark.parametrize("seed", range(30))
def test_scenarios_by_chance_come_out_as_they_went_in(seed: int) -> None:
    scenario = scenario_by_chance(Seeded(seed))
    assert scenario_from_code(scenario_to_code(scenario)) == scenario


def test_a_code_is_short_and_one_line_and_always_the_same() -> None:
    scenario = lab03().with_faults(Drop("EndTxnResponse#1"), Crash("b3", at_step=84), Cut("b1", ("b2", "app"), at_ms=5))
    code = scenario_to_code(scenario)
    assert code == scenario_to_code(scenario)
    assert len(scenario_to_code(lab03())) < 260
    assert code.startswith("klab1.")
    assert code.split() == [code]


def test_white_space_from_a_mail_does_not_matter() -> None:
    code = scenario_to_code(lab03())
    assert scenario_from_code(f"  {code[:40]}\n {code[40:]} \n") == lab03()


def test_every_single_slip_of_the_hand_is_noticed() -> None:
    code = scenario_to_code(lab03())
    for place in range(len(code)):
        other = "x" if code[place] != "x" else "y"
        for damaged in (code[:place] + other + code[place + 1 :], code[:place] + code[place + 1 :]):
            with pytest.raises(ValueError, match="no code of that kind|damaged on its way"):
                scenario_from_code(damaged)


def packed(data: bytes) -> str:
    letters = base64.urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")
    return f"klab1.{letters}.{zlib.crc32(f'klab1.{letters}'.encode()) & 0xFFFFFF:06x}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (7, "a code is a string"),
        ("", "no code of that kind"),
        ("klab9.x.y", "no code of that kind"),
        (packed(b"[1"), "nothing that can be read"),
        (packed(b" " * 10_000_000), "nothing that can be read"),
        (packed(b"[" * 100_000), "nothing that can be read"),
        (packed(b"[1]"), "holds no scenario"),
        (packed(b'{"brokers": 12}'), "brokers is a number from 1 to 9"),
        (packed(b'{"planet": 1}'), "fields that no scenario has: planet"),
        (packed(b'{"faults": [{"fault": "Bomb"}]}'), "is not a fault"),
        (packed(b'{"programs": [7]}'), "is damaged"),
    ],
)
def test_what_is_no_code_is_refused_with_a_sentence(text: object, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        scenario_from_code(text)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_other_data_can_be_packed_under_another_kind() -> None:
    data = {"name": "Zoë", "presses": [1, None]}
    assert unpack("klabT", pack("klabT", data)) == data
    with pytest.raises(ValueError, match='must begin with "klab1."'):
        unpack("klab1", pack("klabT", {}))


def test_a_function_that_is_not_registered_cannot_be_packed() -> None:
    async def mine(app: object) -> None: ...

    with pytest.raises(ValueError, match="register it with @program"):
        scenario_to_code(Scenario(programs=(Program("p", mine),)))
