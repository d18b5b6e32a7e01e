"""What must hold of everything that is fed in: an answer or a clear error, soon, and nothing lost."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from kafkalab import lab03
from kafkalab.cli.main import main
from kafkalab.faults.frame import Drop
from kafkalab.grading.challenge import open_challenge, unpack_token
from kafkalab.limits import MESSAGE, QUOTE, RUN
from kafkalab.reference.exhibits import museum
from kafkalab.sim.cluster import Cluster
from kafkalab.sim.codec import CHALLENGE, SCENARIO, code_of, scenario_of_code
from kafkalab.sim.run_errors import RunawayError, StuckError
from kafkalab.sim.scenario import Scenario
from kafkalab.widgets.model.journey import Journey
from kafkalab.widgets.views.alternatives import Alternatives
from kafkalab.widgets.views.client_view import ClientView
from kafkalab.widgets.views.cluster_map import ClusterMap
from kafkalab.widgets.views.compare import Compare
from kafkalab.widgets.views.cost_meter import CostMeter
from kafkalab.widgets.views.fault_panel import FaultPanel
from kafkalab.widgets.views.log_tape import LogTape
from kafkalab.widgets.views.predict import Predict
from kafkalab.widgets.views.sequence import Sequence
from kafkalab.widgets.views.share import Share
from kafkalab.widgets.views.state_chart import StateChart
from kafkalab.widgets.views.verdict import Verdict

ROOT = Path(__file__).parents[2]


def clear(error: Exception, given: str) -> None:
    """Fail unless the message is short, one line, and quotes no more than QUOTE characters in a row of what came in."""
    text = str(error)
    if isinstance(error, RunawayError | StuckError):
        text = text.partition("\n")[0]  # the last events follow
    assert 0 < len(text) <= MESSAGE, f"{len(text)} characters: {text[:200]}"
    assert "\n" not in text, text
    for start in range(0, len(text) - QUOTE - 1, 8):
        part = text[start : start + QUOTE + 8]
        assert len(part) < QUOTE + 8 or part not in given, f"quotes more than {QUOTE}: {part}"


def file_is_met(content: bytes, folder: Path) -> str:
    """Load, save, and run what the file holds; return what became of it."""
    path = folder / "fuzzed.klab"
    path.write_bytes(content)
    try:
        scenario = Scenario.load(path)
    except ValueError as error:
        clear(error, content.decode(errors="replace"))
        return "refused"
    scenario.save(path)
    assert Scenario.load(path) == scenario, "something was lost"
    return run_is_met(scenario)


def run_is_met(scenario: Scenario) -> str:
    """Run the scenario within the limit of opened files; return how it ended."""
    try:
        cluster = Cluster(scenario)
        cluster.run(RUN.most)
        cluster.outcome()
    except (ValueError, RunawayError, StuckError) as error:
        clear(error, "")
        return type(error).__name__
    return "ran"


def code_is_met(kind: str, code: str) -> str:
    """Read a code of any kind; return what became of it."""
    try:
        if kind == SCENARIO:
            scenario = scenario_of_code(code)
            assert scenario_of_code(code_of(scenario)) == scenario, "something was lost"
            return run_is_met(scenario)
        (open_challenge if kind == CHALLENGE else unpack_token)(code)
    except ValueError as error:
        clear(error, code)
        return "refused"
    return "read"


@cache
def widgets() -> list[Any]:
    """One widget of each kind, most of them on one journey; what they send is kept in `sent`."""
    journey = Journey(lab03())
    made: list[Any] = [
        *(journey, Sequence(journey), LogTape(journey), ClusterMap(journey), StateChart(journey), FaultPanel(journey)),
        *(Verdict(journey), Share(journey), ClientView(journey), Predict("How many?", answer=3)),
        Compare(lab03(), lab03().with_faults(Drop("EndTxn#1"))),
        *(CostMeter(journey), Alternatives("coordinator"), museum().chooser),
    ]
    for widget in made:
        widget.sent = []
        widget.send = lambda content, buffers=None, to=widget.sent: to.append(content)
        widget._send = lambda content, buffers=None: None
    return made


def message_is_met(number: int, msg: Any) -> str:
    """Send a widget what a browser might; it answers, and can still be seen and read afterwards."""
    widget = widgets()[number]
    widget.sent.clear()
    widget._handle_msg(msg)
    for answer in widget.sent:
        clear(ValueError(answer.get("text", "-")), str(msg))
    json.dumps(widget.get_state([name for name in widget.keys if name not in ("layout", "journey")]), default=str)
    if number:
        assert widget.text()
    if len(widgets()[0].tree) > 12:  # a tree of runs grows with each press
        widgets.cache_clear()
    return widget.sent[0].get("kind", "") if widget.sent else "no answer"


@contextmanager
def _absent(module: str) -> Iterator[None]:
    """Let the import of a module fail; other modules that are imported meanwhile stay."""
    before = sys.modules.pop(module, None)
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]
        if before is not None:
            sys.modules[module] = before


def command_is_met(words: list[str], folder: Path) -> str:
    """Type a command line in a folder; what comes back is a status, and for an error one short line."""
    out, err = io.StringIO(), io.StringIO()
    pipe = folder / "pipe"
    if not pipe.exists():
        os.mkfifo(pipe)
        (folder / "empty").mkdir()
        (folder / "x.klab").write_bytes((ROOT / "data/hanging_transaction.klab").read_bytes())
    names = {"FILE": "x.klab", "OUT": "out", "FOLDER": "empty", "PIPE": "pipe"}
    typed = [str(folder / names[word]) if word in names else word for word in words]
    no_spark = mock.patch("kafkalab.cli.spark_options.NO_PYSPARK", "no Spark here")
    with no_spark, _absent("py4j.protocol"), redirect_stdout(out), redirect_stderr(err):
        status = main(typed, folder)
    said = err.getvalue()
    if status == 2:
        *progress, last = said.splitlines()
        assert all(line.startswith(("at most about", "making", "simulating", "writing")) for line in progress), said
        assert len(last) <= MESSAGE + 40, last
        clear(ValueError(last[-MESSAGE:]), "".join(word for word in typed if len(word) > QUOTE))
    assert not list(folder.glob(".*unfinished*")), "something is left"
    return f"status {status}"
