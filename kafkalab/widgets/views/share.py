"""Sharing a run: as a `.klab` file, as a short code, as Python; and opening a shared run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import traitlets

from kafkalab.limits import FILE, QUOTE, truncate
from kafkalab.palette import BLUE, DARK, DIM
from kafkalab.run.run import Run
from kafkalab.saved_data import file_text, json_of
from kafkalab.sim.codec import code_of, python_of, scenario_of_code
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.model.messages import Content
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.recorded_page import recorded_page
from kafkalab.widgets.views.view import Source, View


class Share(View):
    """The run that is shown, as something to pass on: `Share(lab03())`. `open_file` and `open_code` show another's.

    `code`, `python` and `file_text` are what the buttons copy and save; `print(share)` shows code and Python.
    """

    part = "share"
    LONG = ("text", "code")

    shared = traitlets.Dict().tag(sync=True)

    def __init__(self, run: Source, size: str = "laptop") -> None:
        """See `View`."""
        journey = Journey.of(run)
        shared = shared_of(journey.run, journey.place)
        super().__init__(journey, size, shared=shared)  # complete when the browser hears of it
        self.journey.observe(self._refresh, "place")
        self.hear({"open": self._open, "code": self._open, "page": self._send_page})

    def _refresh(self, _: Any = None) -> None:
        self.shared = shared_of(self.journey.run, self.journey.place)

    @property
    def code(self) -> str:
        """The short code. ValueError for a run whose program cannot be saved."""
        return self._take_shared("code")

    @property
    def python(self) -> str:
        """A cell that makes the scenario. ValueError for a run whose program cannot be saved."""
        return self._take_shared("python")

    @property
    def file_text(self) -> str:
        """The text of the `.klab` file. ValueError for a run whose program cannot be saved."""
        return self._take_shared("file")

    def _take_shared(self, name: str) -> str:
        if self.shared["why"]:
            raise ValueError(self.shared["why"])
        return str(self.shared[name])

    def save(self, path: str | Path) -> None:
        """Write the scenario of the run shown to `path`."""
        self.journey.scenario.save(path)

    def page(self, path: str | Path) -> None:
        """Write the run shown to `path` as one page, which opens at the cursor in any browser, without Python."""
        Path(path).write_text(recorded_page(self.journey), encoding="utf-8")

    def open_file(self, path: str | Path) -> None:
        """Run and show the scenario in the file `path`. ValueError, and the present run stays, for any other file."""
        self.open_text(file_text(path), str(path))

    def open_text(self, text: str, name: str = "this") -> None:
        """Run and show the scenario in `text`, of a file `name`. ValueError, and nothing changes, otherwise."""
        name = truncate(name, QUOTE)
        if len(text) > FILE.most:
            raise ValueError(f"{name} is too large for a scenario; the limit is {FILE.most:,} {FILE.of}")
        self._show(Scenario.from_json(json_of(text, name), name), f"opened {name}")

    def open_code(self, code: str) -> None:
        """Run and show the scenario of `code`. ValueError, and the present run stays, for a typo."""
        self._show(scenario_of_code(code), "opened a code")

    def _show(self, scenario: Scenario, label: str) -> None:
        for program in scenario.programs:
            program.function()
        try:
            self.journey.visit(scenario, label)
        except (TypeError, AttributeError, KeyError) as error:
            raise ValueError(truncate(f"the scenario cannot be run: {error}")) from None

    def _open(self, content: Content) -> None:
        if content["kind"] == "open":
            self.open_text(str(content.get("text", "")), str(content.get("name", "this file")))
        else:
            self.open_code(str(content.get("code", "")))
        self.send({"kind": "done", "text": f"Shown now: {self.payload['title']}."})

    def _send_page(self, _: Content) -> None:
        name = f"{_file_name(self.journey.run.trace.title).removesuffix('.klab')}.html"
        self.send({"kind": "page", "name": name, "file": recorded_page(self.journey)})

    def text(self) -> str:
        """Return title, code, the run's digest, and the Python."""
        head = f"{self.payload['title']} · run {self.journey.place} · digest {self.shared['digest']}"
        if self.shared["why"]:
            return f"{head}\nThis run cannot be shared: {self.shared['why']}."
        return f"{head}\ncode: {self.shared['code']}\nfile: {self.shared['name']}\n\n{self.shared['python']}"

    def svg(self) -> str:
        """The text twin, with the code in large letters."""
        canvas = Canvas(y=30)
        for i, line in enumerate(self.text().splitlines()):
            if line.startswith("code: "):
                canvas.y += 4
                for part in _parts(line[6:], 70):
                    canvas.text(18, canvas.y, part, BLUE, more=' font-family="monospace" font-size="17"' + BOLD)
                    canvas.y += 24
                continue
            canvas.text(18, canvas.y, fit(line, 920), DARK if i else DIM)
            canvas.y += 19
        return standalone(canvas, f"{self.payload['title']}: code {self.shared['code']}")


def shared_of(run: Run, place: int) -> dict[str, Any]:
    """Return what the buttons copy and save of a run, number `place` of its journey, or why it cannot be shared."""
    head = {"place": place, "name": _file_name(run.trace.title), "digest": run.trace.digest()}
    try:
        scenario = run.scenario_or_why()
        file = json.dumps(scenario.to_json(), ensure_ascii=False, indent=1) + "\n"
        return {**head, "code": code_of(scenario), "python": python_of(scenario), "file": file, "why": ""}
    except ValueError as error:
        return {**head, "code": "", "python": "", "file": "", "why": str(error)}


def _parts(text: str, width: int) -> list[str]:
    return [text[i : i + width] for i in range(0, len(text), width)]


def _file_name(title: str) -> str:
    words = "".join(c.lower() if c.isascii() and c.isalnum() else " " for c in title).split()
    return "_".join(words[:6] or ["scenario"]) + ".klab"
