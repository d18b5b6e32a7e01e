// What the checks say of the run up to the step shown, in the picture. The kernel has checked; nothing is checked here.

import { esc, sync } from "./run";

// The findings of the run shown, or null before the kernel has told them.
function findingsOf({ journey }) {
	const told = journey.get("verdict") ?? {};
	if (told.place !== journey.get("place")) return null;
	return told.results.flatMap((r) => r.findings.map((f) => ({ ...f, name: r.name, meaning: r.meaning })));
}

// Asks the kernel, once a run, when the run has been painted.
export function askVerdict(v) {
	const place = v.journey.get("place"),
		{ klab } = v.journey;
	if (v.found || klab.checking === place) return;
	klab.checking = place;
	requestAnimationFrame(() => setTimeout(() => v.journey.send({ kind: "check" })));
}

// By partition: what is found at each offset, first what breaks a promise; and the values that should be there.
export function takeFindings(v) {
	v.found = findingsOf(v);
	placeFindings(v);
}

// Of `v.found`: what is shown at the step, the first finding first, and where it lies. Findings of another name than
// the first are often its consequences, and stand back.
export function placeFindings(v) {
	v.shown = (v.found ?? []).filter((f) => f.since <= v.step && (f.policy === "forbidden" || f.places.length));
	v.wrong = new Map();
	v.missing = {};
	v.shown.sort((a, b) => (a.policy !== "forbidden") - (b.policy !== "forbidden") || a.since - b.since);
	v.first = v.shown[0]?.name;
	for (const f of v.shown) {
		for (const [partition, offset] of f.places) {
			if (f.name === "lost-write") (v.missing[partition] ??= []).push({ ...f, offset });
			else if (!v.wrong.has(`${partition}@${offset}`)) v.wrong.set(`${partition}@${offset}`, f);
		}
	}
}

// The finding about a record of this batch, if there is one.
export function wrongIn({ wrong }, partition, { base, last }) {
	if (wrong.size)
		for (let o = base; o <= last; o++) if (wrong.has(`${partition}@${o}`)) return wrong.get(`${partition}@${o}`);
}

export const ghostMarkup = (f) =>
	`<div class="cell ghost" title="${esc(f.text)}"><span class="line"><span class="off">${f.offset}</span> ` +
	`<span class="text">${esc(f.value)}</span></span>` +
	`<span class="line"><b class="sign">✕ lost</b></span></div>`;

export function drawVerdict(v) {
	const { shown, found } = v,
		names = [...new Set(shown.map((f) => f.name))],
		broken = shown.some((f) => f.policy === "forbidden");
	const quiet = !found
		? "the checks are looking …"
		: broken
			? ""
			: `✓<span class="long"> no promise is broken so far</span>`;
	const chips = names.map((name) => {
		const all = shown.filter((f) => f.name === name),
			forbidden = all.some((f) => f.policy === "forbidden");
		const count = all.length > 1 ? ` ×${all.length}` : "",
			words = forbidden ? `✕ ${name}${count}` : `${name}${count}, ${all[0].policy}`;
		return [
			name,
			`<button type="button" class="${forbidden ? "forbidden" : "allowed"}${name === v.first ? "" : " later"}" data-action="finding"` +
				` data-target="${esc(name)}" aria-expanded="${v.opened === name}">${esc(words)}</button>`,
		];
	});
	sync(v.$("found"), [["", `<span class="quiet">${quiet}</span>`], ...chips]);
	const open = shown.filter((f) => f.name === v.opened);
	v.$("findings").hidden = !open.length;
	sync(
		v.$("findings"),
		open.map((f, i) => [i, findingMarkup(v, f)]),
	);
}

function findingMarkup(v, f) {
	const links = f.steps.map(
		(step) => `<li><button type="button" data-go="${step}">step ${step}: ${esc(v.run.events[step].text)}</button></li>`,
	);
	const later = f.afterwards ? "<p><small>Only what is read after the end of the run shows it.</small></p>" : "";
	return (
		`<section><h4><b>${esc(f.name)}</b> ${f.policy}: ${esc(f.meaning)}</h4><p>${esc(f.text)}</p>` +
		`${later}<ul>${links.join("")}</ul></section>`
	);
}
