"""Binder takes the project as it is meant: repo2docker's own detection, and postBuild in an environment of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.empty_environments import empty_environment, install, plain

pytestmark = pytest.mark.index

REPO2DOCKER = "jupyter-repo2docker==2026.4.0"
DETECT = """import json, os, sys
from repo2docker.app import Repo2Docker
os.chdir(sys.argv[1])
found = [p for p in (kind("docker.io/library/buildpack-deps:noble") for kind in Repo2Docker().buildpacks) if p.detect()]
pack = found[0]
print(json.dumps({"pack": type(pack).__name__, "python": pack.python_version, "folder": pack.binder_dir,
    "dependencies": pack.environment_yaml["dependencies"], "after": pack.get_post_build_scripts(),
    "start": pack.get_start_script()}))
"""
PARTS = ("binder", "kafkalab", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "environment.yml", "labs")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that makes an empty environment, with pip and these packages in it; skips where no index answers."""

    def make(*packages: str) -> Path:
        place = empty_environment(tmp_path_factory.mktemp("environment"))
        install(place, "--quiet", *(packages or ("hatchling==1.33.0",)))
        return place

    return make


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """A copy of what Binder would clone."""
    for name in PARTS:
        if (root / name).is_dir():
            shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, tmp_path)
    return tmp_path


def test_repo2docker_finds_the_conda_environment_and_post_build(
    environment: Callable[..., Path], checkout: Path
) -> None:
    python = environment(REPO2DOCKER) / "bin" / "python"
    run = subprocess.run(
        [python, "-c", DETECT, str(checkout)], capture_output=True, text=True, timeout=120, env=plain()
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert (found["pack"], found["python"], found["folder"]) == ("CondaBuildPack", "3.12", "binder")
    assert found["after"] == ["binder/postBuild"]
    assert found["start"] == "${REPO_DIR}/binder/start"
    assert "jupyterlab==4.6.6" in found["dependencies"][-1]["pip"]


def test_post_build_installs_kafkalab_twice_in_an_environment_that_has_only_pip(
    environment: Callable[..., Path], checkout: Path
) -> None:
    place = environment()
    there = plain() | {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    for _ in range(2):
        run = subprocess.run(
            [checkout / "binder" / "postBuild"], env=there, capture_output=True, text=True, timeout=600
        )
        assert run.returncode == 0, run.stderr
    settings = place / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    assert settings.read_bytes() == (checkout / "binder" / "overrides.json").read_bytes()
    where = subprocess.run(
        [place / "bin" / "python", "-c", "import kafkalab; print(kafkalab.__file__)"],
        cwd=place, capture_output=True, text=True, timeout=60, env=plain(),
    )  # fmt: skip
    assert where.stdout.strip() == str(checkout / "kafkalab" / "__init__.py")
    command = [str(place / "bin" / "kafkalab"), "--help"]
    built = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=120, env=plain())
    assert (built.returncode, built.stderr) == (0, "")
    assert "build-labs" in built.stdout


SIZE = re.compile(r"Downloading (\S+)(?<![.]metadata) [(]([\d.]+) (bytes|kB|MB|GB)[)]")
UNITS = {"bytes": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}


def test_the_pip_part_can_be_installed_as_a_whole(
    root: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    parts = yaml.safe_load((root / "binder" / "environment.yml").read_text())["dependencies"][-1]["pip"]
    place, began = empty_environment(tmp_path / "environment"), time.monotonic()
    printed = install(place, "--no-cache-dir", "--no-compile", "--progress-bar", "off", *parts)
    took = time.monotonic() - began
    sizes = {name: float(number) * UNITS[unit] for name, number, unit in SIZE.findall(printed)}
    largest = max(sizes, key=sizes.__getitem__, default="none")
    record_property(
        "summary",
        f"Binder's pip part: {len(sizes)} packages, {sum(sizes.values()):.0f} MB to download "
        f"({largest}: {sizes.get(largest, 0):.0f} MB), installed, not compiled, in {took:.0f} s",
    )
    checked = subprocess.run([place / "bin" / "pip", "check"], capture_output=True, text=True, timeout=60, env=plain())
    assert (checked.returncode, checked.stdout) == (0, "No broken requirements found.\n")
    assert len(sizes) > len(parts)
