"""The process in which one student's notebook runs: `python -m kafkalab.grading.worker DESCRIPTOR`.

The grader asks over the socket: run a cell, give a variable's value, call a function, go on with a program. Here is
nothing worth changing: what is right is known, and compared, in the grader's process only.
"""

from __future__ import annotations

import importlib
import inspect
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

from kafkalab.client.consumer.rebalance_listener import RebalanceListener
from kafkalab.grading import remote_query
from kafkalab.grading.channel import Channel
from kafkalab.grading.objects import GIVEN, as_raised, described_answer, error_row
from kafkalab.grading.own_code_only import borrowed_by
from kafkalab.grading.process_tree import adopt_orphans
from kafkalab.grading.sandbox import enter_sandbox
from kafkalab.grading.values import Reader, UnreadableError, encode

NAME_MAX, ERROR_MAX = 60, 1000
Row = dict[str, Any]


class Notebook:
    """The notebook's cells and names, and those of its functions and programs that the grader has numbers for."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.shell = interpreter()
        self.functions: list[Callable[..., Any]] = []
        self.programs: dict[int, Coroutine[Any, Any, Any]] = {}

    def serve(self) -> None:
        """Answer every question until the grader has no more."""
        while (message := self.channel.receive())["do"] != "end":
            self._reply(message)

    def _reply(self, message: Row) -> None:
        try:
            reply: Row = getattr(self, f"do_{message['do']}")(**{k: v for k, v in message.items() if k != "do"})
        except UnreadableError as error:
            reply = {"unreadable": str(error)}
        except RecursionError:
            reply = {"unreadable": "it is nested too deep, or contains itself"}
        except BaseException as error:
            reply = {"raised": error_row(error)}
        try:
            self.channel.send(reply)
        except UnreadableError as error:
            self.channel.send({"unreadable": str(error)})

    # what the grader asks

    def do_cell(self, source: str) -> Row:
        """Run a cell; the reply has the error that it stops with."""
        try:
            done = self.shell.run_cell(source, store_history=False)
            error = done.error_before_exec or done.error_in_exec
        except BaseException as stopped:
            error = stopped
        return {"error": None if error is None else describe_error(error)}

    def do_has(self, name: str) -> Row:
        return {"there": name in self.shell.user_ns}

    def do_value(self, name: str) -> Row:
        return {"value": self._encode(self.shell.user_ns[name])}

    def do_call(self, function: int, args: Any, named: Any) -> Row:
        """Call a function; an async one is begun."""
        made = self._reader()
        called = self.functions[function](*made.read(args), **made.read(named))
        if not isinstance(called, Coroutine):
            return {"value": self._encode(called)}
        number = len(self.programs)
        self.programs[number] = called
        return self._step(number, lambda: called.send(None))

    def do_many(self, function: int, cases: Any) -> Row:
        """Call a function for each case, up to the first one that raises."""
        values: list[Any] = []
        for case in self._reader().read(cases):
            try:
                values.append(self._encode(self.functions[function](*case)))
            except UnreadableError:
                raise
            except BaseException as error:
                return {"values": values, "raised": error_row(error)}
        return {"values": values}

    def do_resume(self, program: int, value: Any = None, raised: Any = None) -> Row:
        """Go on with a program, with the result of what it has awaited, or with its error."""
        coroutine = self.programs[program]
        if raised is not None:
            error = as_raised(raised[0], self._reader().read(raised[1]))
            return self._step(program, lambda: coroutine.throw(error))
        result = self._reader().read(value)
        return self._step(program, lambda: coroutine.send(result))

    def do_perform(self, task: str, args: Any) -> Row:
        """Do one of the course's own tasks, such as a query on the grader's files."""
        module, _, name = task.partition(":")
        return {"value": self._encode(getattr(importlib.import_module(module), name)(*self._reader().read(args)))}

    def _step(self, number: int, go_on: Callable[[], Any]) -> Row:
        try:
            awaited = go_on()
        except StopIteration as end:
            del self.programs[number]
            return {"value": self._encode(end.value)}
        if isinstance(awaited, RemoteAwaitable):
            return {"awaits": awaited.number, "program": number}
        self.programs.pop(number).close()
        return {"foreign": type(awaited).__name__[:NAME_MAX]}

    # values

    def _reader(self) -> Reader:
        reader = Reader({**GIVEN, "client": self._client, "function": lambda number: self.functions[number]})
        reader.parts = -sys.maxsize  # the grader's values may be of any length
        return reader

    def _encode(self, value: Any) -> Any:
        return encode(value, self._describe_object)

    def _describe_object(self, value: Any) -> tuple[str, Any]:
        if isinstance(value, RebalanceListener):
            return "listener", [value.on_partitions_revoked, value.on_partitions_assigned, value.on_partitions_lost]
        if isinstance(value, (Client, RemoteAwaitable)):
            return "foreign", [type(value).__name__, repr(value)]
        found = described_answer(value)
        if found[0] != "foreign" or not callable(value):
            return found
        self.functions.append(value)
        name = getattr(value, "__name__", "your_function")
        named = name if isinstance(name, str) else "your_function"
        is_async = inspect.iscoroutinefunction(value)
        return "function", [len(self.functions) - 1, named[:NAME_MAX], is_async, borrowed_by(value)[:NAME_MAX]]

    # clients

    def _client(self, row: list[Any]) -> Any:
        number, kind = row
        return RemoteAwaitable(self, number) if kind in ("coroutine", "Promise") else Client(self, number, kind)

    def use(self, *row: Any) -> Any:
        """Let the grader use one of the program's clients; return the result, or raise its error."""
        self.channel.send({"use": [self._encode(part) if isinstance(part, (list, dict)) else part for part in row]})
        while "do" in (answer := self.channel.receive()):
            self._reply(answer)  # a client may call the program back meanwhile
        if "raised" in answer:
            raise as_raised(answer["raised"][0], self._reader().read(answer["raised"][1]))
        return self._reader().read(answer["value"])


