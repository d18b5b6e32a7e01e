"""Build the book alone: `python -m kafkalab.site.book FOLDER [LAB ...]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kafkalab.site.book.build import build_book

with tempfile.TemporaryDirectory() as folder:
    build_book(Path.cwd(), Path(sys.argv[1]), Path(folder), sys.argv[2:])
