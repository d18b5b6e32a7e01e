"""The verdict on a run: exactly-once first, then every anomaly; a finding leads to the step that proves it."""

from __future__ import annotations

from typing import Any

import traitlets

from kafkalab.limits import quote, whole_number
from kafkalab.palette import DARK, DIM, GREEN, RED
from kafkalab.widgets.views.canvas import BOLD, Canvas, fit, standalone
from kafkalab.widgets.views.view import Source, View

SIGNS = {"ok": "✓", "violated": "✕", "unknown": "?", "allowed": "–"}
COLOURS = {"ok": GREEN, "violated": RED, "unknown": DIM, "allowed": DARK}


class Verdict(View):
    """The verdict of all checks on the run that is shown: `Verdict(lab03())`, `Verdict(journey)`.

    `report` is plain data; `press("finding", "0")` takes the cursor to the step that proves the first finding.
    """

    part = "verdict"

    told = traitlets.Dict().tag(sync=True)

    def __init__(self, run: Source, size: str = "laptop") -> None:
        """See `View`. The run is checked when the report is first read."""
        super().__init__(run, size, told={})
        self.hear({"check": lambda _: self.report})
        if self.payload.get("live"):
            self.journey.observe(lambda change: self.set_trait("told", change["new"]), "verdict")

    @property
    def report(self) -> dict[str, Any]:
        """The report of the run that is shown: see `report_of`."""
        self.told = self.journey.report()
        return dict(self.told)

    def findings(self) -> list[dict[str, Any]]:
        """Return all findings in the order of the list, with the name of their anomaly."""
        return [{"name": r["name"], **f} for r in self.report["results"] for f in r["findings"]]

    def press(self, action: str, target: str = "", **details: Any) -> None:
        """`press("finding", "0")` goes where that finding is proved; everything else as `Journey.press`.

        ValueError for a finding that is not there.
        """
        if action != "finding":
            return super().press(action, target, **details)
        found = self.findings()
        if not 0 <= whole_number(target) < len(found):
            there = f"there are 0 to {len(found) - 1}" if found else "nothing was found in this run"
            raise ValueError(f"no finding {quote(target)}; {there}")
        self.step = found[int(target)]["step"]

    def text(self) -> str:
        """Return the verdict, then each anomaly that was found with its findings, then the names of the others."""
        report, number = self.report, 0
        head = f"Verdict on run {self.journey.place}: {report['verdict']}; exactly-once: {report['once']}"
        lines = [head, report["sentence"]]
        for result in report["results"]:
            if not result["findings"]:
                continue
            judged = "allowed" if result["verdict"] == "ok" else result["verdict"]
            lines.append(f"{SIGNS[judged]} {result['name']} ({judged}): {result['meaning']}")
            for finding in result["findings"]:
                lines.append(f"  [{number}] {finding_text(finding)}")
                number += 1
        for verdict in ("ok", "unknown"):
            names = [r["name"] for r in report["results"] if r["verdict"] == verdict and not r["findings"]]
            lines += [f"{SIGNS[verdict]} {verdict}: {', '.join(names)}"] if names else []
        return "\n".join(lines)

    def svg(self) -> str:
        """Return the text twin as an SVG, with a sign and a colour for each verdict."""
        report, canvas = self.report, Canvas(y=32)
        colour = COLOURS[report["verdict"]]
        head = f"{SIGNS[report['verdict']]} {report['verdict']}"
        canvas.text(18, canvas.y, head, colour, more=BOLD + ' font-size="17"')
        canvas.text(140, canvas.y, fit(report["sentence"], 800))
        for line in self.text().splitlines()[2:]:
            canvas.y += 22
            sign = next((v for v, s in SIGNS.items() if line.startswith(s)), "")
            colour = COLOURS.get(sign, DARK if "forbidden" in line else DIM)
            canvas.text(18 if sign else 36, canvas.y, fit(line.strip(), 900), colour)
        return standalone(canvas, f"Verdict: {report['verdict']}")


def finding_text(finding: dict[str, Any]) -> str:
    """ "step 120, forbidden: …"; what only a reading after the end shows says so."""
    where = f"step {finding['step']}" + (" and a reading after the end" if finding["afterwards"] else "")
    return f"{where}, {finding['policy']}: {finding['text']}"
