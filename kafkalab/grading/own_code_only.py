"""Refuse a function of kafkalab as an answer: it is to be written in the notebook."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from kafkalab.grading.exercise import WrongType


def refuse_borrowed(answer: Callable[..., Any]) -> None:
    """Raise WrongType if the answer is a function of kafkalab, or calls one.

    A function of a notebook's process has been looked at there; its `borrowed` is what was found.
    """
    name = getattr(answer, "borrowed", None)
    if name is None:
        name = borrowed_by(answer)
    if name:
        raise WrongType(f"{name} is kafkalab's own. Write the function in this notebook, without it.")


def borrowed_by(answer: Callable[..., Any]) -> str:
    """Return the name of the function of kafkalab that the answer is, or calls by its name; empty if there is none."""
    own = inspect.unwrap(answer)
    own = own.func if isinstance(own, partial) else own
    code, names = getattr(own, "__code__", None), getattr(own, "__globals__", {})
    called = code.co_names if code else ()
    used = [own, *(names[name] for name in called if name in names)]
    for function in used:
        if str(getattr(function, "__module__", "")).split(".")[0] == "kafkalab":
            return str(getattr(function, "__name__", "kafkalab"))
    return "kafkalab" if any(name.split(".")[0] == "kafkalab" for name in called) else ""
