"""The links of notebooks and documents as Sphinx resolves them: to headings, to terms, and into pictures."""

from __future__ import annotations

import re
from html import escape

from kafkalab.course.glossary import terms
from kafkalab.reference.bug import anchor_of

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
INTO_A_PICTURE = re.compile(r"#([A-Z]\w*#\d+|chapter:[\w-]+|show:.+)")
NOTEBOOK = re.compile(r"((?:\.\./labs/|labs/)?)(\d\w*)\.ipynb(?:#(.+))?")
START = "00_start"
CODE = re.compile(r"`([^`]*)`")


def for_sphinx(text: str, glossary: str) -> str:
    """Return Markdown with its links as Sphinx resolves them; `glossary` is the way to the page of the terms."""
    tooltips = {
        term.anchor: " ".join(
            f'{name}="{text.replace("`", "").replace(chr(34), chr(39))}"'
            for name, text in (("title", term.english), ("data-chinese", term.chinese))
        )
        for term in terms()
    }

    def link(found: re.Match[str]) -> str:
        words, address = found[1], found[2]
        if INTO_A_PICTURE.fullmatch(address):
            return f'<a href="{escape(address)}">{_words(words)}</a>'
        if not (notebook := NOTEBOOK.fullmatch(address)):
            return found[0]
        folder, name, heading = notebook.groups()
        if name == START and heading in tooltips:
            place = f'href="{glossary}#{heading.lower()}" {tooltips[heading]}'
            return f'<a class="term" {place}>{_words(words)}</a>'
        return f"[{words}]({folder}{name}.ipynb{'#' + anchor_of(heading.replace('-', ' ')) if heading else ''})"

    return LINK.sub(link, text)


def _words(markdown: str) -> str:
    """Return the words of a link as HTML."""
    return CODE.sub(r"<code>\1</code>", escape(markdown, quote=False)).replace("**", "")
