"""The incident room: paste or open what was printed, and see what happened, beside the nearest run of the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import traitlets

from kafkalab.diagnose.evidence import Evidence
from kafkalab.diagnose.finding import Finding
from kafkalab.diagnose.judge import judge
from kafkalab.diagnose.log_picture import draw_log
from kafkalab.diagnose.nearest.known import Known, known_runs, open_run
from kafkalab.diagnose.reading import LINE, read_files, read_text
from kafkalab.diagnose.redact import Redactor
from kafkalab.diagnose.report import NOTHING, as_data, as_text
from kafkalab.diagnose.saved import SCENARIO, read_scenario
from kafkalab.limits import TEXT, Limit, quote
from kafkalab.palette import DARK, DIM
from kafkalab.sim.codec import scenario_of_code
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.view import Source, View

SAMPLES = {
    "hanging": "find-hanging and a dump: a transaction hangs",
    "stuck": "a group that stands still: the lines do not say why",
    "lag": "a lag of 1: nothing is wrong",
}
"""The texts in the folder samples/, and what they are."""
FOLDER = Path(__file__).with_name("samples")
PASTED = Limit(5_000_000, "characters")
"""The most that is read at once: a second in a browser. `kafkalab diagnose` reads a gigabyte."""
PICTURES = 4
"""Logs that are drawn."""
LINES = 26
"""Lines of the report in the static picture."""
Text = tuple[str, str]
"""The name of a text, and the text."""


class IncidentRoom(View):
    """Say what happened by the text of Kafka's tools and logs: `IncidentRoom()`, then paste, or `room.read("…")`.

    It opens with a sample. `report` is what `kafkalab diagnose --json` prints, with pictures of "logs", the name of the
    "sample", "" for lines of your own, and its "lines". Other views, as `Sequence(room)`, show the nearest run.
    """

    part = "incident_room"
    LONG = ("texts",)

    report = traitlets.Dict().tag(sync=True)
    samples = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)

    def __init__(self, run: Source | None = None, sample: str = "", size: str = "laptop") -> None:
        """Open with the sample; with `run`, and no sample, with no lines read and that run shown.

        ValueError for a sample that is not there.
        """
        self.evidence, self.findings, self._code = Evidence(), list[Finding](), ""
        wanted = sample or ("" if run is not None else next(iter(SAMPLES)))
        super().__init__(run or open_run(known_runs()[0]), size, samples=[list(one) for one in SAMPLES.items()])
        if wanted:
            self.read_sample(wanted)
        self.hear(
            {
                "read": lambda said: self._answer(lambda: self._read_message(said.get("texts"))),
                "sample": lambda said: self._answer(lambda: self.read_sample(str(said.get("name")))),
            }
        )

    def _answer(self, read: Callable[[], None]) -> None:
        """Read, and say that it is done: the same report again is no news for the browser."""
        read()
        self.send({"kind": "done"})

    def read(self, *texts: str) -> None:
        """Read what was printed, each text on its own. ValueError if it is too long, or empty."""
        names = ["pasted"] if len(texts) == 1 else [f"pasted {n}" for n in range(1, len(texts) + 1)]
        self._read(list(zip(names, texts, strict=True)), "\n".join(texts))

    def read_files(self, *paths: str | Path) -> None:
        """Read files, or folders of files, of any size. OSError as of `open`; ValueError for a damaged capture."""
        self._show(read_files(map(Path, paths)), "", "")

    def read_sample(self, name: str) -> None:
        """Read a sample. ValueError for a name that is not in SAMPLES."""
        if name not in SAMPLES:
            raise ValueError(f"no sample {quote(name)}; there are {', '.join(SAMPLES)}")
        text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
        evidence = Evidence()
        read_text("sample", _lines_of(text), evidence)
        self._show(evidence, name, text)

    def _read_message(self, texts: object) -> None:
        pairs = texts if isinstance(texts, list) else []
        if not pairs or not all(isinstance(pair, list) and [type(one) for one in pair] == [str, str] for pair in pairs):
            raise ValueError(f"what is read is a list of names and texts, not {quote(texts)}")
        self._read([(name, text) for name, text in pairs])

    def _read(self, texts: Sequence[Text], lines: str = "") -> None:
        """Read texts; `lines` is what the browser does not have yet: it gets the beginning, without secrets."""
        if sum(len(text) for _, text in texts) > PASTED.most:
            most = f"{PASTED.most:,} {PASTED.of}"
            raise ValueError(f"this is more than {most}: read it with `kafkalab diagnose FILE` on your computer")
        if not any(text.strip() for _, text in texts):
            raise ValueError("there is nothing to read: paste what a tool or a log printed, or open a file")
        evidence = Evidence()
        for name, text in texts:
            if name.endswith(SCENARIO):
                read_scenario(name, text, evidence)
            else:
                read_text(name if name not in evidence.files else f"{name} (again)", _lines_of(text), evidence)
        redactor = Redactor()
        shown = "\n".join(map(redactor.redact, lines[: TEXT.most].split("\n")))
        self._show(evidence, "", shown)

    def _show(self, evidence: Evidence, sample: str, lines: str) -> None:
        """Show what the evidence says; let the journey show the nearest run, where there is one."""
        self.evidence, self.findings = evidence, judge(evidence)
        report = as_data(evidence, self.findings)
        drawn = [view for view in evidence.views.values() if view.finished or view.open][:PICTURES]
        report["logs"] = [[view.partition, str(draw_log(view))] for view in drawn]
        report["nothing"] = "" if self.findings else NOTHING
        if report["nearest"]["run"]:
            self._open(Known(**report["nearest"]["run"]))
        self.report = {**report, "sample": sample, "lines": lines}

    def _open(self, known: Known) -> None:
        if known.code != self._code:
            self.journey.visit(scenario_of_code(known.code), known.title)
            self._code = known.code
        self.journey.step = known.step

    def text(self) -> str:
        """Return the report as text, as `kafkalab diagnose` prints it."""
        return as_text(self.evidence, self.findings) if self.evidence.files else "Nothing is read yet."

    def svg(self) -> str:
        """Return the first lines of the report."""
        canvas = Canvas(y=28)
        canvas.text(18, canvas.y, "Incident room", DIM, more=BOLD)
        for n, line in enumerate(self.text().splitlines()[:LINES]):
            canvas.y += 20
            indent = 8 * (len(line) - len(line.lstrip()))
            canvas.text(18 + indent, canvas.y, fit(line.strip(), 920 - indent), DARK, more="" if n else BOLD)
        return standalone(canvas, f"Incident room: {self.text().partition('. ')[0]}")


def _lines_of(text: str) -> Iterable[tuple[str, bool]]:
    """Yield each line, and whether it was cut."""
    return ((line.rstrip("\r")[:LINE], len(line) > LINE) for line in text.split("\n"))
