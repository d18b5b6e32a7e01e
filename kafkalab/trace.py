"""All that happened in a run: events with causes, and the frames that flew. JSON lines on disk; a digest names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from kafkalab.limits import FILE_OF_A_HISTORY, quote
from kafkalab.protocol.errors import Error
from kafkalab.saved_data import file_text, json_lines

FORMAT, VERSION = "kafkalab-trace", 1

KINDS = (
    "send", "receive", "append", "truncate", "state", "timer", "fault", "crash", "recover", "invoke", "complete"
)  # fmt: skip


NO_PARTS: dict[str, Any] = {}


def plain(value: Any) -> Any:
    """The value as JSON knows it: dataclasses as objects, enums as names, tuples as lists; always in the same order.

    A field whose metadata says "unless_empty" is left out while it is empty, one with "encoded", which says in bytes
    what other fields say, always. Bytes are text; those that are no UTF-8 are written as \\x and two digits.
    """
    if isinstance(value, Enum):
        return getattr(value, "label", value.name)
    if is_dataclass(value) and not isinstance(value, type):
        known = ((f, getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_"))
        return {f.name: plain(one) for f, one in known if _is_told(f, one)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in value]
    assert value is None or isinstance(value, (str, int, bool)), f"{value!r} has no place in a trace"
    return value


def _is_told(field: Field[Any], value: object) -> bool:
    return "encoded" not in field.metadata and bool(value or "unless_empty" not in field.metadata)


def error_of(response: object) -> str:
    """The name of a response's error: its own, else its parts' first that is not NONE."""
    top = getattr(response, "error", None)
    if top is not None and top is not Error.NONE:
        return str(top.name)
    errors = getattr(response, "errors", None)
    if errors:
        parts = errors.values()
    else:
        parts = [getattr(part, "error", Error.NONE) for part in getattr(response, "partitions", NO_PARTS).values()]
    for error in parts:
        if error is not Error.NONE:
            return str(error.name)
    return "NONE"


@dataclass(slots=True, eq=False)
class Frame:
    """One request or response on its way. `id` is the name and how many of that name were sent: "EndTxn#1".

    `client_number` counts only the requests of this name that its client has sent, or the responses sent to it; 0 for
    frames between servers.
    """

    id: str
    name: str
    kind: str  # request or response
    sender: str
    receiver: str
    category: str
    body: Any
    version: int
    correlation_id: int
    of: str = ""  # the request that a response answers
    copy_of: str = ""
    attempt: int = 1
    sent_step: int = -1
    sent_ms: int = -1
    received_step: int = -1
    received_ms: int = -1
    fate: str = "in flight"  # delivered, dropped, lost
    receiver_incarnation: int = 0
    client_number: int = field(default=0, metadata={"encoded": True})  # follows from the other frames

    @property
    def client(self) -> str:
        """The client that sends the request, or gets the response; "" for a frame between servers."""
        return "" if not self.client_number else self.sender if self.kind == "request" else self.receiver

    @property
    def name_at_client(self) -> str:
        """The name that counts only this client's frames, "app:EndTxn#1"; "" for a frame between servers."""
        return f"{self.client}:{self.name}#{self.client_number}" if self.client_number else ""

    @property
    def error(self) -> str:
        """The error of a response, "" for a request; of several the first that is not NONE."""
        if self.kind == "request":
            return ""
        return error_of(self.body)

    def as_json(self) -> dict[str, Any]:
        names = [f.name for f in fields(self) if f.name not in ("body", "receiver_incarnation", "client_number")]
        return {**{n: getattr(self, n) for n in names}, "error": self.error, "body": plain(self.body)}


class Event(NamedTuple):
    """Something that happened at `node`. `cause` is the step of the event that led to it, -1 for none.

    Rules and checks read `data`; it is never text made for display.
    """

    step: int
    at_ms: int
    node: str
    kind: str
    name: str
    cause: int
    frame: str
    data: Any

    def as_json(self) -> dict[str, Any]:
        return {name: plain(value) for name, value in self._asdict().items()}


