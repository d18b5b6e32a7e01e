// What the checks say of the run up to the step shown, in the picture. The kernel has checked; nothing is checked here.

import { html, nothing, render, repeat } from "./lit";
import type { Batch } from "./payload";
import type { Found, LogsShown, Placed, View } from "./sequence_view";
import type { Journey, Report } from "./types";

const isForbidden = ({ policy }: { policy: string }) => policy === "forbidden";

export const foundIn = ({ results = [] }: Partial<Report>): Found[] =>
	results.flatMap(({ name, meaning, findings }) => findings.map((f) => ({ ...f, name, meaning })));

// The findings of the run shown, or null before the kernel has told them.
function findingsOf(journey: Journey): Found[] | null {
	const told = journey.get("verdict") ?? {};
	return told.place === journey.get("place") ? foundIn(told) : null;
}

// Asks the kernel, once a run, when the run has been painted.
export function askVerdict({ journey, found }: View) {
	const place = journey.get("place"),
		{ klab } = journey;
	if (found || klab.checking === place) return;
	klab.checking = place;
	requestAnimationFrame(() => setTimeout(() => journey.send({ kind: "check" })));
}

export function takeFindings(v: View) {
	v.found = findingsOf(v.journey);
	Object.assign(v, placedFindings(v.found, v.step));
}

// Of what is found: what is shown at a step, the first finding first, and by partition what is wrong at each offset and
// which values should be there. Findings of another name than the first are often its consequences, and stand back.
export function placedFindings(found: Found[] | null, step: number): Placed {
	const shown = (found ?? [])
			.filter((f) => f.since <= step && (isForbidden(f) || f.places.length))
			.sort((a, b) => Number(isForbidden(b)) - Number(isForbidden(a)) || a.since - b.since),
		wrong: Placed["wrong"] = new Map(),
		missing: Placed["missing"] = {};
	for (const f of shown) {
		for (const [partition, offset] of f.places) {
			if (f.name === "lost-write") (missing[partition] ??= []).push({ ...f, offset });
			else if (!wrong.has(`${partition}@${offset}`)) wrong.set(`${partition}@${offset}`, f);
		}
	}
	return { shown, first: shown[0]?.name, wrong, missing };
}

// The finding about a record of this batch, if there is one.
export function wrongIn({ wrong }: LogsShown, partition: string, { base, last }: Batch): Found | undefined {
	if (wrong.size)
		for (let o = base; o <= last; o++) if (wrong.has(`${partition}@${o}`)) return wrong.get(`${partition}@${o}`);
}

export function drawVerdict(v: View) {
	const { shown, found } = v,
		names = [...new Set(shown.map((f) => f.name))],
		quiet = shown.some(isForbidden) ? "" : html`✓<span class="long"> no promise is broken so far</span>`;
	render(
		html`<span class="quiet">${found ? quiet : "the checks are looking …"}</span>${repeat(
			names,
			(name) => name,
			(name) => chipOf(v, name),
		)}`,
		v.$("found"),
	);
	const open = shown.filter((f) => f.name === v.opened);
	v.$("findings").hidden = !open.length;
	render(
		open.map((f) => findingOf(v, f)),
		v.$("findings"),
	);
}

function chipOf({ shown, first, opened }: View, name: string) {
	const all = shown.filter((f) => f.name === name),
		forbidden = all.some(isForbidden),
		count = all.length > 1 ? ` ×${all.length}` : "",
		words = forbidden ? `✕ ${name}${count}` : `${name}${count}, ${all[0].policy}`;
	return html`<button type="button" class="${forbidden ? "forbidden" : "allowed"}${name === first ? "" : " later"}"
		data-action="finding" data-target=${name} aria-expanded=${opened === name}>${words}</button>`;
}

function findingOf(v: View, f: Found) {
	const links = f.steps.map(
			(step) => html`<li><button type="button" data-go=${step}>step ${step}: ${v.run.events[step].text}</button></li>`,
		),
		later = html`<p><small>Only what is read after the end of the run shows it.</small></p>`;
	return html`<section><h4 role="none"><b>${f.name}</b> ${f.policy}: ${f.meaning}</h4><p>${f.text}</p>
		${f.afterwards ? later : nothing}<ul>${links}</ul></section>`;
}
