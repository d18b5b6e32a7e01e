"""The built pictures, as far as can be told without Node: whole, up to date, small."""

from __future__ import annotations

import gzip
from hashlib import sha256
from pathlib import Path

import pytest

from kafkalab.widgets.views.parts import BUILT, Part, parts_of, read_built
from kafkalab.widgets.views.view import Picture
from tests.widgets.references import MADE

PICTURES = Path(__file__).parents[2] / "pictures"


def digest_of(texts: list[str]) -> str:
    """As `digestOf` in pictures/build.mjs."""
    return sha256("".join(f"{text}\0" for text in texts).encode()).hexdigest()


def texts_of(folder: Path, names: list[str]) -> list[str]:
    """Names and contents, with the line ends that they are committed with."""
    return [text for name in names for text in (name, (folder / name).read_text(encoding="utf-8"))]


def test_the_built_files_are_those_of_the_sources_of_today() -> None:
    sources = sorted(path.relative_to(PICTURES).as_posix() for path in (PICTURES / "src").rglob("*.*"))
    kept = sorted(path.name for path in BUILT.iterdir() if path.name != "digests.txt")
    now = {
        "sources": digest_of(texts_of(PICTURES, ["build.mjs", "package.json", *sources])),
        "built": digest_of(texts_of(BUILT, kept)),
    }
    noted = dict(line.split() for line in (BUILT / "digests.txt").read_text(encoding="utf-8").splitlines())
    assert now == noted, "make pictures builds them again"


def parts() -> set[str]:
    """The names of the pictures' parts."""
    return {MADE[name]().part for name in MADE}


def test_a_sequence_is_below_60_kb_and_the_other_pictures_below_10_beside_the_common_part() -> None:
    sizes = {name: len(read_built(f"{name}.js").encode()) for name in parts()}
    assert len(sizes) == 13
    assert len(gzip.compress(read_built("sequence.js").encode(), 9)) < 30_000
    assert {name: size for name, size in sizes.items() if not 100 < size < 10_000} == {"sequence": sizes["sequence"]}
    assert sizes["sequence"] < 60_000


def test_each_picture_sends_one_loader_and_names_the_models_of_its_parts() -> None:
    first, second = MADE["sequence"](), MADE["verdict"]()
    assert isinstance(first, Picture)
    assert first.get_state("_esm") == second.get_state("_esm")
    assert len(first.get_state("_esm")["_esm"]) < 1_000
    common, own = first.parts
    assert second.parts[0] is common
    assert first.get_state("parts")["parts"] == [f"IPY_MODEL_{part.model_id}" for part in (common, own)]
    assert common.get_state(["code", "css"]) == {"code": read_built("common.js"), "css": read_built("common.css")}


def test_a_part_is_one_model_in_a_kernel_and_made_again_only_if_it_was_closed() -> None:
    before = parts_of("share")
    view = MADE["share"]()
    view.close()
    assert all(one is two for one, two in zip(parts_of("share"), before, strict=True))
    before[1].close()
    again = parts_of("share")
    assert (again[0] is before[0], again[1] is before[1]) == (True, False)
    assert isinstance(again[1], Part)


def test_a_picture_without_a_built_part_is_refused() -> None:
    with pytest.raises(FileNotFoundError, match=r"sequenz\.js"):
        parts_of("sequenz")
