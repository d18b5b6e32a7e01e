"""The definition of one setting: its name, type and range, with the messages of Kafka's `ConfigDef`."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any, TypeVar

from kafkalab.client.exceptions import ConfigError

T = TypeVar("T")
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
_BITS = {"INT": ("a 32-bit integer", INT_MAX), "LONG": ("a 64-bit integer (i.e. long)", LONG_MAX)}


def to_dotted(name: str) -> str:
    """`to_dotted("linger_ms") == "linger.ms"`."""
    return name.replace("_", ".")


def _format_value(value: object) -> object:
    """Return the value as Java prints it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else value


def wrong(name: str, value: object, why: str) -> ConfigError:
    """Return Kafka's exception for a value that a setting cannot have."""
    return ConfigError(f"Invalid value {_format_value(value)} for configuration {to_dotted(name)}: {why}")


def java_class(value: object) -> str:
    """Return the value's class in Java: `java_class(2.5) == "java.lang.Double"`."""
    if isinstance(value, bool):
        return "java.lang.Boolean"
    if isinstance(value, int):
        return "java.lang.Integer" if -INT_MAX - 1 <= value <= INT_MAX else "java.lang.Long"
    return {float: "java.lang.Double", str: "java.lang.String"}.get(type(value), type(value).__name__)


def number(name: str, value: object, kind: str, least: int | None) -> int:
    """Return the number; `kind` is INT or LONG. A text is parsed, as in a properties file."""
    what, most = _BITS[kind]
    if value is None:
        raise wrong(name, value, "Value must be non-null")
    if isinstance(value, str):
        try:
            value = int(value.strip())
        except ValueError:
            raise wrong(name, value, f"Not a number of type {kind}") from None
        if not -most - 1 <= value <= most:
            raise wrong(name, value, f"Not a number of type {kind}")
    if isinstance(value, bool) or not isinstance(value, int) or not -most - 1 <= value <= most:
        raise wrong(name, value, f"Expected value to be {what}, but it was a {java_class(value)}")
    if least is not None and value < least:
        raise wrong(name, value, f"Value must be at least {least}")
    return int(value)


def truth(name: str, value: object) -> bool:
    """Return True or False; the texts "true" and "false" are parsed."""
    said = value.strip().lower() if isinstance(value, str) else value
    if said in ("true", "false"):
        return said == "true"
    if isinstance(value, bool):
        return value
    raise wrong(name, value, "Expected value to be either true or false")


def text(name: str, value: object) -> str:
    """Return the text without surrounding spaces."""
    if not isinstance(value, str):
        raise wrong(name, value, f"Expected value to be a string, but it was a {java_class(value)}")
    return value.strip()


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """Return the text if it is one of the choices."""
    said = text(name, value)
    if said not in choices:
        raise wrong(name, said, f"String must be one of: {', '.join(choices)}")
    return said


def configure(kind: type[T], given: dict[str, Any]) -> T:
    """Return the configuration with these settings, named with dots or underscores.

    ConfigError for a name that is none: Kafka only warns of it, and the setting is without effect; here it is refused.
    """
    known = [f.name for f in fields(kind) if f.init]  # type: ignore[arg-type]
    settings = {name.replace(".", "_"): value for name, value in given.items()}
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            there = ", ".join(map(to_dotted, known))
            hint = f"; did you mean {to_dotted(near[0])}?" if near else f"; there are {there}"
            raise ConfigError(f"no setting {to_dotted(name)}{hint}")
    return kind(**settings)
