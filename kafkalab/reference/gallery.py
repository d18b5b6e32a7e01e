"""A collection of runs to choose from: a list, what to look at, and below them the picture of the chosen run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ipywidgets import VBox

from kafkalab.course_files import course_root
from kafkalab.widgets.views.canvas import open_svg
from kafkalab.widgets.views.chooser import Chooser, Words
from kafkalab.widgets.views.view import Picture

HEIGHT = re.compile(r'viewBox="0 0 (?P<width>[\d.]+) (?P<height>[\d.]+)"')
ROOT = course_root()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One entry of a collection; `show()` runs it and returns what is said of it, and its picture at the step to see.
    """

    group: str
    key: str
    title: str
    show: Callable[[], tuple[Words, Picture]]


class Gallery(VBox):  # type: ignore[misc]
    """A chooser, and below it the picture of the chosen exhibit: `picture`. `show(key)` chooses another one."""

    def __init__(self, heading: str, exhibits: Sequence[Exhibit], chosen: str = "") -> None:
        """Show `chosen`, or the first exhibit. ValueError for an unknown key, and if the stored runs are missing."""
        if not (ROOT / "data").is_dir():
            raise ValueError(
                f"the stored runs are not in {ROOT / 'data'}; install kafkalab from a checkout of its repository"
            )
        self.exhibits = tuple(exhibits)
        self.picture: Picture
        entries = [(e.group, e.key, e.title) for e in exhibits]
        self.chooser = Chooser(heading, entries, self._describe, chosen)
        self._below = self.picture
        super().__init__([self.chooser, self.picture])
        self.add_class("klab-gallery")
        self.chooser.observe(self._replace, "words")

    def _describe(self, key: str) -> Words:
        words, self.picture = next(exhibit for exhibit in self.exhibits if exhibit.key == key).show()
        return words

    def _replace(self, _: Any) -> None:
        before, self._below = self._below, self.picture
        self.children = [self.chooser, self.picture]
        if before is not self.picture:
            before.close()

    def show(self, key: str) -> None:
        """Choose the exhibit with this key. ValueError for an unknown one."""
        self.chooser.press("choose", key)

    def text(self) -> str:
        """Return the text twins of both parts."""
        return f"{self.chooser.text()}\n\n{self.picture.text()}"

    def svg(self) -> str:
        """Return both parts as one standalone SVG."""
        return stack([self.chooser.svg(), self.picture.svg()])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Gallery {self.chooser.heading!r}, {self.chooser.chosen!r}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the live widgets, and for places without a kernel the SVG and the text."""
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "image/svg+xml": self.svg(), "text/plain": self.text()}, metadata


def stack(pictures: Sequence[str]) -> str:
    """Return standalone SVGs, one below the other, as one. ValueError for one without a viewBox."""
    parts, wide, y = [], 0.0, 0.0
    for picture in pictures:
        found = HEIGHT.search(picture)
        if found is None:
            raise ValueError("a picture without a viewBox cannot be put below another one")
        parts.append(picture.replace("<svg ", f'<svg y="{y:g}" height="{float(found["height"]):g}" ', 1))
        wide, y = max(wide, float(found["width"])), y + float(found["height"])
    return f"{open_svg(wide, y)}>{''.join(parts)}</svg>"
