"""Record what Java's clients do: `python -m tests.kafka.clients.recorder FOLDER`, with the jars of kafka-clients.

FOLDER holds kafka-clients, slf4j-api and slf4j-nop (`mvn dependency:copy-dependencies`, see README.md beside this
file). One JVM runs all scripts; a server on loopback answers it in real bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import struct
import sys
from pathlib import Path
from typing import Any

from tests.kafka.clients import translation
from tests.kafka.clients.outcome import quickest, with_classes, without_objects
from tests.kafka.clients.script import RECORDED, Script, scripts
from tests.kafka.clients.scripted_broker import ScriptedBroker
from tests.kafka.schema import Protocol

HEAP = ("-Xms128m", "-Xmx256m", "-XX:TieredStopAtLevel=1")
FUTURES_MS = 3_000
TIMES = 3
RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"


class WireServer:
    """The scripted broker behind a socket."""

    def __init__(self, protocol: Protocol, script: Script) -> None:
        self.protocol, self.broker = protocol, ScriptedBroker(script)
        self.port = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until it ends."""
        try:
            while True:
                size = struct.unpack(">i", await reader.readexactly(4))[0]
                api, version, correlation, values = self.protocol.request_of(await reader.readexactly(size))
                asked = translation.request(api, values)
                now_ms = asyncio.get_running_loop().time() * 1000
                answer = self.broker.answer(api, version, asked, now_ms)
                if answer.closes:
                    break
                if answer.response is not None:
                    fields = translation.response(api, version, asked, answer.response, self.port)
                    data = self.protocol.response_bytes(api, version, correlation, fields)
                    if answer.wait_ms:
                        await asyncio.sleep(answer.wait_ms / 1000)
                    writer.write(data)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except Exception as error:  # a mistake of the recorder must not look like a broken connection
            print(f"the server failed: {error!r}", file=sys.stderr)
        finally:
            writer.close()


class Java:
    """The JVM that runs Driver.java, asked line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, jars: Path) -> Java:
        """Start the JVM."""
        driver = Path(__file__).with_name("Driver.java")
        pipe = asyncio.subprocess.PIPE
        command = ("java", *HEAP, "-cp", f"{jars}/*", str(driver))
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))

    async def ask(self, *words: str) -> Any:
        """Run one command; return its outcome."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(("\t".join(words) + "\n").encode())
        line = await asyncio.wait_for(self.process.stdout.readline(), 120)
        return json.loads(line)

    async def stop(self) -> None:
        """End the JVM."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()


def words(call: list[Any]) -> list[str]:
    """Return a call as the driver reads it: a map of offsets is "in-0=3,in-1=4", a list "in-0,in-1"."""
    found = []
    for argument in call:
        if isinstance(argument, dict):
            argument = ",".join(f"{p}={o}" for p, o in argument.items())
        found.append(",".join(argument) if isinstance(argument, list) else str(argument))
    return found


async def record(java: Java, protocol: Protocol, script: Script, times: int = TIMES) -> dict[str, Any]:
    """Run one script several times; return the outcome of its calls and the requests. AssertionError if they differ."""
    runs, logs = [], []
    for _ in range(times):
        outcome, log = await run(java, protocol, script)
        runs.append(outcome)
        logs.append(log)
        assert outcome == runs[0], f"{script.name} is a race: {runs[0]}, {outcome}"
    return {**runs[0], "requests": with_classes(quickest(logs))}


async def run(java: Java, protocol: Protocol, script: Script) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run one script once; return the outcome of its calls and the broker's log."""
    server = WireServer(protocol, script)
    listening = await asyncio.start_server(server.serve, translation.HOST, 0)
    server.port = listening.sockets[0].getsockname()[1]
    config = {"bootstrap.servers": f"{translation.HOST}:{server.port}", **java_config(script)}
    calls = [await java.ask(script.client, *(f"{k}={v}" for k, v in config.items()))]
    for call in script.calls:
        calls.append(without_objects(await java.ask(*words(call))))
    futures = [without_objects(f) for f in await java.ask("futures", str(FUTURES_MS))]
    log = list(server.broker.log)
    await java.ask("end")
    listening.close()
    return {"calls": calls[1:] if calls[0] == "ok" else calls, "futures": futures}, log


def java_config(script: Script) -> dict[str, Any]:
    """Return the settings as Java reads them; kafkalab has the classic group protocol, and is eager by default."""
    given = {k: str(v).lower() if isinstance(v, bool) else v for k, v in script.config.items()}
    if script.client == "consumer":
        given.setdefault("group.protocol", "classic")
        given.setdefault("partition.assignment.strategy", RANGE)
    return given


async def record_all(jars: Path, only: str, out: Path) -> None:
    """Record the scripts whose name holds `only`."""
    protocol = Protocol(str(next(jars.glob("kafka-clients-*.jar"))))
    recorded = json.loads(out.read_text()) if only and out.exists() else {}
    java = await Java.start(jars)
    for script in (next(s for s in scripts() if s.client == c) for c in ("producer", "consumer")):
        await run(java, protocol, script)  # so that Java has loaded its classes
    for script in scripts():
        if only in script.name:
            try:
                recorded[script.name] = await record(java, protocol, script)
            except AssertionError as race:
                print(f"{script.name} is a race: {race}", file=sys.stderr, flush=True)
    await java.stop()
    known = [s.name for s in scripts()]
    lines = [f"{json.dumps(n)}: {json.dumps(recorded[n], indent=1)}" for n in known if n in recorded]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jars", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=RECORDED)
    options = parser.parse_args()
    asyncio.run(record_all(options.jars, options.only, options.out))


if __name__ == "__main__":
    main()
