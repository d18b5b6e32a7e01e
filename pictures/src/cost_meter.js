// What the run has cost up to the step that is shown: the rows of kafkalab/history/costs.py, cut at that step.

import "./cost_meter.css";
import { openPanel, tool } from "./panel";
import { esc } from "./run";

const COLUMNS = ["frames", "bytes", "entries", "round_trips", "ms"];
const HEADS = ["frames", "bytes", "log entries", "round trips", "ms"];
const shownNumber = (value, whole = true) =>
	value === null
		? "–"
		: value.toLocaleString("en-US", whole ? {} : { minimumFractionDigits: 1, maximumFractionDigits: 1 });

// One row of these trips and entries, as `_row` in costs.py counts them.
function costRow(name, trips, entries, last, nowMs) {
	const sizes = trips.map((t) => t[3]).concat(trips.filter((t) => t[4] >= 0 && t[4] <= last).map((t) => t[6]));
	const spans = trips.map((t) => {
		const whole = t[7] >= 0 && t[7] <= last;
		return { begin: t[2], end: whole ? t[8] : nowMs, whole };
	});
	spans.sort((a, b) => a.end - b.end || a.begin - b.begin || a.whole - b.whole);
	let free = -1,
		rounds = 0,
		spent = 0,
		until = -1;
	for (const { begin, end, whole } of spans) if (whole && begin >= free) (free = end), rounds++;
	for (const { begin, end } of [...spans].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
		spent += Math.max(0, end - Math.max(begin, until));
		until = Math.max(until, end);
	}
	const bytes = sizes.includes(-1) ? null : sizes.reduce((a, b) => a + b, 0);
	const count = entries.reduce((a, e) => a + e[2], 0);
	return { name, frames: sizes.length, bytes, entries: count, round_trips: rounds, ms: spent };
}

// The rows at a step, by API or by phase, with "all" and, once a transaction was decided, "per transaction".
function costRows(costs, by, last) {
	const trips = costs.trips.filter((t) => t[1] <= last),
		entries = costs.entries.filter((e) => e[1] <= last),
		decided = costs.decided.filter((at) => at <= last).length;
	const moments = trips.flatMap((t) => [t.slice(1, 3), t.slice(4, 6), t.slice(7, 9)]),
		nowMs = Math.max(0, ...moments.filter(([at]) => at <= last).map(([, ms]) => ms));
	const nameOf = (api) => (by === "api" ? api : (costs.phases[api] ?? "other")),
		counted = [...trips, ...entries].sort((a, b) => a[1] - b[1]);
	const names = [...new Set(counted.map((one) => nameOf(one[0])))];
	if (by === "phase") names.sort((a, b) => costs.order.indexOf(a) - costs.order.indexOf(b));
	const of = (list, name) => list.filter((one) => nameOf(one[0]) === name);
	const rows = names.map((name) => costRow(name, of(trips, name), of(entries, name), last, nowMs));
	rows.push(costRow("all", trips, entries, last, nowMs));
	if (decided) {
		const later = trips.filter((t) => costs.phases[t[0]] !== costs.start),
			all = costRow("", later, entries, last, nowMs);
		const one = { name: "per transaction" };
		for (const key of COLUMNS) one[key] = all[key] === null ? null : all[key] / decided;
		rows.push(one);
	}
	return [rows, decided];
}

function drawCosts(p) {
	const costs = p.model.get("costs") ?? {},
		by = p.model.get("by");
	if (!costs.trips) return;
	const [rows, decided] = costRows(costs, by, p.step),
		whole = rows.find((row) => row.name === "all");
	p.$(".where").textContent = `run ${p.journey.get("place")} · step ${p.step}`;
	p.say(`${decided || "No"} transaction${decided === 1 ? "" : "s"} decided by step ${p.step}.`);
	for (const button of p.all('[data-action="by"]'))
		button.setAttribute("aria-pressed", String(button.dataset.target === by));
	const titles = [by === "api" ? "API" : "phase", ...HEADS],
		head = `<tr>${titles.map((name) => `<th scope="col">${name}</th>`).join("")}</tr>`;
	const lines = rows.map((row) => {
		const sum = row.name === "all" || row.name === "per transaction";
		const cells = COLUMNS.map((key) => {
			const part = sum || !whole[key] || !row[key] ? 0 : Math.round((100 * row[key]) / whole[key]);
			return `<td style="--part:${part}%">${shownNumber(row[key], row.name !== "per transaction")}</td>`;
		});
		return `<tr class="${sum ? "sum" : ""}"><th scope="row">${esc(row.name)}</th>${cells.join("")}</tr>`;
	});
	p.$(".costs").innerHTML = `<table><thead>${head}</thead><tbody>${lines.join("")}</tbody></table>`;
}

function actCosts(p, action, target) {
	if (action !== "by") return false;
	p.model.set("by", target || (p.model.get("by") === "api" ? "phase" : "api"));
	p.model.save_changes();
	p.draw();
	return true;
}

export default {
	render: ({ model, el }) =>
		openPanel(model, el, {
			name: "cost",
			title: "Cost meter",
			body: `<p class="by">${tool("by", "by API", "api")} ${tool("by", "by phase", "phase")}</p><div class="costs"></div>`,
			traits: ["costs", "by"],
			keys: { b: "by" },
			draw: drawCosts,
			act: actCosts,
			help:
				"<p><small>b</small>By API, by phase</p>" +
				"<p>What was spent up to the step shown. Round trips: those that could only come one after another. " +
				"ms: how long at least one of them was under way. Per transaction: without the phase start.</p>",
		}),
};
