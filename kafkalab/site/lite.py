"""JupyterLite: the labs' notebooks with a Python kernel that runs in the browser, built into the site's folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kafkalab.site.runtime import CannotBuildError, lay_out

FOLDER = "jupyter"
"""The folder of the site that is JupyterLite."""
PYTHON = Path("static", "pyodide")
"""The folder of the site that holds Pyodide and the packages; the page of one lab loads from it, too."""
APPS = ("notebooks", "lab", "edit")
EXTENSIONS = ("@jupyterlite/pyodide-kernel-extension", "@jupyter-widgets/jupyterlab-manager", "anywidget")
PLACES = tuple(Path(sys.prefix, "share", "jupyter", name) for name in ("lite", "labextensions"))
"""The places of the extensions: `make` puts JupyterLite's own one where JupyterLab does not find it."""
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
KERNELS_OWN = ("ipykernel", "piplite", "pyodide_kernel", "widgetsnbextension-4")
"""The prefixes of the names of the wheels that the kernel's extension brings."""
DRIVERS = ["asyncStorage", "localStorageWrapper", "memoryStorageDriver"]
"""JupyterLite's stores of files, the best first: IndexedDB, localStorage, memory. Without the last a notebook does not
open in a Firefox that blocks all site data."""
NOT_INSTALLED = "the site needs jupyterlite-core and jupyterlite-pyodide-kernel: `make site`, or pip install '.[site]'"


def notebook_address(path: str) -> str:
    """Return the address, from the site's folder, of a notebook alone: another tab's kernel does not slow it down."""
    return f"{FOLDER}/notebooks/index.html?path={path}"


def build_lite(root: Path, site: Path, notebooks: Path) -> None:
    """Build JupyterLite and its Python into the folder `site`, with the files below `notebooks` as its contents.

    `root` is the folder of pyproject.toml.
    """
    found = (next((place / name for place in PLACES if (place / name).is_dir()), None) for name in EXTENSIONS)
    extensions = [folder for folder in found if folder is not None]
    if not (find_spec("jupyterlite_core") and len(extensions) == len(EXTENSIONS)):
        raise CannotBuildError(NOT_INSTALLED)
    wheels = extensions[0] / "static" / "pypi"
    own = [path for path in sorted(wheels.glob("*.whl")) if path.name.startswith(KERNELS_OWN)]
    packages = lay_out(root, site / PYTHON, own)
    with tempfile.TemporaryDirectory() as folder:  # a build that finds traces of another merges no settings
        place = Path(folder)
        _write(place / "jupyter-lite.json", _settings(packages))
        _write(place / "jupyter_lite_config.json", _how(site / FOLDER, extensions, notebooks))
        shutil.copy(root / "binder" / "overrides.json", place / "overrides.json")
        _run(place)


def _settings(packages: list[str]) -> dict[str, object]:
    """Return what JupyterLite's pages read: Python comes from this site, and nothing from elsewhere."""
    kernel = {
        "pyodideUrl": f"./../{PYTHON.as_posix()}/python.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": packages},
    }
    storage = {f"{what}StorageDrivers": DRIVERS for what in ("contents", "settings", "workspaces")}
    told = {"exposeAppInBrowser": "true", "enableMemoryStorage": True, **storage}
    page = {"appName": "kafkalab", "litePluginSettings": {KERNEL: kernel}, **told}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": page}


def _how(output: Path, extensions: list[Path], notebooks: Path) -> dict[str, object]:
    """Return the builder's own settings: only the extensions that the labs need, of all that are installed."""
    return {
        "LiteBuildConfig": {
            "output_dir": str(output.absolute()),
            "contents": [str(notebooks.absolute())],
            "ignore_sys_prefix": True,
            "federated_extensions": list(map(str, extensions)),
            "apps": list(APPS),
            "no_sourcemaps": True,
        }
    }


def _write(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _run(folder: Path) -> None:
    """Run JupyterLite's builder in the folder; raise CannotBuildError with its last lines if it fails."""
    command = [sys.executable, "-m", "jupyterlite_core.app", "build"]
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=folder, env=quiet, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise CannotBuildError("JupyterLite's builder failed:\n" + "\n".join(lines[-12:]))
