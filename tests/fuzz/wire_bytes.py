"""Bytes that a client might send to a broker: requests of every API and version, changed; and what must become of them.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from kafkalab.protocol.messages.registry import BY_NAME
from kafkalab.wire.codec import request_bytes
from kafkalab.wire.live import RealTime, scenario_of
from kafkalab.wire.names import Names
from kafkalab.wire.server import Connection, Server
from tests.wire.messages import NAMES, OFFERED, carry, message

ODD = (0, 1, 0x7F, 0x80, 0xFF)
HARD = (
    b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff", b"\xff" * 9, b"\x80" * 40, b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff", b"\x80\x00", b"\x00" * 64, b"a" * 300, "é\ud800".encode(errors="surrogatepass"),
)  # fmt: skip
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


@st.composite
def frames(draw: st.DrawFn) -> list[bytes]:
    """Return what one client sends, in the parts in which it comes."""
    sent = b"".join(draw(st.lists(frame(), min_size=1, max_size=3)))
    cuts = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=3)))
    return [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]


@st.composite
def frame(draw: st.DrawFn) -> bytes:
    """Return one request: whole, changed in places, with a wrong length, or any bytes."""
    what = draw(st.integers(0, 9))
    if what == 9:
        return draw(st.binary(max_size=200))
    data = bytearray(draw(requests()))
    if what >= 2:
        for _ in range(draw(st.integers(1, 3))):
            _change(draw, data)
    size = len(data) - 4 if what < 8 else draw(st.sampled_from((-1, 0, 3, len(data), 2**24, 2**31 - 1)))
    struct.pack_into(">i", data, 0, size)
    return bytes(data)


def _change(draw: st.DrawFn, data: bytearray) -> None:
    """Change one place behind the length: other bits, other bytes, fewer or more of them."""
    at = draw(st.integers(4, len(data) - 1)) if len(data) > 8 else 4
    kind = draw(st.integers(0, 4))
    if kind == 0 and at < len(data):
        data[at] = draw(st.sampled_from(ODD) | st.integers(0, 255))
    elif kind == 1:
        hard = draw(st.sampled_from(HARD))
        data[at : at + len(hard)] = hard
    elif kind == 2:
        data[at:at] = draw(st.sampled_from(HARD) | st.binary(max_size=4))
    elif kind == 3:
        del data[at : at + draw(st.integers(1, 20))]
    else:
        end = at + draw(st.integers(1, 40))
        data[end:end] = data[at:end]
    if len(data) < 4:
        data[:] = bytes(4)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Return a request that a client could send."""
    api = draw(st.sampled_from(sorted(OFFERED)))
    version = draw(st.sampled_from(OFFERED[api]))
    body = carry(api, version, draw(message(BY_NAME[api].request)))
    return API_VERSIONS if body is None else request_bytes(api, version, 1, "fuzz", body, NAMES)


class Socket(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.closed = bytearray(), False

    def write(self, data: Any) -> None:
        self.sent += data

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        """Nothing more comes anyway."""

    def resume_reading(self) -> None:
        """Nothing more comes anyway."""

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("fuzz", 1) if name == "peername" else self

    def setsockopt(self, *option: int) -> None:
        """It has no options."""


class Lines:
    """The lines that the server logs; an exception that it logs is raised."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, text: str, *values: Any) -> None:
        self.lines.append(text % values)

    def exception(self, text: str, *values: Any) -> None:
        import sys

        raise AssertionError(text % values) from sys.exc_info()[1]


def bytes_are_met(parts: list[bytes]) -> str:
    """Send the parts; the server answers, waits for more, or closes the connection with one log line, and serves on."""
    return asyncio.run(_try_parts(parts))


async def _try_parts(parts: list[bytes]) -> str:
    live = RealTime(scenario_of(2, 3, {"t": 2, "other": 13}, {}))
    server, lines = Server(live), Lines()
    server.names = Names(NAMES.addresses, kafka=NAMES.kafka)
    try:
        with patch("kafkalab.wire.server.log", lines):
            first = _connect(server)
            for part in parts:
                if not first.transport.is_closing():
                    first.data_received(part)
                live.kernel.catch_up(live.kernel.now + 50)
                await asyncio.sleep(0)
            live.kernel.catch_up(live.kernel.now + 60_000)
            closed = first.transport.is_closing()
            assert closed == (len([line for line in lines.lines if ": closed, " in line]) == 1), lines.lines
            second = _connect(server)
            second.data_received(API_VERSIONS)
            live.kernel.catch_up(live.kernel.now + 50)
            assert second.transport.sent[4:8] == struct.pack(">i", 1), "the next client is not served"  # type: ignore[attr-defined]
    finally:
        live.stop()
    if not closed:
        return "answered" if first.transport.sent else "waits for more"  # type: ignore[attr-defined]
    why = lines.lines[-1].partition(": closed, ")[2].partition(":")[0]
    return f"closed, {' '.join(word for word in why.split()[:5] if word.isalpha())}"


def _connect(server: Server) -> Connection:
    connection = Connection(server, "b1")
    connection.connection_made(Socket())
    return connection
