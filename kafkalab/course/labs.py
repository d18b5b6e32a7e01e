"""The labs, found in the folders labNN/ beside this file: their facts, exercises and scenarios.

Importing this module registers every labNN/exercise_N.py as "LNN.EN" with the grading engine (without importing it),
and imports every labNN/scenario.py, which registers its scenarios. `kafkalab.PROVIDERS` names this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from kafkalab import course
from kafkalab.course.lab import PLANNED, CourseLab
from kafkalab.grading.exercise import EXERCISES
from kafkalab.sim.scenario import Scenario
from kafkalab.sim.scenario_names import SCENARIOS

FOLDER, EXERCISE = re.compile(r"lab(\d\d)"), re.compile(r"exercise_(\d+)")
_SCENARIOS: list[ModuleType] = []


def _load_lab(folder: str) -> CourseLab:
    """The facts of the lab in this folder; its exercises and scenarios are registered."""
    package = import_module(f"{course.__name__}.{folder}")
    lab: CourseLab = package.LAB
    assert folder == f"lab{lab.number:02}", f"the lab {lab.name} lies in {folder}"
    for name in sorted(module.name for module in iter_modules(package.__path__)):
        if exercise := EXERCISE.fullmatch(name):
            EXERCISES.register(f"L{lab.number}.E{exercise[1]}", f"{package.__name__}.{name}")
        if name == "scenario":
            _SCENARIOS.append(import_module(f"{package.__name__}.{name}"))
    return lab


FOUND = tuple(_load_lab(n) for n in sorted(m.name for m in iter_modules(course.__path__)) if FOLDER.fullmatch(n))
_numbers = [lab.number for lab in FOUND]
COURSE = tuple(sorted((*FOUND, *(p for p in PLANNED if p.number not in _numbers)), key=lambda lab: lab.place))
"""All labs in the order of reading, planned ones included."""
BY_NUMBER = {lab.number: lab for lab in COURSE}


def names() -> dict[str, Callable[..., Scenario]]:
    """Return what `kafkalab` exports for the labs: named scenarios, and each lab's other functions that make one."""
    found = {name: made.func for name, made in SCENARIOS.items() if name == made.func.__name__}
    for module in _SCENARIOS:
        own = (f for f in vars(module).values() if getattr(f, "__module__", "") == module.__name__)
        found |= {f.__name__: f for f in own if callable(f) and not f.__name__.startswith("_")}
    return found
