"""The animated picture that README shows; `python -m tests.browser.make_animation` makes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_it_is_an_animation_of_several_pictures_and_small(root: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs the test extra")
    path = root / "docs" / "kafkalab.gif"
    with image.open(path) as picture:
        assert picture.format == "GIF"
        assert picture.n_frames > 20
        assert picture.info["loop"] == 0
        assert picture.width >= 900
        looks = set()
        for number in range(0, picture.n_frames, 5):
            picture.seek(number)
            looks.add(picture.convert("RGB").tobytes())
        assert len(looks) > 4
    assert path.stat().st_size < 1_500_000


def test_readme_shows_it(root: Path) -> None:
    assert "](docs/kafkalab.gif)" in (root / "README.md").read_text(encoding="utf-8")
