"""The grader's questions to one notebook's process: run a cell, give a value, call a function, go on with a program.

Only answers come back. Checks get them as plain values, in which a student's function is a function that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kafkalab.grading.client_calls import Clients
from kafkalab.grading.learner import EndedError, Learner
from kafkalab.grading.objects import ANSWERS, described_result, error_row, rebuild_error
from kafkalab.grading.values import Reader, UnreadableError, encode, text_of
from kafkalab.sim.app import App
from kafkalab.sim.run_errors import ForeignAwaitError

CALL_S, MANY_S = 20, 30
"""The seconds that one call of a student's function may take, and all calls for an exercise."""

NAME_MAX, ERROR_MAX = 60, 1000


class Session:
    """One notebook's process, asked."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    @property
    def inputs(self) -> Path:
        """The folder of files for tasks."""
        return self.learner.inputs

    # cells and answers

    def run_cell(self, source: str) -> str:
        """Run a cell; return the error that it stops with, "" if there is none."""
        reply = self._ask({"do": "cell", "source": source}, self.learner.place.time_s)
        error = reply.get("error")
        return "" if error is None else text_of(error, ERROR_MAX).strip() or "an error that cannot be shown"

    def has(self, name: str) -> bool:
        """Return whether the notebook has a variable of this name."""
        return self._ask({"do": "has", "name": name}, CALL_S).get("there") is True

    def value(self, name: str) -> Any:
        """Return the variable's value; UnreadableError if it is too large."""
        return self._value(self._ask({"do": "value", "name": name}, CALL_S))

    def perform(self, task: str, *given: Any) -> Any:
        """Let the notebook's process do a task of the course, "module:function", with these arguments."""
        row = {"do": "perform", "task": task, "args": self._encode(list(given), None)}
        return self._result(self._ask(row, self.learner.place.time_s))

    def finish(self) -> None:
        """Say that nothing else is asked."""
        self.learner.send({"do": "end"})

    # functions

    def _function(self, row: Any) -> Callable[..., Any]:
        """Return a function that asks the notebook's process to call the one of this number."""
        match row:
            case [int(number), str(name), bool(is_async), str(borrowed)]:
                pass
            case _:
                raise UnreadableError("it holds a function that is none")

        async def program(*args: Any, **named: Any) -> Any:
            return await self._program(number, args, named)

        def function(*args: Any, **named: Any) -> Any:
            return self._call(number, args, named)

        made: Any = program if is_async else function
        made.__name__ = made.__qualname__ = text_of(name, NAME_MAX) or "your_function"
        made.number, made.borrowed = number, text_of(borrowed, NAME_MAX)
        if not is_async:
            made.many = lambda cases: self._many(number, cases)
        found: Callable[..., Any] = made
        return found

    def _call(self, number: int, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        clients = Clients(self._reader)
        reply = self._ask(self._start(number, args, named, clients), CALL_S, clients)
        if "awaits" in reply:
            raise UnreadableError("a function without async awaits something")
        return self._result(reply)

    def _many(self, number: int, cases: Sequence[tuple[Any, ...]]) -> tuple[list[Any], Exception | None]:
        """Call a function for each case; return the results up to the first error, and that error."""
        row = {"do": "many", "function": number, "cases": self._encode(list(cases), None)}
        reply = self._ask(row, MANY_S)
        values = self._value({"value": reply.get("values"), **reply})
        if not isinstance(values, list) or len(values) > len(cases):
            raise UnreadableError("what it answered cannot be read")
        if len(values) == len(cases):
            return values, None
        return values, rebuild_error(reply.get("raised"))

    async def _program(self, number: int, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run a student's program: it is resumed with the result of each client call that it awaits."""
        clients = Clients(self._reader)
        try:
            reply = self._ask(self._start(number, args, named, clients), CALL_S, clients)
            while "awaits" in reply:
                row = {"do": "resume", "program": reply.get("program")}
                try:
                    row["value"] = self._encode(await clients.wait_for(reply["awaits"]), clients)
                except Exception as error:
                    row["raised"] = self._error(error)
                reply = self._ask(row, CALL_S, clients)
            if "foreign" in reply:
                kind = text_of(reply["foreign"], NAME_MAX)
                raise ForeignAwaitError.of("the program", f"awaited {kind!r}")
            return self._result(reply)
        finally:
            clients.close()

    def _start(self, number: int, args: tuple[Any, ...], named: dict[str, Any], clients: Clients) -> dict[str, Any]:
        return {
            "do": "call", "function": number,
            "args": self._encode(list(args), clients), "named": self._encode(named, clients),
        }  # fmt: skip

    # messages

    def _ask(self, message: dict[str, Any], most_s: float, clients: Clients | None = None) -> dict[str, Any]:
        """Send a question, do meanwhile what the notebook's code wants of its clients, and return the answer."""
        with self.learner.limit_grading(most_s):
            self.learner.send(message)
            reply = self.learner.receive()
            while "use" in reply:
                row: dict[str, Any] = {}
                try:
                    if clients is None:
                        raise AttributeError("the run of this client is over")
                    row["value"] = self._encode(clients.use(reply["use"], self.learner.channel.received), clients)
                except Exception as error:
                    row["raised"] = self._error(error)
                self.learner.send(row)
                reply = self.learner.receive()
        return reply

    def _encode(self, value: Any, clients: Clients | None) -> Any:
        """Return the value as JSON; a client of a program, and what it waits for, as a number."""

        def special(part: Any) -> tuple[str, Any]:
            number = clients.number_of(part) if clients is not None else None
            if number is not None:
                return "client", [number, type(part).__name__]
            if isinstance(part, App):
                raise UnreadableError("only a program is given clients")
            if callable(part) and hasattr(part, "number"):
                return "function", part.number
            return described_result(part)

        return encode(value, special)

    def _error(self, error: BaseException) -> Any:
        data = {k: v for k, v in vars(error).items() if isinstance(v, (str, int, dict, tuple)) and k != "error"}
        return [error_row(error), self._encode(data, None)]

    def _reader(self) -> Reader:
        return Reader({**ANSWERS, "function": self._function})

    def _result(self, reply: dict[str, Any]) -> Any:
        """Return what a function returned, or raise what it raised."""
        if "raised" in reply:
            raise rebuild_error(reply["raised"])
        return self._value(reply)

    def _value(self, reply: dict[str, Any]) -> Any:
        if "unreadable" in reply:
            raise UnreadableError(text_of(reply["unreadable"], ERROR_MAX) or "it cannot be read")
        if "value" not in reply:
            raise EndedError("it was stopped: what it answered is no answer")
        return self._reader().read(reply["value"])
