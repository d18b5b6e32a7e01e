"""The learners' notebooks as the site has them: pictures shown at once, and what cannot run here says where it can."""

from __future__ import annotations

import json
from pathlib import Path

from kafkalab.grading.builder import LABS, Notebook, read

NEEDS_MORE = dict.fromkeys(("12_auditing_with_spark", "16_spark_at_work"), "Spark and Java")
"""By its notebook's name, what a lab needs that no browser has."""
WHERE = "install kafkalab on your computer (`make lab`, with Java 17 or newer) or open the labs on Binder"
ELSEWHERE = (
    f"**This lab cannot run in a browser: it needs {{need}}.** Read it here; to run it, {WHERE}. "
    "All other labs run here."
)


def write_notebooks(root: Path, folder: Path) -> list[str]:
    """Write every lab's learner's copy below the folder; return their paths there."""
    (folder / LABS).mkdir(parents=True, exist_ok=True)
    paths = []
    for path in sorted((root / LABS).glob("[0-9]*.ipynb")):
        notebook = adapt(read(path), NEEDS_MORE.get(path.stem, ""))
        paths.append(f"{LABS.as_posix()}/{path.name}")
        (folder / paths[-1]).write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return paths


def adapt(notebook: Notebook, need: str = "") -> Notebook:
    """Return the notebook with its outputs trusted, and below its title a note on what it needs, if anything."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True  # a server signs notebooks instead; here nothing else shows pictures
    if need:
        note = {"cell_type": "markdown", "id": "elsewhere", "metadata": {}, "source": [ELSEWHERE.format(need=need)]}
        notebook["cells"].insert(1, note)
    return notebook
