"""All sets of two faults of the generic programs in small, with all rules on. It can be stopped, and goes on later.

Each set of one whose run is like no other is extended by every fault behind it: first by those that strike before the
run is as usual again, then, in a second round, by the others. What was run is in a file for each program and profile,
one line for each set of one and round; `table` makes the table of docs/campaign.md of them.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from kafkalab.explore.anomalies import parse_names
from kafkalab.explore.experiment import ENDED, Job, Trial, attempt
from kafkalab.explore.fault_sequence import KINDS, FaultSequence, faults_of
from kafkalab.explore.moments import ABSORBED
from kafkalab.explore.small_programs import IN_SMALL
from kafkalab.sim.scenario import Scenario
from tests.explore.table import ROOT

FOLDER, PAGE = ROOT / "build" / "pairs", ROOT / "docs" / "campaign.md"
BEGIN, END = "<!-- what was run -->", "<!-- until here -->"
"""Between these `python -m tests.explore pairs --write` puts the table into the page."""
CURRENT = ("4.x/TV2", "4.x/TV1")
DECIDE = ("protocol", "log", "broker", "client", "sim", "programs", "history", "checks", "explore")
"""The packages on whose code a run and its verdict rest."""
APART = ("search", "draws", "result", "shrink", "explanation", "event_words", "what_if", "__init__")
"""Files of `explore` on which no run of a campaign rests."""


@dataclass(slots=True)
class Extended:
    """The results of one set of one fault and all that was added to it in one round; number -1: the sets of one."""

    number: int
    round: int
    runs: int = 0
    kept: int = 0
    """For the sets of one: how many are extended."""
    seconds: float = 0.0
    futures: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    finds: dict[str, list[str]] = field(default_factory=dict)


def code() -> str:
    """Return a digest of the code on which runs and verdicts rest."""
    sha = sha256()
    for package in DECIDE:
        for path in sorted((ROOT / "kafkalab" / package).rglob("*.py")):
            if package != "explore" or path.stem not in APART:
                sha.update(path.read_bytes())
    return sha.hexdigest()[:16]


def file_of(folder: Path, make: Callable[..., Scenario], profile: str) -> Path:
    """Return the file of a program at a profile."""
    return folder / f"{make.__name__}-{profile.replace('/', '-')}.jsonl"


def read_done(path: Path, by: str = "") -> list[Extended]:
    """Return what was run, by the code with this digest or by any; a last line that was cut off counts for nothing."""
    text = path.read_text("utf-8") if path.exists() else ""
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines or by not in ("", json.loads(lines[0])["code"]):
        return []
    return [Extended(**json.loads(line)) for line in lines[1:]]


@dataclass(slots=True)
class Pairs:
    """One program at one profile."""

    job: Job
    seen: dict[str, None] = field(default_factory=dict)
    alone: dict[object, None] = field(default_factory=dict)
    """The faults that show something without any other."""

    def ones(self, base: Trial) -> tuple[list[FaultSequence], Extended]:
        """Run all sets of one fault; return those to be extended, and what came of it."""
        row, begun, found = Extended(-1, 0), time.process_time(), list(base.follow)
        self.seen[base.future] = None
        kept = []
        for one in found:  # which grows
            trial = self._make(row, (one,))
            found += trial.late
            if trial.findings:
                self.alone[one.faults] = None
            elif not trial.in_vain and trial.future not in self.seen:
                self.seen[trial.future] = None
                kept.append(one)
            elif not trial.in_vain:
                _count(row, "have a future seen before")
        row.kept, row.seconds = len(kept), time.process_time() - begun
        row.left_out["without support, or repeated"] = base.left_out
        return kept, row

    def extend(self, number: int, one: FaultSequence, round_: int) -> Extended:
        """Run the sets of two that begin with this fault, those of one round."""
        row, begun = Extended(number, round_), time.process_time()
        base = attempt(replace(self.job, sequences=(one,)))
        row.left_out["without support, or repeated"] = base.left_out
        open_ = list(base.follow)
        for two in open_:  # which grows
            if (two.rank.tier == ABSORBED) is not bool(round_):
                continue
            if two.faults in self.alone:
                _count(row, "show something alone")
                continue
            open_ += self._make(row, (one, two)).late
        row.seconds = time.process_time() - begun
        return row

    def _make(self, row: Extended, sequences: tuple[FaultSequence, ...]) -> Trial:
        trial = attempt(replace(self.job, sequences=sequences, kinds=()))
        row.runs += 1
        if trial.in_vain:
            _count(row, "change nothing")
            return trial
        row.futures.append(trial.future[:12])
        if trial.findings:
            names = " + ".join(dict.fromkeys(one.anomaly for one in trial.findings))
            row.finds.setdefault(names, []).append(", ".join(map(repr, faults_of(sequences))))
        elif trial.end != ENDED:
            _count(row, "never come to an end")
        return trial


def _count(row: Extended, why: str) -> None:
    row.left_out[why] = row.left_out.get(why, 0) + 1


def run(make: Callable[..., Scenario], profile: str, folder: Path = FOLDER, seconds: float = 1e9) -> None:
    """Run what is missing of a program at a profile, for about `seconds` of CPU; what other code ran is run again."""
    folder.mkdir(parents=True, exist_ok=True)
    path, end = file_of(folder, make, profile), time.process_time() + seconds
    before = {(row.number, row.round): row for row in read_done(path, code())}
    text = path.read_text("utf-8") if before else json.dumps({"code": code()}) + "\n"
    path.write_text(text[: text.rfind("\n") + 1], "utf-8")
    pairs = Pairs(Job(scenario=make(profile), find=parse_names(()), kinds=KINDS))
    base = attempt(pairs.job)
    pairs.job = replace(pairs.job, usual=base.usual)
    kept, first = pairs.ones(base)
    rows = (pairs.extend(n, one, r) for r in (0, 1) for n, one in enumerate(kept) if (n, r) not in before)
    with path.open("a", encoding="utf-8") as file:
        if (-1, 0) not in before:
            file.write(json.dumps(asdict(first)) + "\n")
        while time.process_time() < end and (row := next(rows, None)) is not None:
            file.write(json.dumps(asdict(row)) + "\n")
            file.flush()


def table(folder: Path = FOLDER) -> Iterator[str]:
    """Return the table of what was run, as Markdown, and what was found below it."""
    yield "| in small | profile | sets of 1 | extended | sets of 2 | absorbed | distinct futures | CPU | complete |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|---|"
    finds: dict[tuple[str, str, str], list[str]] = {}
    for profile in CURRENT:
        for make in IN_SMALL:
            rows = read_done(file_of(folder, make, profile))
            if not rows:
                continue
            name = make.__name__.removesuffix("_in_small").replace("_", " ")
            yield _line(name, profile, rows)
            for row in rows:
                for anomaly, sets in row.finds.items():
                    finds.setdefault((name, profile, anomaly), []).extend(sets)
    yield ""
    for (name, profile, anomaly), sets in finds.items():
        fewest = min(sets, key=lambda text: text.count("("))
        yield f"* {name}, {profile}: {anomaly}, {len(sets):,} sets, first `{fewest}`"


def _line(name: str, profile: str, rows: list[Extended]) -> str:
    first, more = rows[0], rows[1:]
    runs = [sum(row.runs for row in more if row.round == number) for number in (0, 1)]
    each = [sum(row.round == number for row in more) for number in (0, 1)]
    futures = {future: None for row in rows for future in row.futures}
    seconds = sum(row.seconds for row in rows)
    left = ", absorbed ones open" if each[0] == first.kept else f": {each[0]:,} of {first.kept:,} extended"
    complete = "all" if each[1] == first.kept else f"no{left}" if each[0] < first.kept else f"yes{left}"
    return (
        f"| {name} | {profile} | {first.runs:,} | {first.kept:,} | {runs[0]:,} | {runs[1]:,} | {len(futures):,} | "
        f"{seconds:,.0f} s | {complete} |"
    )


def write_table(folder: Path, page: Path) -> None:
    """Put the table into the page, between the two comments."""
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    total = ", ".join(f"{number:,} {why}" for why, number in sorted(left_out(folder).items()))
    lines = [*table(folder), "", f"Left out or not extended: {total}."]
    page.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")


def left_out(folder: Path = FOLDER) -> dict[str, int]:
    """Return how many sets were left out or changed nothing, by reason."""
    total: Counter[str] = Counter()
    for profile in CURRENT:
        for make in IN_SMALL:
            for row in read_done(file_of(folder, make, profile)):
                total.update(row.left_out)
    return dict(total)
