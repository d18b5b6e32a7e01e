"""The site's first page: the labs, what else there is to read, and what becomes of the learner's work."""

from __future__ import annotations

from html import escape
from pathlib import Path

import mistune

from kafkalab.course.glossary import terms
from kafkalab.course.lab import CourseLab
from kafkalab.course.labs import COURSE
from kafkalab.grading.builder import LABS
from kafkalab.site.frame import GUARD, WORK, framed, notebook_address
from kafkalab.site.kernel.build import EARLY
from kafkalab.site.notebooks import NEEDS_MORE

INDEX, GLOSSARY = "index.html", "glossary.html"
PARTS = (
    ("page/index.html", "One lab's run, quickly", "a run in one page: no notebook, a third of the wait"),
    ("recordings/index.html", "Recordings", "every rule, bug and error as a run to step through"),
)
"""Pages that are linked where the site has them: address, name, what it is."""
READ = (
    (GLOSSARY, "Glossary · 术语表", "every term in one sentence, in English and Chinese"),
    ("labs/README.html", "Questions", "which lab answers which question"),
    ("docs/protocol.html", "What Kafka does", "every table, check, format and default"),
    ("docs/errors.html", "Errors", "what each means, and what to do about it"),
    ("docs/rules.html", "Rules", "what goes wrong without each"),
    ("docs/bugs.html", "Bugs", "those that Kafka had, each with its cure and without"),
    ("docs/symptoms.html", "Symptoms", "my cluster shows this: where do I look?"),
    ("docs/teaching.html", "Teaching", "plans for 90 minutes and for half a day"),
    ("README.html", "About kafkalab", "what it is, and how to install it"),
)


def write_start_page(root: Path, site: Path) -> list[Path]:
    """Write the first page and the glossary's; return them."""
    there = [lab for lab in COURSE if (root / LABS / f"{lab.name}.ipynb").is_file()]
    more = [part for part in PARTS if (site / part[0]).is_file()]
    pages = {INDEX: framed("kafkalab", _start(there, more), more=_head()), GLOSSARY: framed("Glossary", _glossary())}
    for name, text in pages.items():
        (site / name).write_text(text, encoding="utf-8")
    return [site / name for name in pages]


def _head() -> str:
    modules = "".join(f'<script type="module" src="{name}"></script>\n' for name in (WORK, EARLY))
    return f'<script src="{GUARD}"></script>\n{modules}'


def _start(labs: list[CourseLab], more: list[tuple[str, str, str]]) -> str:
    first = labs[0]
    rows = "\n".join(_row(lab) for lab in labs)
    listed = "\n".join(f'<li><a href="{address}">{name}</a>: {what}</li>' for address, name, what in (*more, *READ))
    return f"""<h1>See what Kafka's exactly-once really promises</h1>
<p>A small Kafka runs in this browser tab and answers as Apache Kafka answers. Stop it at any frame, lose a response,
crash a broker, rewind, and read which guarantee breaks and why. Nothing is installed, and nothing leaves this tab.</p>
<p><a class="start" href="{_address(first.name)}">Start here: {escape(first.title)} →</a></p>
<p class="dim">It takes about half an hour. You need to know what a topic and an offset are. The first lab
takes a while to open (up to half a minute on a slow computer), since Python itself is loaded; the browser keeps it.
To stop a cell that runs on and on, take Kernel → Interrupt Kernel, or Kernel → Restart Kernel: what you solved is kept.
<a href="{_address("00_start")}">The start page as a notebook</a> shows what you have solved.</p>
<h2 id="labs">The labs</h2>
<table>
<thead><tr><th></th><th>lab</th><th>what you will know</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
<h2 id="more">More</h2>
<ul>
{listed}
</ul>
<h2 id="work">Your work</h2>
<p>Notebooks and <code>progress.json</code> are kept by this browser, on this computer, until you delete this site's
data. To take them along, or to hand them in:</p>
<p><button type="button" id="download-work">Download my work</button> <span id="work-said" role="status"></span></p>
<p class="dim">On another computer: open a lab in <a href="jupyter/lab/index.html">JupyterLab</a>, drop the files into
its list of files, and run <code>progress(also="progress.json")</code> if some exercises are solved there, too.</p>
"""


def _row(lab: CourseLab) -> str:
    need = NEEDS_MORE.get(lab.name)
    where = f' <span class="dim">(to read; to run it you need {need}: make lab, or Binder)</span>' if need else ""
    link = f'<a href="{_address(lab.name)}">{escape(lab.title)}</a>'
    return f"<tr><td>{lab.number}</td><td>{link}</td><td>{escape(lab.know)}{where}</td></tr>"


def _address(name: str) -> str:
    return notebook_address(f"{LABS.as_posix()}/{name}.ipynb")


def _glossary() -> str:
    search = (
        "const w=this.value.trim().toLowerCase();for(const r of document.querySelectorAll('tbody tr'))"
        "r.hidden=!r.textContent.toLowerCase().includes(w)"
    )
    inline = mistune.create_markdown(escape=True)
    rows = []
    for term in terms():
        name = str(inline(term.name)).strip().removeprefix("<p>").removesuffix("</p>")
        other = f" ({escape(term.other)})" if term.other else ""
        cells = (f"<b>{name}</b>{other}", str(inline(term.english)), str(inline(term.chinese)))
        rows.append(f'<tr id="{escape(term.anchor)}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    other = "if(location.hash&&!document.getElementById(decodeURIComponent(location.hash.slice(1))))"
    to_notebook = f"<script>{other}location.replace('{_address('00_start')}'+location.hash)</script>\n"
    return (
        "<h1>Glossary · 术语表</h1>\n"
        '<p><input type="search" placeholder="Search · 搜索" aria-label="Search the glossary" '
        f'oninput="{search}"></p>\n'
        "<table>\n<thead><tr><th>term</th><th>in a sentence</th><th>中文</th></tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + f"\n</tbody>\n</table>\n{to_notebook}"
    )
