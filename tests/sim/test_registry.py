"""A scenario names programs that others provide: found in any process, whatever was imported first."""

from __future__ import annotations

import base64
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kafkalab
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.registry import Registry
from kafkalab.sim.scenario import Scenario

ROOT = Path(__file__).parents[2]
SAVED = ROOT / "data" / "lab03_answer_lost.klab"
PICKLED = base64.b64encode(pickle.dumps(Scenario.load(SAVED))).decode()
RUN = "from kafkalab.sim.cluster import Cluster; print(Cluster(scenario).run().digest())"
PROCESSES = {
    "a notebook": f"from kafkalab import Scenario; scenario = Scenario.load({str(SAVED)!r}); {RUN}",
    "the simulator alone": (
        f"from kafkalab.sim.scenario import Scenario; scenario = Scenario.load({str(SAVED)!r}); {RUN}"
    ),
    "an executor, which unpickles a scenario": (
        f"import base64, kafkalab.sim.scenario, pickle; scenario = pickle.loads(base64.b64decode({PICKLED!r})); "
        f"scenario.programs[0].function(); {RUN}"
    ),
}


def print_of(code: str) -> str:
    """Return what a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("who", PROCESSES)
def test_a_fresh_process_finds_the_programs_that_come_with_kafkalab(who: str) -> None:
    assert print_of(PROCESSES[who]) == f"{Cluster(Scenario.load(SAVED)).run().digest()}\n"


def test_the_command_line_runs_a_saved_scenario() -> None:
    assert "committed" in print_of(f"from kafkalab.cli.main import main; main(['run', {str(SAVED)!r}])")


def test_importing_kafkalab_loads_nothing_else() -> None:
    code = "import sys, kafkalab; print(sorted(m for m in sys.modules if m.split('.')[0] == 'kafkalab'))"
    assert print_of(code) == "['kafkalab']\n"


def test_importing_the_simulator_loads_no_program() -> None:
    code = (
        "import sys, kafkalab.sim.cluster, kafkalab.sim.scenario; "
        "print([m for m in sys.modules if m.startswith('kafkalab.programs')])"
    )
    assert print_of(code) == "[]\n"


def test_the_simulator_imports_nothing_by_a_name_of_its_own() -> None:
    sources = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "kafkalab" / "sim").rglob("*.py")}
    assert [name for name, text in sources.items() if "import_module" in text] == ["registry.py"]
    assert set(re.findall(r"import_module\((.*?)\)", sources["registry.py"])) == {'"kafkalab"', "module"}
    assert not [name for name, text in sources.items() if re.search(r"kafkalab[./]programs", text)]


def test_a_registry_imports_its_providers_once_when_it_is_first_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "provider_of_one.py").write_text("import kafkalab\nkafkalab.REGISTRY.register('one', 1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry: Registry[int] = Registry("numbers")
    monkeypatch.setattr(kafkalab, "PROVIDERS", {"numbers": ("provider_of_one",)})
    monkeypatch.setattr(kafkalab, "REGISTRY", registry, raising=False)
    registry.register("two", 2)
    assert "provider_of_one" not in sys.modules
    assert dict(registry) == {"two": 2, "one": 1}
    assert "provider_of_one" in sys.modules
    del sys.modules["provider_of_one"]
    assert len(registry) == 2
    assert "provider_of_one" not in sys.modules


def test_a_registry_whose_provider_fails_imports_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[int] = Registry("numbers")
    monkeypatch.setattr(kafkalab, "PROVIDERS", {"numbers": ("no_such_module_of_numbers",)})
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError):
            registry["one"]
    monkeypatch.setattr(kafkalab, "PROVIDERS", {"numbers": ()})
    with pytest.raises(KeyError):
        registry["one"]
