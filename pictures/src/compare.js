// Two runs from where they part, with one cursor: what is the same is drawn once, what differs side by side.

import "./compare.css";
import { openPanel, tool } from "./old_panel";
import { SAVE_MS, esc, logOf, openRun, sync, time } from "./run";
import { isInternal, isTable, keyedOf, rowFate, stripItems } from "./sequence_logs";
import { placeFindings } from "./sequence_verdict";
import { eventSign } from "./signs";

const ROWS_SHOWN = 40,
	BATCHES = 16;

function steps(p) {
	const rows = p.model.get("rows").slice(0, p.row + 1);
	return [0, 1].map((side) => rows.findLast((r) => r[side] >= 0)?.[side] ?? 0);
}

// A log in a line, as the text twin has it: its last batches.
function stripLine(state, partition) {
	const node = state.leader[partition] ?? "",
		log = logOf(state, node, partition),
		batches = log.last(BATCHES),
		ended = {},
		cells = [];
	for (const b of [...batches].reverse()) {
		const span = b.last > b.base ? `${b.base}-${b.last}` : `${b.base}`;
		if (b.kind !== "data") {
			ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
			cells.unshift([b.kind === "COMMIT" ? "commit" : "abort", `${span} ${b.kind} e${b.epoch}`]);
			continue;
		}
		const fate = isTable(partition) ? rowFate(log, b) : b.txn ? (ended[b.pid] ?? "open") : "",
			who = b.pid >= 0 ? ` p${b.pid} e${b.epoch} s${b.seq}` : "";
		cells.unshift([
			fate || "plain",
			`${span} ${b.decoded || b.records.map(([, value]) => value).join(" ")}${who}${fate && ` ${fate}`}`,
		]);
	}
	if (log.count > batches.length) cells.unshift(["more", `${log.count - batches.length} earlier …`]);
	if (isTable(partition)) return [`${partition}${node ? ` in ${node}` : ""}, committed ${log.hw}:`, cells];
	const where = node ? `${partition} on ${node}` : `${partition} without a leader`;
	return [`${where}, HW ${log.hw}, LSO ${log.lso}:`, cells];
}

function txnLine(id, t) {
	return (
		`${id}: ${t.state}${t.pending ? ` -> ${t.pending}` : ""}, producer ${t.producer_id}` +
		` epoch ${t.epoch}${t.partitions.length ? ` {${t.partitions.join(", ")}}` : ""}`
	);
}

function stateOf(run, step) {
	const state = run.at(step),
		lines = {};
	for (const [id, t] of Object.entries(state.txns)) lines[id] = [txnLine(id, t), []];
	for (const partition of run.partitions) lines[partition] = stripLine(state, partition);
	return lines;
}

const inWords = ([head, cells]) =>
	[
		head,
		cells.length || !/:$/.test(head)
			? cells.map(([kind, text]) => (kind === "more" ? text : `[${text}]`)).join(" ")
			: "empty",
	]
		.join(" ")
		.trim();

function loadCompare(p) {
	const names = ["left", "right"];
	for (const name of names) {
		const payload = p.model.get(name);
		if (p[`${name}Payload`] !== payload) [p[name], p[`${name}Payload`]] = [openRun(payload), payload];
	}
	if (p.rows !== p.model.get("rows")) [p.rows, p.row] = [p.model.get("rows"), p.model.get("row")];
	if (p.told !== p.model.get("row")) p.row = p.told = p.model.get("row");
}

// What the parts of a sequence need to draw one side at its step.
function sideOf(p, side, step) {
	const run = [p.left, p.right][side],
		report = p.model.get("verdicts")[side],
		v = { run, step, state: run.at(step), fresh: new Set(), keyed: (run.keyed ??= keyedOf(run)), report };
	v.levels = Object.fromEntries(run.partitions.map((partition) => [partition, []]));
	v.found = report?.results.flatMap((r) => r.findings.map((f) => ({ ...f, name: r.name })));
	placeFindings(v);
	for (const [op, a, b, c] of run.events[step]?.patch ?? []) v.fresh.add(`${a} ${b} ${op === "batch" ? c.base : op}`);
	return v;
}

