"""Places of histories: folders of this machine, and of every file system that pyarrow opens by a URI (s3, hdfs, gs, …).

A place is a text, so it goes to Spark's workers, who open it themselves. No credentials lie in it: pyarrow takes them
from the environment of each process (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3).
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from kafkalab.limits import Limit, truncate
from kafkalab.saved_data import json_file

UNFINISHED = ".tmp"
AT_ONCE = 16
"""So many files of another machine are asked for at once: each answer is waited for."""
REMEDIES = {
    "Unrecognized filesystem": "the URIs of pyarrow begin with s3://, gs://, abfs://, hdfs:// or file://",
    "NO_SUCH_BUCKET": "make the bucket first, or correct its name",
    "ACCESS_DENIED": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, here and for Spark's executors",
    "INVALID_ACCESS_KEY_ID": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, here and for Spark's executors",
    "SIGNATURE": "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID",
    "NETWORK_CONNECTION": "check the host in endpoint_override, or the network",
    "Unable to load lib": "hdfs needs Hadoop's libhdfs: set JAVA_HOME, HADOOP_HOME and CLASSPATH",
}
"""The remedies, by a part of the file system's message."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class PlaceError(ValueError):
    """A file system refuses, or cannot be reached; the message says in one line what helps."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder or a file. `text` is an absolute path, or a URI with the options of its file system behind a "?"."""

    text: str

    def __str__(self) -> str:
        return self.text.partition("?")[0] if self.local is None else self.text

    def __truediv__(self, below: str) -> Place:
        if self.local is not None:
            return Place(str(self.local / below))
        head, mark, options = self.text.partition("?")
        return Place(f"{head.rstrip('/')}/{quote(below, safe='/=')}{mark}{options}")

    @property
    def local(self) -> Path | None:
        """The path on this machine; None for a place elsewhere."""
        return None if "://" in self.text else Path(self.text)

    @property
    def name(self) -> str:
        return str(self).rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Place:
        """The folder above; a store's own root is above itself."""
        if self.local is not None:
            return Place(str(self.local.parent))
        head, mark, options = self.text.partition("?")
        above = head.rstrip("/").rpartition("/")[0]
        return self if above.endswith(":/") else Place(above + mark + options)

    def resolve(self) -> tuple[FileSystem, str]:
        """Return the file system, and the path by which it knows this place."""
        if self.local is not None:
            return LocalFileSystem(), self.text
        parts = urlsplit(self.text)
        options = f"?{parts.query}" if parts.query else ""
        with _explain_errors(self):
            system, base = _file_system(f"{parts.scheme}://{parts.netloc}/{options}")
        return system, f"{base.rstrip('/')}{unquote(parts.path).rstrip('/')}"

    def is_file(self) -> bool:
        system, path = self.resolve()
        with _explain_errors(self):
            return bool(system.get_file_info(path).type == FileType.File)

    def files(self) -> dict[str, int]:
        """Return the bytes of each file in this folder and below, by its path from here, in the order of the paths."""
        system, path = self.resolve()
        with _explain_errors(self), suppress(FileNotFoundError, NotADirectoryError):
            found = system.get_file_info(FileSelector(path, recursive=True))
            files = {one.path[len(path) + 1 :]: one.size for one in found if one.type == FileType.File}
            return dict(sorted(files.items()))
        return {}

    def folders(self) -> list[str]:
        """Return the names of the folders right in this one."""
        system, path = self.resolve()
        with _explain_errors(self), suppress(FileNotFoundError):
            found = system.get_file_info(FileSelector(path))
            return sorted(one.base_name for one in found if one.type == FileType.Directory)
        return []

    def newest(self) -> float:
        """Return when the newest file below was written, in seconds since 1970; now where there is none."""
        system, path = self.resolve()
        with _explain_errors(self), suppress(FileNotFoundError):
            found = system.get_file_info(FileSelector(path, recursive=True))
            return max((one.mtime_ns / 1e9 for one in found if one.type == FileType.File), default=time.time())
        return time.time()

    def open(self) -> Any:
        """Open a file to read it. FileNotFoundError where there is none."""
        system, path = self.resolve()
        with _explain_errors(self):
            return system.open_input_file(path)

    def json(self, limit: Limit) -> Any:
        """Return what a file of JSON holds. FileNotFoundError; ValueError for one that is damaged or too large."""
        if self.local is not None:
            return json_file(self.local, limit)
        with self.open() as file, _explain_errors(self):
            limit.check(file.size(), f"the file {self}")
            content = file.read()
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ValueError(f"{self} is damaged: it is no JSON, or was cut off") from None

    @contextmanager
    def whole(self) -> Iterator[Any]:
        """A new file to write to, with its folder: at the end it is there, whole; after an error it is not.

        On this machine it gets its name at the end. A store like S3 has no rename, and shows no file before its end.
        """
        begun = self
        if self.local is not None:
            self.local.parent.mkdir(parents=True, exist_ok=True)
            begun = self.parent / f"_{self.name}-{os.getpid()}{UNFINISHED}"
        system, path = begun.resolve()
        with _explain_errors(self):
            stream = system.open_output_stream(path)
        try:
            yield stream
            with _explain_errors(self):
                stream.close()
        except BaseException:
            with suppress(OSError):
                stream.close()
                system.delete_file(path)
            raise
        if begun is not self:
            os.replace(path, self.text)

    def remove_file(self) -> None:
        system, path = self.resolve()
        with _explain_errors(self):
            system.delete_file(path)

    def remove(self) -> None:
        """Remove the folder with everything in it; nothing happens where there is none."""
        if self.local is not None:
            shutil.rmtree(self.local, ignore_errors=True)
            return
        system, path = self.resolve()
        with _explain_errors(self), suppress(FileNotFoundError):
            system.delete_dir(path)


Where = str | Path | Place


def place_of(where: Where) -> Place:
    """Return the place of a path or a URI. PlaceError for a URI with a password in it."""
    if isinstance(where, Place):
        return where
    text = str(where)
    if "://" not in text:
        return Place(str(Path(text).absolute()))
    parts = urlsplit(text)
    if parts.scheme == "file":
        return Place(unquote(parts.path))
    if parts.password:
        bare = text.replace(parts.netloc, parts.netloc.rpartition("@")[2])
        raise PlaceError(f"a URI with a password in it is not kept secret: write {bare}, and set AWS_SECRET_ACCESS_KEY")
    return Place(text)


def each(work: Callable[[Item], Result], items: Iterable[Item], place: Place) -> list[Result]:
    """Return what `work` gives for each item, in their order; several at once where `place` is elsewhere."""
    if place.local is not None:
        return list(map(work, items))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, items))


@cache
def _file_system(root: str) -> tuple[FileSystem, str]:
    """One file system for each process and store: it keeps its connections."""
    found: tuple[FileSystem, str] = FileSystem.from_uri(root)
    return found


@contextmanager
def _explain_errors(place: Place) -> Iterator[None]:
    """Say in one line what a file system elsewhere refuses, and what helps; that a file is missing stays as it is."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        if place.local is not None:
            raise
        said = next((text for text in REMEDIES if text in str(error)), "")
        remedy = f"; {REMEDIES[said]}" if said else ""
        raise PlaceError(f"cannot use {place}: {truncate(error, 200)}{remedy}") from None
