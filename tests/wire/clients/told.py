"""A client in another language: a process that is told what to do line by line, one call and one result at a time."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.wire.clients.script import FencedError, Read

HERE = Path(__file__).parent
BUILD = HERE.parents[2] / "build" / "clients"


class Told:
    """The process that `command` starts; its producers, consumers and instances have names.

    A request is a line: a name, a call, its arguments, with tabs between them. The result is a line too: `ok` and a
    value, or `error` and a text; one that begins with a word of `fenced` means that the producer is fenced.
    """

    def __init__(
        self, servers: str, command: Sequence[str], fenced: tuple[str, ...], more: Mapping[str, str] | None = None
    ) -> None:
        self.servers, self.fenced, self.count = servers, fenced, 0
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(more or {})}
        )

    def ask(self, *words: Any) -> str:
        """Make one call; return its result. FencedError, or RuntimeError for any other complaint."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        outcome, _, rest = self.process.stdout.readline().rstrip("\n").partition("\t")
        if outcome != "ok":
            raise (FencedError if rest.startswith(self.fenced) else RuntimeError)(f"{words}: {rest}")
        return rest

    def producer(self, transactional_id: str, *config: str) -> Called:
        return self._make("producer", transactional_id, *config)

    def consumer(self, group: str, topic: str, isolation: str) -> Called:
        return self._make("consumer", group, topic, isolation)

    def instance(self, group: str, topic: str, out: str, transactional_id: str) -> Called:
        return self._make("instance", group, topic, out, transactional_id)

    def committed(self, group: str, topic: str, partition: int) -> int:
        return int(self.ask("", "committed", self.servers, group, topic, partition))

    def _make(self, kind: str, *words: str) -> Called:
        self.count += 1
        self.ask(self.count, kind, self.servers, *words)
        return Called(self, self.count)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


class Called:
    """A producer, a consumer or an instance of the process."""

    def __init__(self, told: Told, name: int) -> None:
        self.told, self.name = told, name

    def init(self) -> None:
        self.told.ask(self.name, "init")

    def begin(self) -> None:
        self.told.ask(self.name, "begin")

    def send(self, topic: str, partition: int, value: str) -> int:
        return int(self.told.ask(self.name, "send", topic, partition, value))

    def enqueue(self, topic: str, partition: int, value: str) -> None:
        self.told.ask(self.name, "enqueue", topic, partition, value)

    def send_offset(self, topic: str, partition: int, offset: int, consumer: Called) -> None:
        self.told.ask(self.name, "offsets", topic, partition, offset, consumer.name)

    def commit(self) -> None:
        self.told.ask(self.name, "commit")

    def abort(self) -> None:
        self.told.ask(self.name, "abort")

    def poll(self) -> list[Read]:
        rows = (row.split(":") for row in self.told.ask(self.name, "poll").split(",") if row)
        return [Read(int(partition), int(offset), value) for partition, offset, value in rows]

    def step(self, commit: bool) -> list[str]:
        answer = self.told.ask(self.name, "step", "commit" if commit else "abort")
        return [value for value in answer.split(",") if value]

    def assigned(self) -> int:
        return int(self.told.ask(self.name, "assigned"))

    def close(self) -> None:
        self.told.ask(self.name, "close")
