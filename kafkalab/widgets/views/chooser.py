"""A list to choose from, with what is to be known of the chosen one: what stands above the pictures of a collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import traitlets

from kafkalab.limits import quote
from kafkalab.palette import BLUE, DARK, DIM
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.view import Picture

Entry: TypeAlias = tuple[str, str, str]
"""The group, the key and the title of an entry."""
Words: TypeAlias = list[tuple[str, str]]
"""The words on an entry: ("The cure", "Since 4.0.0 …")."""
MOVES = ("left", "right", "home", "end")
LINE, ROOM = 18, 800


class Chooser(Picture):
    """Choose an entry by its key, with the arrows, or by a link `[text](#show:KEY)` in the notebook's text.

    `tell(key)` is called once for each choice, and returns the words that are shown of it.
    """

    part = "chooser"

    heading = traitlets.Unicode("").tag(sync=True)
    entries: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    chosen = traitlets.Unicode("").tag(sync=True)
    words: traitlets.List[list[str]] = traitlets.List().tag(sync=True)

    def __init__(
        self, heading: str, entries: Sequence[Entry], tell: Callable[[str], Words], chosen: str = "",
        size: str = "laptop",
    ) -> None:  # fmt: skip
        """Show `chosen`, or the first entry. ValueError for a key that no entry has, and without entries."""
        if not entries:
            raise ValueError("a chooser needs at least one entry")
        self._tell, self._keys = tell, [key for _, key, _ in entries]
        key = self._check_known(chosen or self._keys[0])
        words = [list(pair) for pair in tell(key)]
        super().__init__(heading=heading, entries=[list(e) for e in entries], chosen=key, words=words, size=size)
        self.hear({"press": lambda said: self.press(str(said.get("action")), str(said.get("target", "")))})

    def _check_known(self, key: str) -> str:
        if key not in self._keys:
            raise ValueError(f"no entry {quote(key)}; there are {', '.join(self._keys)}")
        return key

    def press(self, action: str, target: str = "") -> None:
        """`press("choose", key)`; left, right, home, end choose the entry before, after, first, last.

        ValueError for an unknown action or key, and for a step beyond either end.
        """
        at = self._keys.index(self.chosen)
        if action == "choose":
            key = self._check_known(target)
        elif action in MOVES:
            to = {"left": at - 1, "right": at + 1, "home": 0, "end": len(self._keys) - 1}[action]
            if not 0 <= to < len(self._keys):
                raise ValueError(f"this is the {'first' if to < 0 else 'last'} entry")
            key = self._keys[to]
        else:
            raise ValueError(f"no action {quote(action)}; there are choose, {', '.join(MOVES)}")
        words = [list(pair) for pair in self._tell(key)]
        with self.hold_sync():
            self.chosen, self.words = key, words

    def line(self) -> str:
        """Return the chosen entry's place, key and title."""
        at = self._keys.index(self.chosen)
        name = ": ".join(filter(None, self.entries[at][1:]))
        return f"{at + 1} of {len(self._keys)} · {name}"

    def text(self) -> str:
        """Return what is shown of the chosen entry."""
        return "\n".join([f"{self.heading}: {self.line()}", *(f"  {label}: {text}" for label, text in self.words)])

    def svg(self) -> str:
        """Return the same as a standalone SVG."""
        canvas = Canvas(y=30)
        canvas.text(18, canvas.y, fit(self.heading, 160), DIM)
        canvas.text(184, canvas.y, fit(self.line(), 750), DARK, more=BOLD)
        for label, text in self.words:
            canvas.y += 6
            for number, line in enumerate(break_lines(text, ROOM)):
                canvas.y += LINE
                if not number:
                    canvas.text(18, canvas.y, label, BLUE, more=BOLD)
                canvas.text(140, canvas.y, line, DARK)
        return standalone(canvas, f"{self.heading}: {self.line()}")

    def __repr__(self) -> str:
        return f"<Chooser {self.heading!r}, {self.chosen!r}>"


def break_lines(text: str, room: float) -> list[str]:
    """Return the text in lines that are no wider than `room`."""
    lines = [""]
    for word in text.split():
        more = f"{lines[-1]} {word}".strip()
        if fit(more, room) == more or not lines[-1]:
            lines[-1] = more
        else:
            lines.append(word)
    return lines
