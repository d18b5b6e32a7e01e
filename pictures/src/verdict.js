// What the checks say of the run that is shown; a finding takes the cursor of all pictures to the step that proves it.

import "./verdict.css";
import { openPanel, tool } from "./panel";
import { esc, sync } from "./run";

const SIGN = { ok: "✓", violated: "✕", unknown: "?", allowed: "–" };
const AT_ONCE = 3;
const folded = (count, words, inside) =>
	`<details><summary><b>${words}</b> <small>${count}</small></summary>${inside}</details>`;
const whereFound = (f) => `step ${f.step}${f.afterwards ? " and a reading after the end" : ""}`;

function drawVerdict(p) {
	const told = p.model.get("told") ?? {},
		place = p.journey.get("place");
	p.$(".where").textContent = `run ${place} · step ${p.step}`;
	if (told.place !== place) {
		if (p.asked !== place) p.model.send({ kind: "check" });
		p.asked = place;
		p.$(".verdicts").dataset.verdict = "";
		return p.say("The checks are looking at this run …");
	}
	p.asked = undefined;
	p.$(".verdicts").dataset.verdict = told.verdict;
	p.say(told.sentence, told.verdict === "violated" ? "crash" : "");
	let number = 0;
	const found = told.results.filter((r) => r.findings.length),
		rest = told.results.filter((r) => !r.findings.length);
	p.findings = found.flatMap((r) => r.findings);
	const items = [
		[
			"head",
			`<p class="head ${told.verdict}"><b>${SIGN[told.verdict]} ${told.verdict}` +
				`</b><span>exactly-once: ${told.once}</span></p>`,
		],
	];
	for (const r of found) {
		const list = r.findings.map((f) => {
			const here = f.step === p.step;
			return (
				`<li>` +
				tool(
					"finding",
					`<span class="step">` +
						`${whereFound(f)}</span> ` +
						`<em class="${f.policy}">${f.policy}` +
						`</em> ${esc(f.text)}`,
					number++,
					` aria-current="${here}"` + ` data-title="Go to step ${f.step}"`,
				) +
				`</li>`
			);
		});
		const more = list.splice(AT_ONCE);
		if (more.length) list.push(`<li>${folded(more.length, "more", `<ul>${more.join("")}</ul>`)}</li>`);
		const all = `<ul>${list.join("")}</ul>`,
			judged = r.verdict === "ok" ? "allowed" : r.verdict;
		items.push([
			r.name,
			`<section class="anomaly ${judged}"><h4><b>${SIGN[judged]} ${esc(r.name)}</b> ` +
				`<span>${judged}</span> ${esc(r.meaning)}</h4>` +
				(told.verdict === "violated" && judged === "allowed" ? folded(r.findings.length, "found", all) : all) +
				"</section>",
		]);
	}
	for (const verdict of ["ok", "unknown"]) {
		const names = rest.filter((r) => r.verdict === verdict);
		if (names.length)
			items.push([
				verdict,
				`<div class="quiet ${verdict}">` +
					folded(
						names.length,
						`${SIGN[verdict]} ${verdict}`,
						names.map((r) => `<span title="${esc(r.meaning)} Examined: ${r.examined}.">${esc(r.name)}</span>`).join(""),
					) +
					`</div>`,
			]);
	}
	sync(p.$(".verdicts"), items);
}

function actVerdict(p, action, target) {
	if (action === "next" || action === "previous") {
		const steps = [...new Set((p.findings ?? []).map((f) => f.step))].sort((a, b) => a - b);
		const to = action === "next" ? steps.find((s) => s > p.step) : steps.findLast((s) => s < p.step);
		to === undefined ? p.say("No finding is proved in this direction.") : p.go(to);
		return true;
	}
	if (action !== "finding") return false;
	p.go(p.findings[target].step);
	return true;
}

export default {
	render: ({ model, el }) =>
		openPanel(model, el, {
			name: "verdict",
			title: "Verdict",
			body: '<div class="verdicts"></div>',
			traits: ["told"],
			keys: { n: "next", p: "previous" },
			draw: drawVerdict,
			act: actVerdict,
			help:
				"<p><small>n p</small>Next, previous finding</p>" +
				"<p>Click a finding: all pictures of this journey go to the step that proves it.</p>" +
				"<p>ok: examined, and nothing found. " +
				"unknown: there was nothing to examine. " +
				"An allowed anomaly is one that Kafka does not promise to prevent.</p>",
		}),
};