METHODS = frozenset({"now", "name", "brokers", "state", "done"})
"""The attributes that are read of a client, and not called."""


class Client:
    """A client of a program: the grader's simulator has it, and does what is called here."""

    def __init__(self, notebook: Notebook, number: int, kind: str) -> None:
        self._notebook, self._number, self._kind = notebook, number, kind

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in METHODS:
            return self._notebook.use(self._number, name)
        return lambda *args, **named: self._notebook.use(self._number, name, list(args), named)

    def __repr__(self) -> str:
        return f"<{self._kind} of a graded program>"


class RemoteAwaitable(Client):
    """An awaitable that a client's method returned: the simulator goes on until it is there."""

    def __init__(self, notebook: Notebook, number: int) -> None:
        super().__init__(notebook, number, "Promise")

    @property
    def number(self) -> int:
        return self._number

    def __await__(self) -> Generator[RemoteAwaitable, Any, Any]:
        return (yield self)


def interpreter() -> Any:
    """Return an IPython shell that prints no tracebacks and keeps no history."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    shell: Any = InteractiveShell.instance(config=settings)
    shell.showtraceback = shell.showsyntaxerror = lambda *given, **named: None
    return shell


def describe_error(error: BaseException) -> str:
    """Return the error as a few lines for the teacher."""
    name, text, _ = error_row(error)
    return f"{name}: {text}".rstrip(": ")


def main() -> None:
    """Shut this process in, answer the grader's questions, and end with whatever threads the notebook has started."""
    descriptor = int(sys.argv[1])
    channel = Channel(socket.socket(fileno=descriptor))
    os.set_inheritable(descriptor, False)
    job = channel.receive()
    importlib.import_module("kafkalab")
    notebook = Notebook(channel)
    adopt_orphans()
    readable, hidden = ([Path(p) for p in job[name]] for name in ("readable", "hidden"))
    inputs = Path(job["folder"], "inputs")
    limits = [job[name] for name in ("memory_mb", "time_s", "kernel", "spark")]
    enter_sandbox(Path(job["folder"]), [*readable, inputs], hidden, *limits)
    remote_query.use(inputs)
    channel.send({"ready": True})
    try:
        notebook.serve()
    except EOFError:
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
