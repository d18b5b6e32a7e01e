"""The places of the course's files: beside the package in a checkout, inside it where the wheel was installed."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
SHIPPED = PACKAGE / "shipped"
"""The folder that pyproject.toml puts into the wheel beside the package; a checkout has no such folder."""


def course_root() -> Path:
    """Return the folder that holds labs/, data/ and docs/ as they came with this kafkalab."""
    return SHIPPED if SHIPPED.is_dir() else PACKAGE.parent
