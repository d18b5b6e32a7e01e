"""Every colour of the pictures, reports and pages.

Static pictures are drawn on white, with the literals. Live pictures and pages use the variables of CSS: pages declare
them, and `python -m tests.widgets.payload_types` writes them into pictures/src/palette.css.
"""

from __future__ import annotations

WHITE, DARK, DIM, RULE, PALE, PALE_BLUE = "#ffffff", "#202124", "#5f6368", "#bdc1c6", "#f1f3f4", "#e3eefb"
GREEN, RED, AMBER, BLUE, VIOLET = "#176b30", "#b3141f", "#9a5b00", "#0b57a4", "#7030a8"
CATEGORY_COLOUR = {"transaction": BLUE, "verification": VIOLET, "replication": DIM, "metadata": AMBER}
HUES = {
    "focus": "var(--jp-brand-color1, light-dark(#1976d2, #64b5f6))",
    "blue": "#0b6bcb",
    "violet": "#8e3fd0",
    "green": "#1b8a3c",
    "red": "#d3222e",
    "amber": "#b06900",
    "client": "#00796b",
    "leader": "#3a4bb5",
    "txn-coordinator": "#b3257e",
    "group-coordinator": "#80650c",
}
"""Three quarters of a sign's colour; the theme's text is the rest."""
VARIABLES = {
    "fg": f"var(--jp-ui-font-color1, light-dark({DARK}, #e6e6e6))",
    "text": f"var(--jp-content-font-color0, light-dark(#000000, {WHITE}))",
    "bg": f"var(--jp-layout-color1, light-dark({WHITE}, #1c1c1c))",
    "rule": f"var(--jp-border-color1, light-dark({RULE}, #616161))",
    "dim": "color-mix(in srgb, var(--text) 65%, var(--bg))",
    "bg2": "color-mix(in srgb, var(--bg) 93%, var(--text))",
} | {name: f"color-mix(in srgb-linear, {hue} 75%, var(--text))" for name, hue in HUES.items()}
"""JupyterLab's colours where there are any; elsewhere those of the element's color-scheme, light if it has none."""
FORCED = {"bg": "Canvas", "bg2": "Canvas", "focus": "Highlight", "green": "Highlight"}
"""The colours of the system that are not its text's, where a reader has the browser use the system's."""


def declare_variables(selector: str) -> str:
    """Return a rule of CSS that gives the selected elements the variables."""
    lines = "".join(f"\t--{name}: {value};\n" for name, value in VARIABLES.items())
    forced = "".join(f"\t\t--{name}: {FORCED.get(name, 'CanvasText')};\n" for name in VARIABLES)
    return f"{selector} {{\n{lines}\t@media (forced-colors: active) {{\n{forced}\t}}\n}}\n"
