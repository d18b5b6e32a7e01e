"""Client programs that a scenario can name, raw requests, and random scenarios."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "billing", "first_transaction", "groups", "hanging_writer", "orders", "processor", "raw_requests", "readers",
    "transfers", "workers",
)  # fmt: skip
"""The modules whose programs a scenario can name."""


def register() -> None:
    """Import every module of `MODULES`; each registers its programs."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")
