"""Linux's Landlock: restrict this process and its children to some folders. It needs no privilege.

See the manual pages landlock(7) and landlock_restrict_self(2). Elsewhere nothing happens, and the answer is False.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION, PATH_BENEATH, NO_NEW_PRIVS = 1, 1, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""The number of file system rights that each version of the interface knows; the later ones know as many as 5."""
TCP_SINCE, BIND_TCP, CONNECT_TCP = 4, 1, 2
SCOPED_SINCE, ABSTRACT_SOCKETS, SIGNALS = 6, 1, 2
PATH_BENEATH_FIELDS = "=Qi"
"""The rights that are allowed, and the folder's descriptor, without a gap. A packed Structure warns in Python 3.14."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


def version() -> int:
    """The version of the interface that this kernel has; 0 if it has none."""
    if sys.platform != "linux":
        return 0
    found = _libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), GET_VERSION)
    return max(0, int(found))


def restrict(
    readable: Iterable[Path], writable: Iterable[Path], listed: Iterable[Path] = (), tcp: bool = False
) -> bool:
    """Restrict reading to these paths and writing to `writable`; return False where the kernel cannot.

    Of `listed` folders the names within can be read, and those of the folders below.

    Where the kernel supports it, signals to processes outside fail, abstract Unix sockets outside cannot be reached,
    and without `tcp` no TCP port can be bound or connected to. Open files stay open. It cannot be undone.
    """
    known = version()
    if not known:
        return False
    libc = _libc()
    everything = (1 << RIGHTS.get(known, RIGHTS[5])) - 1
    network = 0 if tcp or known < TCP_SINCE else BIND_TCP | CONNECT_TCP
    ruleset = _Ruleset(everything, network, SIGNALS | ABSTRACT_SOCKETS if known >= SCOPED_SINCE else 0)
    size = 24 if known >= SCOPED_SINCE else 16 if known >= TCP_SINCE else 8
    descriptor = libc.syscall(CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0)
    if descriptor < 0:
        return False
    try:
        reading = EXECUTE | READ_FILE | READ_DIR
        done = [_allow(descriptor, path, reading) for path in readable]
        done += [_allow(descriptor, path, everything) for path in writable]
        done += [_allow(descriptor, path, READ_DIR) for path in listed]
        return all(done) and not libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) and not libc.syscall(RESTRICT_SELF, descriptor, 0)
    finally:
        os.close(descriptor)


def _allow(ruleset: int, path: Path, rights: int) -> bool:
    """Allow these rights below the path; return True also where there is no such path."""
    if not path.exists():
        return True
    if not path.is_dir():
        rights &= EXECUTE | WRITE_FILE | READ_FILE | (1 << 14 if version() >= 3 else 0)
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack(PATH_BENEATH_FIELDS, rights, parent)
        return not _libc().syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0)
    finally:
        os.close(parent)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
