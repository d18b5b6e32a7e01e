"""Every conformance case has a test that carries its id; the numbers of an area have gaps."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.cases import AREAS, PAGE, page, sentences

# fmt: off
CASES = {
    "PSM": "01 02 04 05 07 08 10 11 12 13 14 16 19 20 22 23 25 26 29 30 32 33 34 35 36 37 40 43 44 45 48",
    "LOG": "01 02 05 07 08 09 10 11 13 15 16 19 20 22 23 24 25 27 28 29",
    "IDX": "01 03",
    "CLN": "01 03 04 05 06 07 10 11",
    "MD": "01 02 03 05 06 08 10 11 13 15 16 18",
    "TC": "01 03 04 05 06 07 09 10 11 13 14 15 17 19 20 21 22 25 26 28 "
    "30 31 34 35 36 37 38 39 40 43 45 46 47 49 51 52 53 57 58",
    "TSM": "01 02 03 04 07 08 09 10 12 14 16",
    "TMC": "01 02 04 05 06 07 09 10 12",
    "AP": "01 02 04 05 06 08",
    "OFF": "01 02 03 04 06 08 09 10 12 13 16",
    "TXN": "01 02 03 05 06 07 09 10 14 15 16 17 19 20",
    "CL": "01 02 04 05 06 08 09 10 12 13 15 16 17 18 20 21 22 24 28 31 32 33 34 35 37 38 40 43",
    "CFG": "01 02 04 05",
    "CON": "01 02",
    "LEG": "01 02 04 06",
}
# fmt: on


def test_every_case_has_a_test_with_its_id(root: Path) -> None:
    found = {case for case, _, _ in sentences(root)}
    wanted = [f"{area}-{number}" for area, numbers in CASES.items() for number in numbers.split()]
    assert len(wanted) == len(set(wanted)) == 201
    assert [case for case in wanted if case not in found] == []


def test_the_page_says_what_the_tests_hold_today_of_every_case(root: Path) -> None:
    text = (root / PAGE).read_text(encoding="utf-8")
    assert text == page(root), "run `python -m tests.conformance.cases`"
    assert list(AREAS) == list(CASES)
    wanted = [f"{area}-{number}" for area, numbers in CASES.items() for number in numbers.split()]
    assert [case for case in wanted if case not in text] == []
