// What if it broke here? A strip for each fault over the slider: what becomes of the run if it happens at a stop.
// The kernel has run every one of these futures; model/what_if_strips.py says how, and has at_stops in Python.

import "./what_if.css";
import { html, render } from "./lit";
import { asSentence, rounded } from "./run";
import type { Entry, Row, StripsTold, View } from "./sequence_view";
import type { Run } from "./types";

export const WONDERS = ["what_if", "strips"];
export const STRIPS = html`<div class="whatif" role="group" hidden
	aria-label="What if it broke right after this step?"></div>`;
const MOST = 1000; // that of what_if_strips.py
const SIGNS: Record<string, string> = { torn: "✕", broken: "✕", none: "" };

// The entry to show at each stop: the latest that strikes anything after the stop before, or the first of these in
// which a promise breaks.
export function atStops({ runs }: Pick<Row, "runs">, stops: number[]): Entry[] {
	let before = -1;
	return stops.map((stop) => {
		const near = runs.filter(([first], i) => first <= stop && (runs[i + 1]?.[0] ?? Infinity) > before + 1),
			struck = near.filter(([, fate]) => fate !== "none");
		before = stop;
		return struck.find(([, fate]) => fate === "broken") ?? struck.at(-1) ?? [stop, "none", "", ""];
	});
}

export function fateWords([, fate, target, anomalies]: Entry): string {
	const allowed = anomalies && `: ${anomalies}, allowed`,
		words = fate === "broken" ? `✕ ${anomalies}` : fate === "none" ? "nothing to strike" : fate + allowed;
	return target.includes("#") ? `${words} (${target})` : words;
}

// Why the futures of a run cannot be tried; "" if they can.
export function whyNoStrips({ actions, events }: Pick<Run, "actions" | "events">): string {
	const many = `this run has ${events.length} events; up to ${MOST} can be tried`;
	return actions?.fixed || (events.length > MOST ? many : "");
}

// What the kernel has told of the run shown; asks for it, once a run.
function stripsOf(v: View): StripsTold {
	const place = v.journey.get("place"),
		told = v.model.get("strips") ?? {};
	if (!told.rows || told.place !== place) {
		if (v.wondered !== place) v.model.send({ kind: "what_if" });
		v.wondered = place;
	}
	return told.place === place ? told : {};
}

// The rows for these stops, and where the fate of a crash turns. Computed again for another run or walk.
function layStrips(v: View, told: StripsTold) {
	if (v.strips?.told === told.rows && v.strips?.stops === v.stops) return v.strips.rows;
	const rows = (told.rows ?? []).map((row) => ({ ...row, cells: atStops(row, v.stops) }));
	v.strips = { told: told.rows, stops: v.stops, rows };
	v.targets.turn = v.stops.filter((_, i) => i && rows.slice(0, 3).some(({ cells }) => cells[i][1] !== cells[i - 1][1]));
	return rows;
}

// A row as bars, one for neighbours of one fate.
function barsOf({ name, cells }: { name: string; cells: Entry[] }) {
	const part = 100 / cells.length,
		last = cells.flatMap(([, fate], i) => (cells[i + 1]?.[1] === fate ? [] : [i])),
		bars = last.map((to, k) => {
			const from = (last[k - 1] ?? -1) + 1,
				[, fate, , anomalies] = cells[to],
				where = from === to ? `stop ${from + 1}` : `stops ${from + 1}–${to + 1}`;
			return { from, to, fate, told: `${where}: ${fateWords([0, fate, "", anomalies])}` };
		});
	return html`<div class="bars" role="img" aria-label="${name}: ${bars.map(({ told }) => told).join("; ")}">${bars.map(
		({ from, to, fate, told }) =>
			html`<i class="fate ${fate}" style="left:${rounded(from * part)}%;width:${rounded((to + 1 - from) * part)}%"
				title="${name} at ${told}"><span>${SIGNS[fate] ?? fate}</span></i>`,
	)}</div>`;
}

function rowOf(row: { name: string; cells: Entry[] }, index: number) {
	const cell = row.cells[index - 1],
		words = fateWords(cell);
	return html`<b>${row.name}</b>${barsOf(row)}<em class=${cell[1]} title=${words}>${words}</em>`;
}

export function drawStrips(v: View, index: number) {
	const box = v.$("whatif"),
		open = !!v.model.get("what_if");
	if (!open) v.wondered = undefined;
	if (box.hidden && !open) return;
	const told = open ? stripsOf(v) : {},
		rows = layStrips(v, told);
	box.hidden = !open;
	v.root.classList.toggle("wondering", open);
	const quiet = told.why
		? asSentence(told.why)
		: `What if it broke here? Trying every step${told.tried ? `: ${told.tried} futures` : ""} …`;
	render(rows.length ? rows.map((row) => rowOf(row, index)) : html`<p role="status">${quiet}</p>`, box);
	box.style.setProperty("--at", String(rounded((100 * (index - 1)) / v.stops.length)));
	box.style.setProperty("--stop", String(rounded(100 / v.stops.length)));
}

// A click on a row goes to the stop below it.
export function hearStrips(v: View) {
	const hear = (event: MouseEvent) => {
		const bars = (event.target as Element).closest(".bars"),
			count = v.stops.length;
		if (!bars) return;
		const { left, width } = bars.getBoundingClientRect(),
			at = Math.floor((count * (event.clientX - left)) / width);
		v.go(v.stops[Math.max(0, Math.min(count - 1, at))]);
		v.root.focus({ preventScroll: true });
	};
	v.$("whatif").addEventListener("click", hear, { signal: v.closed });
}
