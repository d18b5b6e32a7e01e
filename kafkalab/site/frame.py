"""What every page of the site has: its style, its way back to the start, and how it opens a lab."""

from __future__ import annotations

from html import escape
from pathlib import Path

from kafkalab.site.lite import FOLDER

HERE = Path(__file__).parent
STYLE, GUARD, WORK = "site.css", "guard.js", "work.js"
ASSETS = (STYLE, GUARD, WORK)


def framed(title: str, body: str, up: str = "", more: str = "") -> str:
    """Return a page with this title and body; `up` leads from it to the site's folder, `more` goes into its head."""
    back = f'<nav><a href="{up}index.html">kafkalab</a></nav>\n' if title != "kafkalab" else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{up}{STYLE}">
{more}</head>
<body>
{back}<main>
{body}</main>
</body>
</html>
"""


def notebook_address(path: str) -> str:
    """Return the address, from the site's folder, of a notebook alone: another tab's kernel does not slow it down."""
    return f"{FOLDER}/notebooks/index.html?path={path}"


def write_assets(site: Path) -> None:
    """Write the style and the scripts that the pages share."""
    for name in ASSETS:
        (site / name).write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")
