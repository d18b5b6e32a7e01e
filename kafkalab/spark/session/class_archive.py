"""An archive of the Java classes that Spark loads: a session that finds it starts with half the work.

`python -m kafkalab.spark.session.keep_classes` makes it, once for an environment and its Java (Java's AppCDS).
"""

from __future__ import annotations

import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

QUIET = "-Xshare:auto -Xlog:disable -Xlog:all=error:stderr"
"""An archive that does not fit is left alone without a word."""


def archive_of(home: Path) -> Path:
    """Return where the archive for this Java and this Spark lies, or would lie, in the environment."""
    release = home / "release"
    told = f"{home.resolve()} {release.read_text() if release.is_file() else ''} {version('pyspark')}"
    return Path(sys.prefix) / "share" / "kafkalab" / f"spark-{sha256(told.encode()).hexdigest()[:12]}.jsa"


def archive_options(home: Path) -> str:
    """Return the options with which a Java reads the archive, "" if there is none."""
    path = archive_of(home)
    return f"{QUIET} -XX:SharedArchiveFile={path}" if path.is_file() and " " not in str(path) else ""
