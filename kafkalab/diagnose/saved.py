"""Read what kafkalab itself saves: a scenario is run and judged, of a capture the brokers' words on producers count."""

from __future__ import annotations

from pathlib import Path

from kafkalab.diagnose.captured import judge_capture
from kafkalab.diagnose.evidence import Evidence, SavedRun, Unknown
from kafkalab.diagnose.facts import ProducerRow, Source
from kafkalab.limits import RUN, quote, truncate
from kafkalab.saved_data import CAPTURE, CAPTURED, file_text, json_file, json_of

SCENARIO = ".klab"


def is_capture(path: Path) -> bool:
    """Return True for the folder of a capture."""
    return (path / CAPTURE).is_file()


def read_scenario(name: str, source: str | Path, evidence: Evidence) -> None:
    """Run a saved scenario and keep what the checks find; `source` is its text or its file.

    Anything that is no scenario is counted as an unknown line.
    """
    from kafkalab.sim.cluster import Cluster
    from kafkalab.sim.run_errors import RunawayError, StuckError
    from kafkalab.sim.scenario import Scenario
    from kafkalab.widgets.model.findings import report_of

    counts = evidence.files.setdefault(name, Unknown(lines=1))
    try:
        text = file_text(source) if isinstance(source, Path) else source
        cluster = Cluster(Scenario.from_json(json_of(text, name), name))
        cluster.run(RUN.most)
        report = report_of(cluster)
    except (ValueError, TypeError, StuckError, RunawayError) as error:
        counts.unknown = 1
        counts.samples.append(Source(name, 1, truncate(error)))
        return
    counts.used = 1
    forbidden = tuple(
        (str(result["name"]), int(found["step"]), str(found["text"]))
        for result in report["results"]
        for found in result["findings"]
        if found["policy"] == "forbidden"
    )
    ask = f"kafkalab page {name} --out run.html"
    evidence.runs.append(SavedRun(name, report["verdict"], f"The saved run: {report['sentence']}", ask, forbidden))


def read_capture(path: Path, evidence: Evidence) -> None:
    """Add what the checks find in a capture, and the producers that its brokers remember.

    ValueError if it is damaged.
    """
    name = f"{path.name}/{CAPTURE}"
    found = json_file(path / CAPTURE, CAPTURED)
    producers = found.get("producers") if isinstance(found, dict) else None
    if not isinstance(producers, dict):
        raise ValueError(f"{quote(str(path / CAPTURE))} is not what a capture wrote")
    evidence.files[name] = Unknown(lines=1, used=1)
    judged = judge_capture(path, str(found.get("known", "")))
    if judged is None:
        evidence.captures.append(str(path))
    else:
        evidence.runs.append(judged)
    for partition, rows in producers.items():
        for row in rows if isinstance(rows, list) else []:
            numbers = [row.get(key, 0) for key in NUMBERS] if isinstance(row, dict) else []
            if len(numbers) == len(NUMBERS) and all(type(one) is int for one in numbers):
                producer, epoch, start = numbers
                text = f"{partition}: producer {producer}, epoch {epoch}, transaction from {start} on"
                evidence.producers.add(ProducerRow(str(partition), producer, epoch, start, Source(name, 1, text)))


NUMBERS = ("producer_id", "producer_epoch", "current_txn_start_offset")