@dataclass(slots=True)
class Trace:
    """Events by step (`events[i].step == i`) and frames by id. With `keep=False` only steps are counted; once it is
    `full` (`stop`), nothing is added and nothing counted."""

    keep: bool = True
    events: list[Event] = field(default_factory=list)
    frames: dict[str, Frame] = field(default_factory=dict)
    steps: int = 0
    title: str = ""
    full: bool = False

    def stop(self, at_ms: int, node: str, after: str) -> None:
        """Append a last event, which says after how much recording has stopped; the trace is full from then on."""
        stopped = ("state", "recording stopped", self.steps - 1, "", {"after": after})
        self.events.append(Event(self.steps, at_ms, node, *stopped))
        self.steps += 1
        self.full = True

    @property
    def stopped_after(self) -> str:
        """After how much recording has stopped, as "300 events"; "" while it goes on."""
        last = self.events[-1] if self.events else None
        return str(last.data["after"]) if last is not None and last.name == "recording stopped" else ""

    def find_frame(self, name: str) -> Frame | None:
        """Return the frame of this name, "EndTxn#1" or a client's "app:EndTxn#1"; None if none has been sent."""
        if ":" in name and name not in self.frames:
            return next((f for f in self.frames.values() if f.name_at_client == name and not f.copy_of), None)
        return self.frames.get(name)

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def of(self, kind: str, name: str = "") -> list[Event]:
        """The events of a kind, and of a name where one is given."""
        return [e for e in self.events if e.kind == kind and name in ("", e.name)]

    def lines(self) -> Iterator[str]:
        """The trace as JSON lines: a header, the frames, the events. Key order and numbers never vary."""
        dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
        yield dump({"format": FORMAT, "version": VERSION, "title": self.title, "steps": self.steps})
        for frame in self.frames.values():
            yield dump({"frame": frame.as_json()})
        for event in self.events:
            yield dump({"event": event.as_json()})

    def digest(self) -> str:
        """Sixteen hex digits that name this run: the same scenario and seed give the same ones on every machine."""
        sha = hashlib.sha256()
        for line in self.lines():
            sha.update(line.encode())
        return sha.hexdigest()[:16]

    def save(self, path: str | Path) -> None:
        """Write the trace as JSON lines; a file that is there is replaced."""
        Path(path).write_text("\n".join(self.lines()) + "\n", encoding="utf-8")

    def tail(self, count: int = 8) -> str:
        """The last events, one a line, for messages."""
        return "\n".join(
            f"  step {e.step} t={e.at_ms} {e.node} {e.kind} {e.frame or e.name}" for e in self.events[-count:]
        )


@dataclass(frozen=True, slots=True)
class SavedTrace:
    """A trace read back from a file: the same lines as plain data, and the digest that they give."""

    header: dict[str, Any]
    frames: dict[str, dict[str, Any]]
    events: list[dict[str, Any]]
    digest: str


def load_trace(path: str | Path) -> SavedTrace:
    """Read what `Trace.save` wrote. ValueError, with the file's name and the line, for anything else."""
    rows: list[dict[str, Any]] = []
    frames: dict[str, dict[str, Any]] = {}
    events: list[dict[str, Any]] = []
    for number, row in json_lines(path, FILE_OF_A_HISTORY):
        if not isinstance(row, dict):
            raise ValueError(f"{path}: line {number} is no JSON object; the file is damaged")
        frame, event = row.get("frame", {"id": ""}), row.get("event", {})
        if not isinstance(frame, dict) or not isinstance(frame.get("id"), str) or not isinstance(event, dict):
            raise ValueError(f"{path}: line {number} is neither a frame nor an event; the file is damaged")
        rows.append(row)
        if number > 1 and "frame" in row:
            frames[frame["id"]] = frame
        if number > 1 and "event" in row:
            events.append(event)
    if not rows or rows[0].get("format") != FORMAT:
        raise ValueError(f"{path} is not a trace that kafkalab saved")
    if rows[0].get("version") != VERSION:
        version = quote(rows[0].get("version"))
        raise ValueError(f"{path} is a trace of version {version}; this kafkalab reads {VERSION}")
    if len(events) != rows[0].get("steps"):
        said = quote(rows[0].get("steps"))
        raise ValueError(f"{path} holds {len(events)} events of {said}; the file is cut off")
    sha = hashlib.sha256()
    for line in file_text(path, FILE_OF_A_HISTORY).splitlines():
        sha.update(line.encode())
    return SavedTrace(rows[0], frames, events, sha.hexdigest()[:16])
