"""Folders for what the lab and its checks write; the end of Python removes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from kafkalab.spark.storage.scratch import Scratch


@cache
def _scratch() -> Scratch:
    return Scratch(None, "kafkalab-lab16-")


def make_folder() -> Path:
    """Make a new folder."""
    return Path(mkdtemp(dir=_scratch().folder))
