from enum import Enum
from typing import overload

from pyarrow import NativeFile

class FileType(Enum):
    NotFound = 0
    Unknown = 1
    File = 2
    Directory = 3

class FileInfo:
    base_name: str
    mtime_ns: int
    path: str
    size: int
    type: FileType

class FileSelector:
    def __init__(self, base_dir: str, recursive: bool = False) -> None: ...

class FileSystem:
    @staticmethod
    def from_uri(uri: str) -> tuple[FileSystem, str]: ...
    def create_dir(self, path: str) -> None: ...
    def delete_dir(self, path: str) -> None: ...
    def delete_file(self, path: str) -> None: ...
    @overload
    def get_file_info(self, path: str) -> FileInfo: ...
    @overload
    def get_file_info(self, path: FileSelector) -> list[FileInfo]: ...
    def open_input_file(self, path: str) -> NativeFile: ...
    def open_output_stream(self, path: str) -> NativeFile: ...

class LocalFileSystem(FileSystem): ...