// What the checks say of the whole run: ["✕ lost-write ×2", whether anything forbidden was found].
function verdictOf({ report }) {
	if (!report) return ["the checks are looking …", false];
	const counts = {};
	for (const { name, findings } of report.results)
		for (const { policy } of findings) if (policy === "forbidden") counts[name] = (counts[name] ?? 0) + 1;
	const broken = Object.entries(counts).map(([name, n]) => `✕ ${name}${n > 1 ? ` ×${n}` : ""}`);
	return [broken.join(", ") || "✓ no promise is broken", broken.length > 0];
}

function headMarkup(p, v, side) {
	const [words, broken] = verdictOf(v),
		name = esc(p.model.get("names")[side]),
		step = p.rows[p.row][side],
		here = step < 0 ? "" : `<small>${step}</small> ${esc(v.run.events[step].text)}`;
	return (
		`<div class="side"><p><b class="run" title="${name}">${name}</b></p><p>` +
		`<span class="verdict${broken ? " forbidden" : ""}" title="${esc(v.report?.sentence ?? "")}">${esc(words)}</span>` +
		`</p><p class="here">${here}</p></div>`
	);
}

const wordsIn = (run, step, data) => (step < 0 ? "" : `${step} ${run.events[step].text}${data ? ` (${data})` : ""}`);

function rowMarkup(p, i) {
	const runs = [p.left, p.right],
		[left, right, same, ...data] = p.rows[i],
		apart = p.model.get("apart"),
		once = same && left === right && (apart < 0 || left < apart);
	const cell = (step, run, words = "") =>
		step < 0
			? '<span class="gap"></span>'
			: `<span class="cell-of">${eventSign(run, run.events[step], once ? step : Infinity)}` +
				`${words && `<b class="data">${esc(words)}</b>`}<small class="at">${time(run.events[step].at)}</small></span>`;
	const [one, other] = [wordsIn(runs[0], left, data[0]), wordsIn(runs[1], right, data[1])];
	return (
		`<div class="pair${same ? "" : " differs"}${once ? " once" : ""}" data-row="${i}" aria-current="${i === p.row}"` +
		` role="listitem" data-action="goto" data-target="${i}" data-left="${esc(one)}" data-right="${esc(other)}"` +
		` aria-label="${esc(same ? `the same: ${one}` : `${one || "nothing"} | ${other || "nothing"}`)}"` +
		` title="${esc(once ? one : `${one}\n${other}`)}"><i>${same ? "=" : "≠"}</i>${cell(left, runs[0], data[0])}` +
		`${once ? "" : cell(right, runs[1], data[1])}</div>`
	);
}

// A transaction or a log of one side.
function heldMarkup(v, key, line) {
	if (!line) return '<span class="gap"></span>';
	const t = v.state.txns[key];
	if (!t)
		return (
			`<section class="strip${isInternal(key) ? " internal" : ""}"><div class="grid">` +
			`${stripItems(v, key)
				.map(([, markup]) => markup)
				.join("")}</div></section>`
		);
	const pending = t.pending ? `<i>→ ${t.pending}, pending</i>` : "",
		where = t.partitions.length ? ` · in ${esc(t.partitions.join(", "))}` : "";
	return (
		`<div class="held txn"><div class="label txn-coordinator"><b>${esc(key)}</b> ` +
		`<small>on ${esc(v.run.label(t.node))}</small></div><b class="extra active">${t.state}</b>` +
		`<p>${pending}<small>producer ${t.producer_id}, epoch ${t.epoch}${where}</small></p></div>`
	);
}

