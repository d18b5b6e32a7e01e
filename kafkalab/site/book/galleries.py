"""A collection in an article: each exhibit can be unfolded, and a link of the tables unfolds it.

In a notebook a list chooses which one Python runs; in the book all are there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalab.markup import Markup, element
from kafkalab.site.book.recorder import EXHIBITS, Kept


def html_of(gallery: Kept, write: Callable[[str, dict[str, Any]], str]) -> Markup:
    """Return the exhibits, the chosen one unfolded; `write` writes the picture of a name and returns its element."""
    made = []
    for key, title, words, data in gallery[EXHIBITS]:
        head = element("summary", element("b", key), " ", title)
        told = element("dl", *(part for name, text in words for part in (element("dt", name), element("dd", text))))
        look = {"class": "run", "id": f"show:{key}", "open": "open" if key == gallery["chosen"] else ""}
        made.append(element("details", head, told, Markup(write(key, data)), **look))
    return element("div", *made, class_="exhibits")
