"""A collection in an article: each exhibit can be unfolded, and a link of the tables unfolds it.

In a notebook a list chooses which one Python runs; in the book all are there.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from kafkalab.site.book.recorder import EXHIBITS, Kept

EXHIBIT = """<details class="run" id="show:{key}"{opened}><summary><b>{key}</b> {title}</summary>
<dl>{words}</dl>
{picture}
</details>
"""


def html_of(gallery: Kept, write: Callable[[str, dict[str, Any]], str]) -> str:
    """Return the exhibits, the chosen one unfolded; `write` writes the picture of a name and returns its element."""
    made = []
    for key, title, words, data in gallery[EXHIBITS]:
        told = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in words)
        opened = " open" if key == gallery["chosen"] else ""
        made.append(EXHIBIT.format(key=key, title=escape(title), opened=opened, words=told, picture=write(key, data)))
    return f'<div class="exhibits">{"".join(made)}</div>'
