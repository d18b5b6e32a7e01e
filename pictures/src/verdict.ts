// What the checks say of the run that is shown; a finding takes the cursor of all pictures to the step that proves it.

import "./verdict.css";
import { type Markup, html, nothing } from "./lit";
import { JourneyPanel, type PanelValues, shows } from "./panel";
import type { Finding, Judgement, Report, Result } from "./types";

interface Values extends PanelValues {
	told: Partial<Report>;
}

const SIGN: Record<Judgement, string> = { ok: "✓", violated: "✕", unknown: "?", allowed: "–" };
const AT_ONCE = 3;

const fold = (count: number, words: string, inside: Markup | Markup[]) =>
	html`<details><summary><b>${words}</b> <small>${count}</small></summary>${inside}</details>`;

class Verdict extends JourneyPanel<Values> {
	readonly name = "verdict";
	readonly title = "Verdict";
	override readonly traits = ["told"] as const;
	override readonly keys = { n: "next", p: "previous" };
	private asked: number | undefined;

	// What the checks say of the run shown; undefined before the kernel has told it.
	get report(): Report | undefined {
		const told = this.get("told");
		return told?.place === this.journey.get("place") ? (told as Report) : undefined;
	}
	get findings(): Finding[] {
		return (this.report?.results ?? []).flatMap((result) => result.findings);
	}

	override change() {
		const { report } = this,
			place = this.journey.get("place");
		if (report) this.say(report.sentence, report.verdict === "violated" ? "crash" : "");
		else this.say("The checks are looking at this run …");
		if (!report && this.asked !== place) this.model.send({ kind: "check" });
		this.asked = report ? undefined : place;
	}
	override where() {
		return `run ${this.journey.get("place")} · step ${this.step}`;
	}

	inside() {
		const { report } = this;
		return html`<div class="verdicts" data-verdict=${report?.verdict ?? ""}>${report ? this.results(report) : ""}</div>`;
	}
	private results({ verdict, once, results }: Report) {
		return html`<p class="head ${verdict}"><b>${SIGN[verdict]} ${verdict}</b><span>exactly-once: ${once}</span></p>
			${results.filter((r) => r.findings.length).map((r) => this.anomaly(r, verdict === "violated"))}
			${this.quiet(results, "ok")}${this.quiet(results, "unknown")}`;
	}
	// A check with findings; folded beside a promise that is broken if it breaks none.
	private anomaly({ name, meaning, verdict, findings }: Result, broken: boolean) {
		const judged = verdict === "ok" ? "allowed" : verdict,
			items = findings.map((finding) => this.finding(finding)),
			more = items.splice(AT_ONCE),
			list = html`<ul>${items}${
				more.length ? html`<li>${fold(more.length, "more", html`<ul>${more}</ul>`)}</li>` : nothing
			}</ul>`;
		return html`<section class="anomaly ${judged}">
			<h4 role="none"><b>${SIGN[judged]} ${name}</b> <span>${judged}</span> ${meaning}</h4>${
				broken && judged === "allowed" ? fold(findings.length, "found", list) : list
			}</section>`;
	}
	private finding(finding: Finding) {
		const { step, afterwards, policy, text } = finding,
			where = `step ${step}${afterwards ? " and a reading after the end" : ""}`,
			label = html`<span class="step">${where}</span> <em class=${policy}>${policy}</em> ${text}`,
			target = this.findings.indexOf(finding),
			current = step === this.step;
		return html`<li>${this.tool("finding", label, { target, current, title: `Go to step ${step}` })}</li>`;
	}
	// The checks that have found nothing.
	private quiet(results: Result[], verdict: "ok" | "unknown") {
		const found = results.filter((r) => r.verdict === verdict && !r.findings.length),
			chips = found.map((r) => html`<span title="${r.meaning} Examined: ${r.examined}.">${r.name}</span>`);
		if (!found.length) return nothing;
		return html`<div class="quiet ${verdict}">${fold(found.length, `${SIGN[verdict]} ${verdict}`, chips)}</div>`;
	}

	override act(action: string, target: string) {
		if (action === "finding") this.go(this.findings[Number(target)]?.step ?? this.step);
		else if (action === "next" || action === "previous") this.goToFinding(action === "next");
		else return false;
		return true;
	}
	private goToFinding(onward: boolean) {
		const steps = this.findings.map((finding) => finding.step),
			to = onward
				? Math.min(...steps.filter((step) => step > this.step))
				: Math.max(...steps.filter((step) => step < this.step));
		if (Number.isFinite(to)) this.go(to);
		else this.say("No finding is proved in this direction.");
	}

	help() {
		return html`<p><small>n p</small>Next, previous finding</p>
			<p>Click a finding: all pictures of this journey go to the step that proves it.</p>
			<p>ok: examined, and nothing found. unknown: there was nothing to examine. An allowed anomaly is one that
			Kafka does not promise to prevent.</p>`;
	}
}

export default shows(Verdict);