function drawCompare(p) {
	loadCompare(p);
	const { rows, row } = p,
		apart = p.model.get("apart"),
		sides = steps(p).map((step, side) => sideOf(p, side, step)),
		states = sides.map((v) => stateOf(v.run, v.step));
	p.root.dataset.row = row;
	const told = rows[row]
		.slice(0, 2)
		.flatMap((step, side) => (step < 0 ? [] : [`${p.model.get("names")[side]}: ${sides[side].run.events[step].text}`]));
	p.$(".where").setAttribute("aria-live", "polite");
	p.$(".where").innerHTML = `row ${row + 1} of ${rows.length}<span class="aloud">. ${esc(told.join(" "))}</span>`;
	p.say(
		apart < 0
			? "The runs are the same to their end."
			: `The runs are the same up to step ${apart - 1}; at step ${apart} they part.`,
		"",
	);
	sync(
		p.$(".names"),
		sides.map((v, side) => [side, headMarkup(p, v, side)]),
	);
	const first = Math.max(0, Math.min(row - ROWS_SHOWN / 2, rows.length - ROWS_SHOWN)),
		items = first ? [["more", `<div class="more"><small>${first} earlier rows</small></div>`]] : [];
	for (let i = first; i < Math.min(rows.length, first + ROWS_SHOWN); i++) items.push([i, rowMarkup(p, i)]);
	sync(p.$(".columns"), items);
	const keys = [...new Set(states.flatMap((lines) => Object.keys(lines)))].map((key) => {
		const words = states.map((lines) => (lines[key] ? inWords(lines[key]) : "")),
			same = words[0] === words[1],
			[one, other] = sides.map((v, side) => heldMarkup(v, key, states[side][key]));
		return [
			key,
			`<div class="pair ${same ? "once" : "differs"}" data-state="${esc(key)}" data-left="${esc(words[0])}"` +
				` data-right="${esc(words[1])}"><i>${same ? "=" : "≠"}</i>${one}${same ? "" : other}</div>`,
		];
	});
	sync(p.$(".below"), keys);
	toTheRow(p);
	askVerdicts(p);
}

// Scrolls to the cursor's row and to what differs below; again once the widget has a size, which it lacks at first.
function toTheRow(p) {
	const box = p.$(".columns"),
		below = p.$(".below"),
		current = p.$('.columns [aria-current="true"]'),
		apart = p.$(".below .differs");
	if (!p.sized) (p.sized = new ResizeObserver(() => toTheRow(p))).observe(box);
	const under = (part, inside) => part.getBoundingClientRect().top - inside.getBoundingClientRect().top;
	below.scrollTop = apart ? below.scrollTop + under(apart, below) : 0;
	if (!current) return;
	const above = under(current, box);
	if (above < 4 || above > box.clientHeight - 40) box.scrollTop += above - box.clientHeight / 3;
}

// Asks the kernel, once for two runs, when they have been painted.
function askVerdicts(p) {
	if (p.model.get("verdicts").length || p.asked === p.rows) return;
	p.asked = p.rows;
	requestAnimationFrame(() => setTimeout(() => p.model.send({ kind: "check" })));
}

function actCompare(p, action, target) {
	const difference = p.rows.findIndex(([a, b]) => Math.max(a, b) >= p.model.get("apart"));
	const to = {
		left: p.row - 1,
		right: p.row + 1,
		home: 0,
		end: p.rows.length - 1,
		goto: Number(target),
		difference: p.model.get("apart") < 0 ? p.row : difference,
	}[action];
	if (to === undefined) return true;
	p.row = p.told = Math.max(0, Math.min(to, p.rows.length - 1));
	p.model.set("row", p.row);
	clearTimeout(p.saving);
	p.saving = setTimeout(() => p.model.save_changes(), SAVE_MS);
	return true;
}

function whyCompare(p, action) {
	if (action !== "difference") return "";
	return p.model.get("apart") < 0 ? "the runs are the same to their end" : "";
}

export default {
	render: ({ model, el }) =>
		openPanel(model, el, {
			name: "compare",
			title: "Compare",
			draw: drawCompare,
			act: actCompare,
			why: whyCompare,
			traits: ["left", "right", "rows", "row", "names", "verdicts"],
			keys: { d: "difference" },
			body:
				`<div class="bar"><div>${[
					["home", "|◂", "First row"],
					["left", "◂", "Row before"],
					["right", "▸", "Next row"],
					["end", "▸|", "Last row"],
				]
					.map(([action, sign, name]) => tool(action, sign, "", ` aria-label="${name}" data-title="${name}"`))
					.join("")}</div>${tool("difference", "≠ where they part")}</div>` +
				`<div class="names"></div><div class="columns" role="list" aria-label="Both runs"></div>` +
				`<div class="below logs"></div>`,
			help:
				"<p><small>d</small>Where the runs part</p>" +
				"<p>= both runs say the same; ≠ one says it, or they say it differently. What both share before they part, " +
				"and a log that is the same in both, is drawn once.</p><p>Below: transactions and logs at the cursor, on a " +
				"side without a row as it was before; of a long log the last 16 batches. Beside the names: what the checks " +
				"say of each run to its end.</p>",
		}),
};
