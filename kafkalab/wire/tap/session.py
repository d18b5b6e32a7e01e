"""The exchanges of a session, in the order in which they passed: recorded at once, saved as bytes, recorded again.

A saved session is JSON lines: a header, then one list for each thing that happened: what, when in milliseconds since
the beginning, the number of the exchange, and broker and bytes (base64) where there are any.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from kafkalab.faults.frame import Delay, Drop, Duplicate, Hold, Late, Release
from kafkalab.faults.request import RespondWith
from kafkalab.limits import FILE_OF_A_SESSION, quote, truncate
from kafkalab.run.run import Run
from kafkalab.saved_data import json_lines
from kafkalab.trace import Frame
from kafkalab.wire.codec import ReadRequest
from kafkalab.wire.primitives import BadMessageError
from kafkalab.wire.tap.frames import Answer, api_key_of, read_frame
from kafkalab.wire.tap.recorder import Recorder

FORMAT, VERSION = "kafkalab-tap", 1
SECRET = (36, 38, 39, 40, 41, 51)
"""SaslAuthenticate, the APIs of delegation tokens, AlterUserScramCredentials: of these only a header is kept."""
DETAILS: dict[type[Any], tuple[str, ...]] = {
    Drop: (), Delay: ("delay_ms",), Duplicate: (), Hold: (), Release: (), Late: ("before",),
    RespondWith: ("error", "handled"),
}  # fmt: skip
"""The faults, with what is saved of each besides its frame."""
FAULTS = {kind.__name__: kind for kind in DETAILS}


@dataclass(slots=True)
class Exchange:
    """A request that passed, and its answer once there is one; `copies` counts how often it goes to the broker."""

    number: int
    broker: str
    asked: ReadRequest
    frames: list[Frame]
    answers: list[Frame] = field(default_factory=list)
    copies: int = 1
    was_late: bool = False
    respond_with: RespondWith | None = None

    @property
    def latest(self) -> list[Frame]:
        """The frames that passed last: the answer's, else the request's."""
        return self.answers or self.frames


class Session:
    """Records exchanges, and writes them to `file` if one is given."""

    def __init__(self, recorder: Recorder, file: TextIO | None = None) -> None:
        self.recorder, self.file, self._count = recorder, file, 0
        self._write({"format": FORMAT, "version": VERSION, "title": recorder.trace.title})

    def on_request(self, at_ms: int, broker: str, data: bytes) -> Exchange:
        """Record a request's bytes. BadMessageError for bytes that are none."""
        asked = read_frame(data, self.recorder.names)
        self._count += 1
        kept = data[: 10 + len(asked.client_id.encode())] if api_key_of(asked) in SECRET else data
        self._write(["asked", at_ms, self._count, broker, b64encode(kept).decode()] if self.file else [])
        return Exchange(self._count, broker, asked, self.recorder.on_request(at_ms, broker, asked, len(data)))

    def on_response(self, at_ms: int, exchange: Exchange, data: bytes) -> Answer:
        """Record the bytes of the response, and return it."""
        answer = Answer(exchange.asked, data)
        kept = data[:4] if api_key_of(exchange.asked) in SECRET else data
        self._write(["answered", at_ms, exchange.number, b64encode(kept).decode()] if self.file else [])
        exchange.answers = self.recorder.on_response(at_ms, exchange.frames, answer)
        return answer

    def on_arrival(self, at_ms: int, exchange: Exchange) -> None:
        """Record that the latest frames of the exchange have gone on."""
        self._write(["arrived", at_ms, exchange.number])
        self.recorder.on_arrival(at_ms, exchange.latest)

    def on_loss(self, at_ms: int, exchange: Exchange, fate: str = "lost") -> None:
        """Record that the latest frames of the exchange never arrive."""
        self._write(["lost", at_ms, exchange.number, fate])
        self.recorder.on_loss(at_ms, exchange.latest, fate)

    def fault(self, at_ms: int, exchange: Exchange, frame: Frame, fault: Any) -> None:
        """Record that the tap did something to one of the latest frames."""
        given = [getattr(fault, name) for name in DETAILS[type(fault)]]
        self._write(["fault", at_ms, exchange.number, type(fault).__name__, frame.id, *given])
        self.recorder.fault(at_ms, frame, fault)

    def _write(self, row: object) -> None:
        if self.file is not None and row:
            self.file.write(json.dumps(row, separators=(",", ":")) + "\n")


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session that was read back; views show it: `Sequence(load_tap("night.tap"))`."""

    recorder: Recorder

    def recording(self) -> Run:
        """Return what was recorded."""
        return self.recorder.recording()


def load_tap(path: str | Path, most_events: int = 100_000) -> SavedSession:
    """Record again what `kafkalab tap --save` or `Tap.save` wrote, up to `most_events` events.

    ValueError, with the file's name and the line, for anything else; a last line that is cut off is left out.
    """
    with closing(json_lines(path, FILE_OF_A_SESSION, may_be_cut_off=True)) as rows:
        _, header = next(rows, (1, None))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError(f"{path} is no session that a tap saved")
        if header.get("version") != VERSION:
            raise ValueError(f"{path} is of version {quote(header.get('version'))}; this kafkalab reads {VERSION}")
        session = Session(Recorder(str(header.get("title", "")), most_events))
        exchanges: dict[int, Exchange] = {}
        for number, row in rows:
            try:
                _again(session, exchanges, row)
            except (KeyError, IndexError, TypeError, ValueError, BadMessageError) as error:
                raise ValueError(f"{path}: line {number} is no row of a session ({truncate(str(error))})") from None
            if session.recorder.full:
                break
    return SavedSession(session.recorder)


def _again(session: Session, exchanges: dict[int, Exchange], row: list[Any]) -> None:
    what, at_ms, number, *rest = row
    if what == "asked":
        exchanges[number] = session.on_request(at_ms, rest[0], b64decode(rest[1]))
        return
    exchange = exchanges[number]
    if what == "answered":
        session.on_response(at_ms, exchange, b64decode(rest[0]))
    elif what == "arrived":
        session.on_arrival(at_ms, exchange)
        if exchange.answers:
            del exchanges[number]
    elif what == "lost":
        session.on_loss(at_ms, exchange, rest[0])
    elif what == "fault":
        kind, frame_id, *given = rest
        frame = next(f for f in exchange.latest if f.id == frame_id)
        session.fault(at_ms, exchange, frame, FAULTS[kind](frame_id, *given))
    else:
        raise ValueError(f"unknown {quote(what)}")
