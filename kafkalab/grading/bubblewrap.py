"""A kept sandbox where there is one: bubblewrap gives a notebook a machine of its own, with nothing but what it needs.

Its own user, process, network, IPC and host name spaces; the libraries, which it can only read; and one folder in
memory, which is all that it can write. It ends with the grader, and all that was started in it ends with it.
See https://github.com/containers/bubblewrap.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

NAME = "bubblewrap"
OWN = Path("/tmp/notebook")
SPACE = 512 * 1024 * 1024
SHARED = 64 * 1024 * 1024
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt")
ETC = (
    "passwd", "group", "nsswitch.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone",
    "alternatives", "ssl", "fonts", "mime.types", "java-17-openjdk", "java-21-openjdk",
)  # fmt: skip
TRY_S = 20


@cache
def works() -> bool:
    """Return whether bubblewrap is here, and may do here what it is for."""
    if shutil.which("bwrap") is None:
        return False
    try:
        tried = subprocess.run(
            [*command((), (), None), sys.executable, "-c", ""], capture_output=True, timeout=TRY_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def command(readable: Iterable[Path], hidden: Iterable[Path], inputs: Path | None) -> list[str]:
    """Return the beginning of a command line; what follows it runs in the sandbox, in the folder `OWN / "labs"`.

    It can read the libraries, the `readable` folders, of which the first is also `OWN / "data"`, and `inputs`, but
    nothing that is `hidden`.
    """
    found = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--die-with-parent"]
    found += ["--cap-drop", "ALL", "--hostname", "localhost", "--proc", "/proc", "--dev", "/dev"]
    found += ["--size", str(SHARED), "--tmpfs", "/dev/shm", "--size", str(SPACE), "--tmpfs", "/tmp"]
    for top in SYSTEM:
        found += ["--symlink", os.readlink(top), top] if os.path.islink(top) else ["--ro-bind-try", top, top]
    for name in ETC:
        found += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    given = list(readable)
    for path in dict.fromkeys([*libraries(), *given]):
        found += ["--ro-bind-try", str(path), str(path)]
    for path in hidden:
        if any(path.is_relative_to(shown) for shown in (*map(Path, SYSTEM), *libraries(), *given)):
            found += ["--size", "4096", "--tmpfs", str(path), "--remount-ro", str(path)]
    for below in ("labs", "tmp", "home"):
        found += ["--dir", str(OWN / below)]
    if given:
        found += ["--symlink", str(given[0]), str(OWN / "data")]
    if inputs is not None:
        found += ["--ro-bind", str(inputs), str(OWN / "inputs")]
    return [*found, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(OWN / "labs"), "--"]


def libraries() -> list[Path]:
    """Return the folders of Python, its packages, Java and kafkalab."""
    package = Path(__file__).resolve().parents[1]
    paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, os.environ.get("JAVA_HOME", "")]
    paths += [p for p in sys.path if "site-packages" in p or "dist-packages" in p]
    return [package, *(Path(p) for p in dict.fromkeys(paths) if p and not _is_below(p, SYSTEM))]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)
