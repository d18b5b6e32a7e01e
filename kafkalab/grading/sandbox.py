"""The sandbox into which a notebook's process shuts itself: it can read its own folder and the libraries, and no more.

Three fences. Limits on memory and processor time; Landlock, where the kernel has it, for this process and all that it
starts; and a hook in the interpreter, everywhere, whose refusals are sentences. Where there is bubblewrap the process
is in a sandbox already (`kafkalab.grading.bubblewrap`); where there is not, `LEFT_OPEN` says what these do not stop.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from kafkalab.grading import landlock

SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys", "/dev", "/run/systemd/resolve")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
READS = ("os.listdir", "os.scandir", "os.chdir", "os.getxattr", "os.listxattr")
WRITES = (
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate",
    "os.utime", "os.setxattr", "os.removexattr", "shutil.rmtree", "shutil.move",
)  # fmt: skip
STARTS = ("os.system", "os.exec", "os.fork", "os.forkpty", "os.spawn", "pty.spawn")
POPEN = ("subprocess.Popen", "os.posix_spawn")
"""The events that `subprocess` raises in the hook; the second from Python 3.13 on, where it starts most programs so."""
CALLS = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")
LOCAL = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "", None)
LEFT_OPEN = {
    "bubblewrap": "A notebook can use the processor until its time is over, and up to 0.6 GB of memory for files. It "
    "can read the libraries, and kafkalab with its checks.",
    "Landlock": "Beside what bubblewrap leaves open, a notebook that gets around Python can send by UDP, reach Unix "
    "sockets, fill the disk with its own folder, and see which processes run, with their command lines and, of the "
    "same user, their environments: keep secrets out of both. Install bubblewrap for marks that count.",
    "hook": "This system has neither bubblewrap nor Landlock: only Python itself refuses other files, other processes "
    "and the network, which stops mistakes and no attacker. A notebook that gets around Python can read and change "
    "whatever you can, this report and the other notebooks too. Grade on Linux with bubblewrap for marks that count.",
}
"""By the sandbox that was used, what it does not stop; for the report."""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def enter_sandbox(
    folder: Path, others: Iterable[Path], hidden: Iterable[Path], memory_mb: int, time_s: int, kernel: bool, spark: bool
) -> None:
    """Limit this process to `memory_mb` and `time_s`, and to `folder`, where it may also write.

    It can read the libraries and the `others`, but never what is below `hidden`. With `kernel` Landlock enforces it,
    too, where there is Landlock. Only with `spark` it may use TCP, and that, by the hook, on this machine alone.
    """
    limit(memory_mb, time_s)
    own = folder.resolve()
    kept_out = [path.resolve() for path in hidden]
    readable = [*map(Path, dict.fromkeys([*SYSTEM, *_libraries()])), *others]
    if kernel:
        whole, listed = _apart(readable, kept_out)
        landlock.restrict(whole, [own, *map(Path, DEVICES)], listed, tcp=spark)
    sys.addaudithook(_Fence(own, [p.resolve() for p in readable], kept_out))


def limit(memory_mb: int, time_s: int) -> None:
    """Limit this process's own memory and processor time, where the system has such limits."""
    try:
        import resource
    except ImportError:
        return
    amount = memory_mb * 1024 * 1024
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    for name, value in ((kind, amount), (resource.RLIMIT_CPU, time_s + 10), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(name, (value, value))


def _libraries() -> list[str]:
    """Return the folders of Python, its packages and kafkalab."""
    package = Path(__file__).resolve().parents[1]
    java = os.environ.get("JAVA_HOME", "")
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(package), *filter(None, [java])]
    return [*found, *(p for p in sys.path if p and "site-packages" in p)]


def _apart(readable: Iterable[Path], hidden: Collection[Path]) -> tuple[list[Path], list[Path]]:
    """Return what may be read as a whole, and the folders that may only be listed, since something hidden is below.

    Landlock has no exceptions within a folder, so such a folder's parts are allowed one by one.
    """
    whole, listed, left = list[Path](), list[Path](), list(readable)
    while left:
        path = left.pop()
        real = path.resolve()
        if any(real.is_relative_to(h) for h in hidden):
            continue
        if not any(h.is_relative_to(real) for h in hidden):
            whole.append(path)
        elif real not in listed:
            listed.append(real)
            with contextlib.suppress(OSError):
                left += sorted(real.iterdir())
    return whole, listed


class _Fence:
    """The interpreter's hook: PermissionError, with a sentence, for what a notebook may not do."""

    def __init__(self, own: Path, readable: list[Path], hidden: list[Path]) -> None:
        self.own, self.readable, self.hidden = own, readable, hidden

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            self._look(path, isinstance(flags, int) and bool(flags & WRITING))
        elif event in READS:
            self._look(arguments[0] if arguments[0] is not None else ".", False)
        elif event in WRITES:
            for path in arguments[:2]:
                self._look(path, True)
        elif event in POPEN:
            self._start(os.fsdecode(arguments[0]))
        elif event in STARTS:
            raise PermissionError("a notebook that is graded starts no other process")
        elif event == "os.kill" and arguments[0] not in (0, os.getpid()):
            raise PermissionError("a notebook that is graded ends no other process")
        elif event in CALLS and _host(arguments[1]) not in LOCAL:
            raise PermissionError("a notebook that is graded has no network")

    def _look(self, path: object, writing: bool) -> None:
        if isinstance(path, int) or path is None:
            return
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        found = Path(os.path.realpath(os.fsdecode(path)))
        if found.is_relative_to(self.own):
            return
        allowed = str(found) in DEVICES if writing else any(found.is_relative_to(p) for p in self.readable)
        if not allowed or any(found.is_relative_to(p) for p in self.hidden):
            raise PermissionError(f"a notebook that is graded may not {'write' if writing else 'read'} {found}")

    def _start(self, program: str) -> None:
        """Refuse every program but Spark's own."""
        spark = "/pyspark/bin/" in os.path.realpath(program) or os.path.basename(program) == "java"
        if not spark:
            raise PermissionError("a notebook that is graded starts no other process")


def _host(address: object) -> Any:
    return address[0] if isinstance(address, tuple) and address else None
