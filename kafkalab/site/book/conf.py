"""What Sphinx is told about the book. It reads sources that `kafkalab.site.book.build` has laid out."""

from __future__ import annotations

from kafkalab.reference.bug import anchor_of

project = "kafkalab"
author = "the kafkalab developers"
project_copyright = author
extensions = ["myst_nb", "kafkalab.site.book.sphinx_extension"]
html_theme = "sphinx_book_theme"
html_title = "Kafka exactly-once"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
html_theme_options = {
    "show_navbar_depth": 1,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "toc_title": "On this page",
}
html_context = {"default_mode": "auto"}
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 5
myst_heading_slug_func = anchor_of
suppress_warnings: list[str] = []
