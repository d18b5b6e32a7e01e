"""The place where a command finds or puts a history: a path, or a URI of any file system that pyarrow opens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kafkalab.cli.command_line import CommandLineError
from kafkalab.cli.spark_options import NO_PYSPARK
from kafkalab.limits import truncate

if TYPE_CHECKING:
    from kafkalab.spark.storage.places import Place


def history_place(text: str) -> Path | Place:
    """Return a path of this machine as it was typed, or a place elsewhere. CommandLineError for a URI that is none."""
    if "://" not in text:
        return Path(text)
    try:
        from kafkalab.spark.storage.places import place_of

        place = place_of(text)
        place.resolve()
        return place.local or place
    except ImportError:
        raise CommandLineError(NO_PYSPARK.format(python=sys.prefix)) from None
    except ValueError as error:
        raise CommandLineError(truncate(error)) from None
