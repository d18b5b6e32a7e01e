// What if it broke here? A strip for each mishap over the slider: what becomes of the run if it happens at a stop.
// The kernel has run every one of these futures; model/what_if_strips.py says how, and has at_stops in Python.

import "./what_if.css";
import { asSentence, esc, rounded, svg, sync } from "./run";

export const WONDERS = ["what_if", "strips"];
const FATES = { torn: "✕", broken: "✕", none: "" },
	STRIPS = `<div class="whatif" role="group" aria-label="What if it broke right after this step?" hidden></div>`;

// The entry to show at each stop: the latest that strikes anything after the stop before, or the first of these in
// which a promise breaks.
function atStops({ runs }, stops) {
	let before = -1;
	return stops.map((stop) => {
		const near = runs.filter(([first], i) => first <= stop && (runs[i + 1]?.[0] ?? Infinity) > before + 1),
			struck = near.filter(([, fate]) => fate !== "none");
		before = stop;
		return struck.find(([, fate]) => fate === "broken") ?? struck.at(-1) ?? [stop, "none", "", ""];
	});
}

function fateWords([, fate, target, anomalies]) {
	const allowed = anomalies && `: ${anomalies}, allowed`,
		words = fate === "broken" ? `✕ ${anomalies}` : fate === "none" ? "nothing to strike" : fate + allowed;
	return target.includes("#") ? `${words} (${target})` : words;
}

// What the kernel has told of the run shown; asks for it, once a run.
function stripsOf(v) {
	const { model, journey } = v,
		place = journey.get("place"),
		told = model.get("strips") ?? {};
	if (!told.rows || told.place !== place) {
		if (v.wondered !== place) model.send({ kind: "what_if" });
		v.wondered = place;
	}
	return told.place === place ? told : {};
}

// The rows for these stops, and where the fate of a crash turns. Computed again for another run or walk.
function layStrips(v) {
	const open = !!v.model.get("what_if"),
		told = open ? stripsOf(v) : {};
	if (!open) v.wondered = undefined;
	if (v.strips?.told === told.rows && v.strips?.stops === v.stops) return;
	const rows = (told.rows ?? []).map((row) => ({ ...row, cells: atStops(row, v.stops) }));
	v.strips = { told: told.rows, stops: v.stops, rows };
	v.targets.turn = v.stops.filter((_, i) => i && rows.slice(0, 3).some(({ cells }) => cells[i][1] !== cells[i - 1][1]));
}

// A row as bars, one for neighbours of one fate.
function stripMarkup({ name, cells }) {
	const part = 100 / cells.length,
		bars = [];
	let from = 0;
	cells.forEach(([, fate], i) => {
		if (cells[i + 1]?.[1] === fate) return;
		const wide = (i + 1 - from) * part,
			title = `${name} at stop${from === i ? "" : "s"} ${from + 1}${from === i ? "" : `–${i + 1}`}: `;
		const look = svg`style="left:${from * part}%;width:${wide}%"`,
			words = `${title}${fate === "none" ? "nothing to strike" : fateWords([0, fate, "", cells[i][3]])}`;
		bars.push(`<i class="fate ${fate}" ${look} title="${esc(words)}"><span>${FATES[fate] ?? fate}</span></i>`);
		from = i + 1;
	});
	const told = bars.map((bar) => /title="([^"]*)"/.exec(bar)[1].replace(`${name} at `, "")).join("; ");
	return `<div class="bars" role="img" aria-label="${esc(name)}: ${told}">${bars.join("")}</div>`;
}

function emphasis(cell) {
	const words = esc(fateWords(cell));
	return `<em class="${cell[1]}" title="${words}">${words}</em>`;
}

export function drawStrips(v, index) {
	const box = v.$("whatif"),
		open = !!v.model.get("what_if");
	if (box.hidden && !open) return;
	layStrips(v);
	const { rows } = v.strips,
		told = open ? stripsOf(v) : {};
	box.hidden = !open;
	v.root.classList.toggle("wondering", open);
	const quiet = told.why
		? asSentence(told.why)
		: `What if it broke here? Trying every step${told.tried ? `: ${told.tried} futures` : ""} …`;
	const items = rows.flatMap((row, i) => [
		[`n${i}`, `<b>${esc(row.name)}</b>`],
		[`r${i}`, stripMarkup(row)],
		[`w${i}`, emphasis(row.cells[index - 1])],
	]);
	sync(box, rows.length ? items : [["", `<p role="status">${quiet}</p>`]]);
	if (!rows.length) return;
	box.style.setProperty("--at", rounded((100 * (index - 1)) / v.stops.length));
	box.style.setProperty("--stop", rounded(100 / v.stops.length));
}

// A click on a row goes to the stop below it.
export function hearStrips(v, go) {
	v.$("whatif").addEventListener("click", (event) => {
		const bars = event.target.closest(".bars");
		if (!bars) return;
		const { left, width } = bars.getBoundingClientRect();
		go(
			v.stops[Math.max(0, Math.min(v.stops.length - 1, Math.floor((v.stops.length * (event.clientX - left)) / width)))],
		);
		v.root.focus({ preventScroll: true });
	});
}

export { STRIPS };
