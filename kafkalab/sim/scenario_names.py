"""The scenarios that come with kafkalab, by name: what a short code and `from kafkalab import lab03` may name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from kafkalab.sim.registry import Registry
from kafkalab.sim.scenario import Scenario

Made = TypeVar("Made", bound=Callable[..., Scenario])
SCENARIOS: Registry[partial[Scenario]] = Registry("scenarios")
"""A name's function with the arguments of that variant. A name that codes have carried must stay: they are read for
good."""


def register_scenario(function: Made) -> Made:
    """Register a function `(profile=..., ...) -> Scenario` under its own name."""
    SCENARIOS.register(function.__name__, partial(function))
    return function


def variant(name: str, function: Callable[..., Scenario], **arguments: Any) -> None:
    """Register `function` with these arguments under `name`, so that its codes are short too."""
    SCENARIOS.register(name, partial(function, **arguments))
