"""Sphinx's settings for the book. It reads sources that `kafkalab.site.book.build` has laid out."""

from __future__ import annotations

tags: set[str]  # Sphinx's own; "public" if the public address is known
project = "kafkalab"
author = "the kafkalab developers"
project_copyright = author
extensions = ["myst_nb", "kafkalab.site.book.sphinx_extension"]
if "public" in tags:  # noqa: F821
    extensions += ["sphinxext.opengraph", "sphinx_sitemap"]
html_theme = "sphinx_book_theme"
html_title = "Kafka exactly-once"
html_static_path = ["static"]
html_extra_path = ["404.html"]
templates_path = ["templates"]
html_css_files = ["book.css", "icons.css"]
html_js_files = [("book.js", {"type": "module"})]
smartquotes = False  # the words are those of the notebooks
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_last_updated_fmt = None
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["brand.html", "sbt-sidebar-nav.html"]}
html_theme_options = {
    "show_navbar_depth": 1,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "toc_title": "On this page",
    "article_header_end": "open_notebook.html, article-header-buttons.html",
}
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 5
myst_heading_slug_func = "kafkalab.reference.bug.anchor_of"
ogp_enable_meta_description = False  # each page has its own: see `sphinx_extension`
sitemap_url_scheme = "{link}"
suppress_warnings = ["myst.header"]  # a notebook goes from its title to "###": here the levels follow each other
