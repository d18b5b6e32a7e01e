"""Write the page with Python in it: HTML, the picture's modules, and kafkalab as one archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from html import escape
from importlib.util import find_spec
from pathlib import Path
from string import Template

import kafkalab
from kafkalab.site.page.opening import FIRST, lab_of, runs
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.source import sent

HERE = Path(__file__).parent
PACKAGE = Path(kafkalab.__file__).parent
LEFT_OUT = ("cli", "live", "reference", "spark", "testing", "wire")
"""Parts of kafkalab that the page never imports."""
LEFT_OUT_OF_SITE = ("DESIGN.md",)
CODE = (".py", ".js", ".css", ".svg", ".json", ".md")


def write_page(folder: Path, runtime: str) -> None:
    """Write the page into `folder`; `runtime` is the address of Pyodide's files from there, such as "../pyodide/"."""
    folder.mkdir(parents=True, exist_ok=True)
    page = f"const RUNTIME = {runtime!r};\n{sent('page_shell.js')}\n{(HERE / 'page.js').read_text(encoding='utf-8')}"
    texts = {
        "index.html": Template((HERE / "index.html").read_text(encoding="utf-8")).substitute(runs=_options()),
        "page.js": page,
        "page.css": sent("page_shell.css") + (HERE / "page.css").read_text(encoding="utf-8"),
        "python_worker.js": (HERE / "python_worker.js").read_text(encoding="utf-8"),
        "sequence.js": Sequence._esm,
        "sequence.css": Sequence._css,
    }
    for name, text in texts.items():
        (folder / name).write_text(str(text), encoding="utf-8")
    (folder / "kafkalab.zip").write_bytes(archive())


def archive() -> bytes:
    """Return what Python gets in the page: kafkalab and traitlets, the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, path in sorted(_files()):
            zipped.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    for path in PACKAGE.rglob("*"):
        inside = path.relative_to(PACKAGE)
        if path.suffix in CODE and inside.parts[0] not in (*LEFT_OUT, *LEFT_OUT_OF_SITE):
            yield f"kafkalab/{inside.as_posix()}", path
    found = find_spec("traitlets")
    assert found is not None, "traitlets is installed with kafkalab"
    assert found.origin is not None, "traitlets has a folder"
    traitlets = Path(found.origin).parent
    for path in traitlets.rglob("*.py"):
        inside = path.relative_to(traitlets)
        if inside.parts[0] not in ("tests", "config"):
            yield f"traitlets/{inside.as_posix()}", path


def _options() -> str:
    """Return the labs' runs as the entries of a list, by lab."""
    groups: dict[str, list[str]] = {}
    for name in runs():
        lab, chosen = lab_of(name), " selected" if name == FIRST else ""
        title = f"{name}: {kafkalab.__getattr__(name)().title}"
        groups.setdefault(f"Lab {lab.number}, {lab.title}", []).append(
            f'<option value="{escape(name)}"{chosen}>{escape(title)}</option>'
        )
    return "\n".join(f'<optgroup label="{escape(lab)}">{"".join(names)}</optgroup>' for lab, names in groups.items())
