"""Codes and Python for a scenario: what comes back is the same run; a typo, a newer version or nonsense is refused."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from kafkalab import lab03, lab06, pending_offsets
from kafkalab.faults.cluster import AdvanceClock
from kafkalab.faults.frame import Delay, Drop, Hold, Release, Reorder
from kafkalab.faults.link import Cut
from kafkalab.faults.node import Crash
from kafkalab.faults.partition import ElectLeader
from kafkalab.faults.storage import Roll
from kafkalab.programs.random_scenarios import Seeded, random_scenario
from kafkalab.protocol.rules import DEDUPLICATION
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.codec import (
    ANSWER,
    CHALLENGE,
    SIGNS,
    code_of,
    decode,
    encode,
    is_of_kind,
    python_of,
    scenario_of_code,
)
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.sim.scenario_names import SCENARIOS

DATA = Path(__file__).parents[2] / "data"
STORED = sorted(DATA.rglob("*.klab"))
FAULTS = (
    Drop("EndTxn#1"),
    Delay("Produce#2", 40),
    Hold("EndTxnResponse#1"),
    Reorder("Produce#1", "Produce#2"),
    Release("EndTxnResponse#1", at_step=200),
    Crash("b3", at_ms=40),
    Cut("b1", ("b2", "b3"), at_step=70),
    AdvanceClock(500, at_step=71),
    ElectLeader("accounts-0", "b2", unclean=True, at_step=80),
    Roll("accounts-0", at_step=90),
)


def scenarios() -> list[Scenario]:
    made = [make() for make in SCENARIOS.values()]
    made += [random_scenario(Seeded(seed)) for seed in range(30)]
    made += [lab03(p) for p in ("0.11", "1.0", "4.x/TV1")]
    made += [lab03(seed=seed).with_faults(*FAULTS[: seed + 1]) for seed in range(10)]
    return [*made, replace(lab03(), rules_off=(DEDUPLICATION.name,)), *map(Scenario.load, STORED)]


def test_every_code_gives_its_scenario_back_and_so_does_the_python() -> None:
    for scenario in scenarios():
        assert scenario_of_code(code_of(scenario)) == scenario
        names: dict[str, Scenario] = {}
        exec(python_of(scenario), names)
        assert names["scenario"] == scenario


def test_a_code_typed_elsewhere_gives_the_same_run() -> None:
    scenario = lab03(seed=7).with_faults(Drop("EndTxn#1"), Crash("b3", at_step=60))
    typed = code_of(scenario).lower().replace("-", " ").replace("0", "o").replace("1", "l")
    runs = [Cluster(s) for s in (scenario, scenario_of_code(typed))]
    assert len({run.run().digest() for run in runs}) == 1


def test_a_code_of_a_known_scenario_is_short() -> None:
    assert len(code_of(lab03())) <= 26
    assert len(code_of(lab03(seed=42).with_faults(Drop("EndTxn#1")))) <= 48


GIVEN_OUT = {
    "lab03": "K1-HF398-M024E-G0SN4-1E2ZW-BHP60-8000Y-FB",
    "lab05": "K1-HC34Q-6129C-M824A-G0VN4-1E6ZC-9HP60-80MY1",
    "two_accounts": "K1-HC3DP-1MBFX-J7J99-G08N8-1EGKX-V2XHP-2R000-MG8",
    "kafka_17754": "K1-HD336-5B120-C03SB-1E45F-F8MEP-6GTK0-A1NH7-39K07-E2CXH-P2R00-01VQ",
    "hanging": "K1-HD334-7V110-C03SB-0Y44Z-6D2GK-C8JHW-E5X92-C770F-YXWPR-V1C00-0TD3",
    "two_members": "K1-HD3B6-39ENM-24CG3-SN0SY-2FMCH-P6GA0-01S24",
    "lab02": "K1-4CHRQ-1V4MG-N288S-28RGK-2BT54-6ST8P-114WZ-HTSZE-GZDRN-ERGG2-JM2CJ-AGATC-S8Q22-BJ193-H83AA-90H0K-EFH37-"
    "0E508-RAYN4-2P8FJ-9DE35-MS48B-A5N8G-MS83J-D0YC2-4HE7J-N6QAA-HT000-0157M",
}
"""Codes that learners have got from earlier versions, each of a scenario with one dropped frame more."""


@pytest.mark.parametrize("name", GIVEN_OUT)
def test_a_code_that_was_given_out_once_is_read_for_good(name: str) -> None:
    assert scenario_of_code(GIVEN_OUT[name]) == SCENARIOS[name]().with_faults(Drop("EndTxn#1"))


def test_a_code_with_the_former_names_of_nodes_is_read_and_still_written() -> None:
    scenario = pending_offsets().with_faults(Crash("ben", at_ms=50_000), Cut("anna", ("b1", "b2"), at_ms=4_000))
    given_out = (
        "K1-HDB2M-J6D0C-372EH-CN4G2-PM824-EG1MJ-5CXCM-EBSR1-95EM6-78KC2-PCDTJ-4RE90-2GP2S-002M0-RB0YG-5ZG0J-MSR0J-"
        "R52GT-N8YNJ-A0AWH-H66CC-BGRDH-P6080-000HP"
    )
    assert scenario_of_code(given_out) == scenario
    assert code_of(scenario) == given_out


def test_the_labs_codes_are_short_enough_to_be_typed() -> None:
    for name, make in SCENARIOS.items():
        if name.startswith("lab"):
            assert len(code_of(make())) <= 30, name
            assert len(code_of(make(seed=9))) <= 36, name
    assert len(code_of(replace(lab06(seed=3), faults=(Drop("EndTxn#1"),)))) <= 60
    assert 'lab06(profile="4.x/TV2", first=None, second=None)' in python_of(lab06(first=None, second=None))


def test_each_wrong_sign_and_each_two_swapped_are_noticed() -> None:
    code = code_of(lab03(seed=42).with_faults(Drop("EndTxn#1"))).replace("-", "")
    for i in range(2, len(code)):
        for sign in SIGNS:
            if sign != code[i]:
                with pytest.raises(ValueError, match="there is a typo in the code"):
                    scenario_of_code(code[:i] + sign + code[i + 1 :])
        if i + 1 < len(code) and code[i] != code[i + 1]:
            with pytest.raises(ValueError, match="there is a typo in the code"):
                scenario_of_code(code[:i] + code[i + 1] + code[i] + code[i + 2 :])
        with pytest.raises(ValueError, match=r"typo|no code"):
            scenario_of_code(code[:i] + code[i + 1 :])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("hello", "'hello' is no code of kafkalab: those begin with K1; copy it again"),
        ("", "is no code of kafkalab"),
        ("K2-ABCDE-FGH", "this code is of version 2, newer than this kafkalab, which reads version 1"),
        ("KX-ABCDE-FGH", "of no version known to this kafkalab"),
        ("K1-ABCDÉ-FGHJ", "no code has the sign 'É'"),
        ("K1-ABCDU-FGHJ", "no code has the sign 'U'"),
        ("K1" + "A" * 30_000, "a code is a line of letters and digits"),
    ],
)
def test_what_is_no_code_is_told_with_what_to_do(code: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scenario_of_code(code)


def test_random_signs_never_give_anything_but_a_scenario_or_a_sentence() -> None:
    random = Random(5)
    for _ in range(300):
        with pytest.raises(ValueError, match=r"typo|damaged|know|scenario"):
            scenario_of_code("K1" + "".join(random.choices(SIGNS, k=random.randrange(5, 60))))


def test_code_cannot_hold_a_program_that_is_a_function() -> None:
    async def mine(app: object) -> None:
        pass

    scenario = Scenario(programs=(Program("app", mine),))
    for made in (code_of, python_of):
        with pytest.raises(ValueError, match="program 'mine' cannot be saved: register it"):
            made(scenario)


def test_other_data_has_codes_of_its_own_kind() -> None:
    data = ["Zoë", [["Drop", "EndTxn#1"]], None]
    assert decode(ANSWER, encode(ANSWER, data)) == data
    with pytest.raises(ValueError, match="is no challenge of kafkalab: those begin with C1"):
        decode(CHALLENGE, encode(ANSWER, data))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ([1], "a scenario that this kafkalab does not know"),
        (["lab99", "4.x/TV2"], "a scenario that this kafkalab does not know"),
        (7, "a scenario that this kafkalab does not know"),
        ({"brokers": 12}, "brokers is a number from 1 to 9"),
        ({"planet": 1}, "fields that no scenario has: planet"),
        ({"faults": [{"fault": "Bomb"}]}, "is not a fault"),
        ({"programs": [7]}, "is damaged"),
    ],
)
def test_a_code_that_holds_no_scenario_is_refused_with_a_sentence(row: object, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        scenario_of_code(encode("K", row))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"[1", b" " * 10_000_000, b"[" * 100_000])
@pytest.mark.parametrize("damage", ["", "x"])
def test_a_line_of_the_first_format_that_is_damaged_is_refused_with_a_sentence(data: bytes, damage: str) -> None:
    letters = base64.urlsafe_b64encode(zlib.compress(data)).decode().rstrip("=")
    line = f"klabT1.{letters}.{zlib.crc32(f'klabT1.{letters}'.encode()) & 0xFFFFFF:06x}{damage}"
    read = "nothing that can be read|too many levels"
    with pytest.raises(ValueError, match="damaged on its way" if damage else read):
        decode(ANSWER, line)


CODE = GIVEN_OUT["lab03"]


@pytest.mark.parametrize(
    "text",
    [
        f'"{CODE}"', f"'{CODE}'", f"`{CODE}`", f"“{CODE}”", f"({CODE}).", f"  <{CODE}>\n",
        f"https://example.org/kafkalab/play/#run={CODE}", f"https://example.org/play/#run={CODE.lower()}&step=54",
        f"#run={CODE}&at=EndTxn#1", f"<https://example.org/play/#run={CODE}>", f"https://example.org/r/{CODE}",
    ],
)  # fmt: skip
def test_a_code_in_quotes_or_in_a_link_is_read(text: str) -> None:
    assert scenario_of_code(text) == scenario_of_code(CODE)
    with pytest.raises(ValueError, match="is no challenge of kafkalab"):
        decode(CHALLENGE, text)
    assert is_of_kind(CHALLENGE, text.replace("K1-", "C1-").replace("k1-", "C1-"))


def test_a_typo_in_a_link_is_noticed() -> None:
    with pytest.raises(ValueError, match="its checksum is wrong"):
        scenario_of_code(f"https://example.org/play/#run={CODE.replace('M024E', 'M024F')}&step=54")
    with pytest.raises(ValueError, match="is no code of kafkalab: those begin with K1"):
        scenario_of_code("https://example.org/play/#lab=lab03")
