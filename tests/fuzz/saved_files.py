"""Every kind of file that a person may have damaged: read, or refused with a short sentence, and nothing is lost."""

from __future__ import annotations

import io
import json
import shutil
import struct
from collections.abc import Callable
from contextlib import closing, redirect_stderr
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from kafkalab import lab03
from kafkalab.cli.captured import lacking_of, said_by_brokers
from kafkalab.cli.command_line import CommandLineError
from kafkalab.cli.kept_runs import KeptRuns, key_of
from kafkalab.cli.lab import sign_labs
from kafkalab.explore.experiment import Job, attempt
from kafkalab.grading.progress import ExerciseRecord, as_text, load
from kafkalab.grading.submissions import NoNotebook, code_cells
from kafkalab.history.export import history_of
from kafkalab.history.history import load_history
from kafkalab.limits import MESSAGE
from kafkalab.protocol.messages.produce import Produce
from kafkalab.protocol.records import Batch, Record
from kafkalab.saved_data import CAPTURE
from kafkalab.sim.cluster import ran
from kafkalab.sim.scenario import Program, Scenario
from kafkalab.trace import load_trace
from kafkalab.wire.data.folder import DataFolder
from kafkalab.wire.data.image import IMAGE, LOCK
from kafkalab.wire.live import RealTime, scenario_of
from kafkalab.wire.tap.recorder import Recorder
from kafkalab.wire.tap.session import Session, load_tap

ROOT = Path(__file__).parents[2]
JOB = Job(
    scenario=Scenario(
        topics={"out": 1},
        programs=(Program("p", "operations", {"steps": [["send", "out", "a"], ["flush"]], "transactional_id": None}),),
    ),
    find=("duplicate",),
)
CAPTURED = {
    "format": "kafkalab-capture", "version": 1, "known": "complete",
    "partitions": {"t-0": {"listed": 1, "unlisted": 0}},
    "producers": {"t-0": [{"producer_id": 1, "producer_epoch": 0, "current_txn_start_offset": -1}]},
}  # fmt: skip
OF_A_FOLDER = (IMAGE, "b1/replication-offset-checkpoint", "b1/t-0/00000000000000000000.log")


def data_folder(folder: Path) -> None:
    """Let three brokers keep two records in the folder; ValueError if they cannot go on there."""
    kept = DataFolder(folder)
    try:
        live = RealTime(scenario_of(2, 3, {"t": 1}, {}), prepare=kept.prepare)
        if not (folder / OF_A_FOLDER[2]).exists():
            for value in "ab":  # a follower hears of the first one's high watermark with the second
                live.kernel.catch_up(max(live.now_ms, live.kernel.now) + 50)
                batches = {"t-0": Batch(records=(Record("k", value),), timestamp_ms=1)}
                request = Produce(transactional_id=None, acks=-1, timeout_ms=100, batches=batches)
                leader = live.cluster.controller.metadata.leader("t-0")
                live.ask(live.client("c"), leader, request, 9, lambda answer: None)
                live.kernel.catch_up(live.kernel.now + 50)
    finally:
        kept.close()


@cache
def samples() -> dict[str, bytes]:
    """Return one sound file of each kind."""
    with TemporaryDirectory() as name:
        folder, cluster = Path(name), ran(lab03())
        history_of(cluster).save(folder / "history")
        cluster.trace.save(folder / "trace")
        with (folder / "tap").open("w") as file:
            session = Session(Recorder("a tap", 100), file)
            exchange = session.on_request(0, "b1", struct.pack(">hhih3s", 18, 0, 1, 3, b"app"))
            session.on_arrival(1, exchange)
            session.on_response(2, exchange, struct.pack(">ihi", 1, 0, 0))
            session.on_arrival(3, exchange)
        with closing(KeptRuns(folder / "runs")) as kept:
            kept.keep(key_of(JOB), attempt(JOB))
            kept.file.commit()
        data_folder(folder / "data")
        found = {kind: (folder / kind).read_bytes() for kind in ("history", "trace", "tap", "runs")}
        found |= {name: (folder / "data" / name).read_bytes() for name in OF_A_FOLDER}
    found["notebook"] = (ROOT / "labs" / "solutions" / "03_a_full_commit.ipynb").read_bytes()
    found["progress"] = as_text(
        {"L3.E1": ExerciseRecord(solved=True, tries=2, solved_at="2026-01-01T00:00:00+00:00")}
    ).encode()
    found["capture"] = json.dumps(CAPTURED).encode()
    return found


def file_is_met(kind: str, data: bytes, folder: Path) -> str:
    """Read a file of the kind; return what became of it."""
    shutil.rmtree(folder / "met", ignore_errors=True)
    (folder / "met").mkdir()
    if kind in OF_A_FOLDER:
        return _folder_is_met(kind, data, folder)
    path = folder / "met" / {"capture": CAPTURE}.get(kind, kind)
    path.write_bytes(data)
    return READERS[kind](path)


def _refuse(error: Exception) -> str:
    said = str(error)
    assert 0 < len(said) <= 2 * MESSAGE, said[:300]  # the path is part of it
    assert "\n" not in said, said[:300]
    return "refused"


def _read_by(read: Callable[[Path], object]) -> Callable[[Path], str]:
    def try_file(path: Path) -> str:
        try:
            read(path)
        except (ValueError, CommandLineError) as error:
            return _refuse(error)
        return "read"

    return try_file


def _notebook(path: Path) -> str:
    labs = path.parent / "labs"
    labs.mkdir()
    shutil.copy(path, labs / "03.ipynb")
    said = io.StringIO()
    with redirect_stderr(said):
        sign_labs(path.parent)
    if said.getvalue():
        assert said.getvalue().startswith("labs/03.ipynb is damaged and left as it is ("), said.getvalue()
        assert (labs / "03.ipynb").read_bytes() == path.read_bytes()
    try:
        code_cells(path.read_bytes())
    except NoNotebook as error:
        return _refuse(error)
    return "read"


def _progress(path: Path) -> str:
    before = path.read_bytes()
    found = load(path)
    if not found.message:
        return "read"
    assert any(p.read_bytes() == before for p in path.parent.glob("*damaged*")), "it is lost"
    return _refuse(ValueError(found.message))


def _runs(path: Path) -> object:
    with closing(KeptRuns(path)) as kept:
        return len(kept), kept.find_trial(key_of(JOB))


def _folder_is_met(kind: str, data: bytes, folder: Path) -> str:
    place = folder / "met" / "data"
    for name in OF_A_FOLDER:
        for broker in ("b1", "b2", "b3") if "/" in name else ("",):
            path = place / name.replace("b1", broker)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(samples()[name])
    (place / kind).write_bytes(data)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    try:
        data_folder(place)
    except ValueError as error:
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before, "it was touched"
        assert not (place / LOCK).exists()
        return _refuse(error)
    return "read"


READERS: dict[str, Callable[[Path], str]] = {
    "notebook": _notebook,
    "progress": _progress,
    "history": _read_by(load_history),
    "trace": _read_by(load_trace),
    "tap": _read_by(load_tap),
    "runs": _read_by(_runs),
    "capture": _read_by(lambda path: (lacking_of(path.parent), list(said_by_brokers(path.parent)))),
}
