"""The container's recipe: its command is one that `kafkalab serve` takes, and it installs what the wheel offers."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from kafkalab.cli import serve
from tests.control.test_commands import ask


@pytest.fixture
def recipe(root: Path) -> dict[str, str]:
    """The instructions of the recipe, each once."""
    lines = (root / "docs/control/Containerfile").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" ", 1) for line in lines if not line.startswith("#")]
    assert len({name for name, _ in rows}) == len(rows)
    return {name: rest for name, rest in rows}  # noqa: C416


def command_of(recipe: dict[str, str]) -> list[str]:
    return [*json.loads(recipe["ENTRYPOINT"]), *json.loads(recipe["CMD"])]


def test_the_command_listens_on_the_ports_that_are_exposed(recipe: dict[str, str]) -> None:
    words = command_of(recipe)
    assert words[:2] == ["kafkalab", "serve"]
    parser = argparse.ArgumentParser(exit_on_error=False)
    serve.add_options(parser)
    options = parser.parse_args(words[2:])
    ports = [options.port + number for number in range(options.brokers)]
    assert recipe["EXPOSE"].split() == [*map(str, ports), str(options.control)]
    assert (options.host, options.control_host, options.advertise) == ("0.0.0.0", "0.0.0.0", "localhost")


def test_it_installs_the_wheel_with_an_extra_that_there_is(recipe: dict[str, str], root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wheel = re.escape(project["name"].replace("-", "_"))
    assert re.fullmatch(rf"{wheel}-\*\.whl /tmp/", recipe["COPY"])
    extra = re.search(r"\.whl\)\[(\w+)\]", recipe["RUN"])
    assert extra is not None
    assert extra.group(1) in project["optional-dependencies"]
    assert project["requires-python"] == ">=3.11"
    assert recipe["FROM"] == "python:3.11-slim"
    assert recipe["USER"] == "nobody"


def test_the_same_command_serves_and_clients_are_told_the_advertised_name(recipe: dict[str, str]) -> None:
    words = [*command_of(recipe)[1:], "--port", "0", "--control", "0"]
    command = [sys.executable, "-m", "kafkalab.cli.main", *words]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    ready, control = process.stdout.readline().split(), process.stdout.readline().split()
    try:
        assert [place.partition(":")[0] for place in ready[1].split(",")] == ["localhost"] * 3
        assert ask(f"{control[1]}/status")["bootstrap_servers"] == ready[1]
        request = urllib.request.Request(f"{control[1]}/status", headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(request, timeout=10)
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "control listens on 0.0.0.0: whoever reaches it can press every fault" in said
