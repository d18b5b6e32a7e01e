// The logs: batches of leader and followers in columns by offset, marks between them, and what two consumers get.

import "./log_tape.css";
import {
	DROP,
	LEVELS,
	READ,
	SIGNS,
	cellsOf,
	endOf,
	given,
	logsOf,
	once,
	positionsOf,
	reading,
	recordsOf,
	spanOf,
	textOf,
	whoOf,
	wordsOf,
} from "./log_cells";
import { breakable, esc, still, sync, upTo } from "./run";
import { openView } from "./view";

const WINDOW = 18;

function fieldsOf(log, cell, meaning, states) {
	const [b, outcome, why] = cell,
		known = b.pid >= 0,
		counted = b.seq >= 0;
	const rows = {
		"base offset": b.base,
		"last offset": b.last,
		"leader epoch": b.le ?? -1,
		timestamp: `${b.ts ?? 0} ms`,
		"producer id": b.pid,
		"producer epoch": known ? b.epoch : null,
		"base sequence": counted ? b.seq : null,
		"last sequence": counted ? (b.seq + b.last - b.base) & 0x7fffffff : null,
		transactional: b.txn ? "yes" : "no",
		control: b.kind === "data" ? null : b.kind,
		"coordinator epoch": b.ce ?? null,
		outcome: why || outcome || null,
	};
	for (const level of LEVELS) rows[level] = states[given(log, cell, level)];
	return Object.keys(meaning).flatMap((name) =>
		rows[name] === null || rows[name] === undefined ? [] : [[name, String(rows[name])]],
	);
}

// ---- markup ----

function cellMarkup(partition, node, cell, column, row, how) {
	const [b, outcome, why] = cell,
		marker = b.kind !== "data",
		sign = why ? `− ${why}` : (SIGNS[marker ? b.kind : outcome] ?? "");
	const kind = why ? "gone" : marker ? `marker ${b.kind}` : outcome || "plain",
		text = marker ? "" : textOf(b);
	return (
		`<div class="cell ${kind}${how}" style="grid-area:${row}/${column}" data-choose="${esc(`${partition}@${b.base}`)}"` +
		` data-node="${node}" data-base="${b.base}" aria-label="${esc(wordsOf(cell))}" title="${esc(wordsOf(cell))}">
		<span class="off">${spanOf(b)}</span> <b class="sign">${sign}</b>` +
		`${text ? `<span class="text">${text}</span>` : ""}<span class="who">${whoOf(b)}</span></div>`
	);
}

function stripMarkup(view, partition, { all, chosen, shift }) {
	const logs = logsOf(view, partition, all),
		[leader] = logs,
		here = partition === chosen[0];
	const label = (text, small, row, more = "", pins = "") =>
		`<div class="label" style="grid-area:${row}/1"${more}><b>${text}</b><small>${small}</small>${pins}</div>`;
	if (!leader)
		return (
			`<section class="strip" data-partition="${esc(partition)}"><header>` +
			`<b>${breakable(partition)}</b> <small>no replica is known</small></header></section>`
		);
	const lists = logs.map(cellsOf),
		bases = [...new Set(lists.flat().map(([b]) => b.base))].sort((a, b) => a - b);
	const at = here && chosen[1] >= 0 ? bases.indexOf(chosen[1]) : -1;
	let to = Math.max(Math.min(bases.length - shift, bases.length), Math.min(WINDOW, bases.length));
	if (at >= 0 && shift === 0 && (at >= to || at < to - WINDOW))
		to = Math.min(bases.length, Math.max(WINDOW, at + (WINDOW >> 1)));
	const from = Math.max(0, to - WINDOW),
		inView = bases.slice(from, to),
		later = bases.length - to,
		levels = partition.startsWith("__") ? [] : LEVELS,
		readers = levels.length ? positionsOf(view, partition, leader) : [],
		rows = logs.length + levels.length + readers.length;
	const marks = [
		["start", leader.start, "start"],
		["lso", leader.lso, "LSO"],
		["hw", leader.hw, "HW"],
	]
		.filter(([which, offset]) => which !== "start" || offset > 0)
		.sort((a, b) => a[1] - b[1]);
	const columns = new Map(),
		items = [],
		fresh = view.fresh;
	let column = 2;
	const flush = (offset) => {
		const due = [];
		while (marks[0]?.[1] <= offset) due.push(marks.shift());
		if (!due.length) return;
		const texts = due.map(
			([which, value, name]) =>
				`<span class="${which}${fresh.has(`${leader.node} ${partition} ${which}`) ? " new" : ""}">${name} ` +
				`<b data-${which}="${value}">${value}</b></span>`,
		);
		items.push(
			`<div class="mark ${due.map(([which]) => which).join(" ")}"` +
				` style="grid-area:1/${column++}/-1">${texts.join("")}</div>`,
		);
	};
	if (from)
		items.push(
			`<button type="button" class="more" style="grid-area:1/${column++}"` +
				` data-choose="${esc(`${partition}@earlier`)}">‹ ${from} earlier</button>`,
		);
	else if (!bases.length) items.push(`<span class="none" style="grid-area:1/${column + 2}">empty</span>`);
	for (const base of inView) {
		flush(base);
		columns.set(base, column++);
	}
	flush(later ? inView.at(-1) + 1 : Infinity);
	if (later)
		items.push(
			`<button type="button" class="more" style="grid-area:1/${column++}"` +
				` data-choose="${esc(`${partition}@later`)}">${later} later ›</button>`,
		);
	logs.forEach((log, i) => {
		const [name, told] = i
			? [esc(log.label), `${log.role} · HW ${log.hw} · end ${endOf(log)}`]
			: [breakable(partition), `${log.label} · ${log.role}`];
		items.push(
			label(
				name,
				told,
				i + 1,
				`${i ? "" : ` data-choose="${esc(`${partition}@`)}"`} data-replica="${log.node}"` +
					` data-marks="${log.start} ${log.lso} ${log.hw} ${endOf(log)}"`,
				i ? "" : `<span class="pins">HW <b>${log.hw}</b> <span class="lso">LSO <b>${log.lso}</b></span></span>`,
			),
		);
		for (const cell of lists[i]) {
			const [b] = cell,
				how =
					(fresh.has(`${log.node} ${partition} ${b.base}`) ? " new" : "") +
					(!i && here && b.base === chosen[1] ? " chosen" : "") +
					(b.base >= log.hw && !cell[2] ? " ahead" : "");
			if (columns.has(b.base)) items.push(cellMarkup(partition, log.node, cell, columns.get(b.base), i + 1, how));
		}
	});
	levels.forEach((level, i) => {
		const words = esc(once(leader, level, () => reading(leader, lists[0], level)));
		items.push(
			label(
				level,
				"",
				logs.length + 1 + i,
				` data-level="${level}" data-reading="${words}" aria-label="${level} ${words}"`,
			),
		);
		for (const cell of lists[0]) {
			const state = given(leader, cell, level);
			if (columns.has(cell[0].base))
				items.push(
					`<span class="read ${state}" style="grid-area:${logs.length + 1 + i}/` +
						`${columns.get(cell[0].base)}">${READ[state]}</span>`,
				);
		}
	});
	readers.forEach(({ node, at, level, lag }, i) => {
		const row = logs.length + levels.length + 1 + i,
			next = inView.find((base) => lists[0].some(([b]) => b.base === base && b.last >= at)),
			before = from && at < inView[0],
			who = esc(view.run.label(node)),
			told = `position of ${who}: ${at}, lag ${lag} (${level})`;
		items.push(label(who, `position ${at}, lag ${lag}`, row, ` data-position="${told}" aria-label="${told}"`));
		if (!before && (next !== undefined || !later))
			items.push(`<span class="at" style="grid-area:${row}/${columns.get(next) ?? column}">▲ ${at}</span>`);
	});
	return (
		`<section class="strip${here ? " here" : ""}${partition.startsWith("__") ? " internal" : ""}"` +
		` data-partition="${esc(partition)}"${here ? ' aria-current="true"' : ""}>` +
		`<div class="grid" style="grid-template:repeat(${rows},auto)/auto` +
		` repeat(${column - 2},auto) 1fr">${items.join("")}</div></section>`
	);
}

function inspectorMarkup(view, [partition, base], words) {
	const [log] = base >= 0 ? logsOf(view, partition) : [],
		cell = log && cellsOf(log).findLast(([b]) => b.base <= base && base <= b.last);
	if (!cell)
		return `<div class="inspector"><p><small>Choose a batch: a click, or <b>[</b> and <b>]</b>.</small></p></div>`;
	const fields = fieldsOf(log, cell, words.meaning, words.states).map(
		([name, value]) =>
			`<tr data-field="${name}"><th scope="row">${name}</th><td>` +
			`<b>${esc(value)}</b></td><td>${esc(words.meaning[name])}</td></tr>`,
	);
	const columns = ["offset", "key", "value", ...(cell[0].headers ? ["headers"] : [])],
		headings = columns.map((name) => `<th>${name}</th>`).join("");
	const records = recordsOf(cell[0]).map(
		({ offset, key, value, entry, headers }) =>
			`<tr data-record="${offset}"><td>${offset}</td><td>${esc(key || "none")}</td><td>` +
			(entry.map(([n, v]) => `<span><small>${esc(n)}</small> ${esc(v)}</span>`).join("") || esc(value)) +
			`</td>${cell[0].headers ? `<td>${headers.map((text) => `<div>${esc(text)}</div>`).join("")}</td>` : ""}</tr>`,
	);
	return (
		`<div class="inspector" data-chosen="${base}"><h3>${esc(partition)} <b>${spanOf(cell[0])}` +
		`</b></h3><div class="two"><table class="fields">${fields.join("")}</table>${
			records.length ? `<table class="records"><tr>${headings}</tr>${records.join("")}</table>` : ""
		}</div></div>`
	);
}

// ---- the view ----

const TOOLS = {
	replicas: ["replicas", "Leader and followers side by side", "r"],
	inspect: ["inspect", "Show or hide the batch's fields", "i"],
	up: ["↑", "Partition above", "ArrowUp"],
	down: ["↓", "Partition below", "ArrowDown"],
	before: ["[", "Batch before", "["],
	after: ["]", "Batch after", "]"],
};
const LEGEND = `<li>Dashed box: not decided yet (open). Solid with ✓: committed. Hatched, with ✕: aborted;
	it stays in the log. Pointed box: marker. Dotted and faint: no longer in the log.</li>
	<li>HW, high watermark: all in-sync replicas have what is before it.
	LSO, last stable offset: nothing before it is undecided. start: what is before it was deleted.</li>
	<li>The two rows below a log: what a consumer of each isolation level is given.
	It skips what was aborted, and waits for what lies behind its mark. "held up, then skipped": it waits there too, though
	it will never be given that record.</li>
	<li>▲: where a consumer reads next. It stands behind markers, too. Its lag is the distance to LSO or HW, as its
	isolation level has it.</li>`;
const chosenOf = (view) => [view.model.get("partition") || view.run.partitions[0], view.model.get("offset")];
const shiftOf = (view, partition) => view.shifts[partition] ?? 0;

// How far a log has to be scrolled: as little as its entry `aim` needs, and so that no entry is half below the label.
function reach(grid, aim) {
	const label = grid.querySelector(".label").offsetWidth + 3,
		least = aim.offsetLeft + aim.offsetWidth - grid.clientWidth + 60,
		edges = [...grid.querySelectorAll(".cell, .mark, .more")].map((one) => one.offsetLeft - label);
	return least > 0 ? Math.min(...edges.filter((edge) => edge >= least), aim.offsetLeft - label) : 0;
}

// Scrolls the logs that were drawn anew or have another width: all are measured before any is written, one layout.
function scrollAll(grids) {
	const due = grids.flatMap((grid) => {
		const width = grid.clientWidth,
			aim =
				["chosen", "new", "cell.open"].map((one) => grid.querySelector(`.${one}`)).find(Boolean) ??
				[...grid.querySelectorAll(".cell")].at(-1); // what is undecided holds up all that follows
		return aim && grid.scrolledAt !== width ? [{ grid, width, to: reach(grid, aim) }] : [];
	});
	for (const { grid, width, to } of due) {
		grid.style.setProperty("--reach", to ? `${to + width}px` : "0px");
		grid.scrolledAt = width;
	}
	for (const { grid, to } of due) grid.scrollLeft = to;
}

function draw(view) {
	const { run, step, state, $, model } = view,
		at = upTo(view.stops.length, (i) => view.stops[i] <= step),
		all = model.get("replicas");
	view.fresh = new Set();
	for (let i = (view.stops[view.stops[at] === step ? at - 1 : at] ?? -1) + 1; i <= step; i++) {
		for (const [op, a, b, c] of run.events[i].patch) view.fresh.add(`${a} ${b} ${op === "batch" ? c.base : op}`);
	}
	const chosen = chosenOf(view),
		logs = $("logs");
	sync(
		logs,
		run.partitions.map((p) => [p, stripMarkup(view, p, { all, chosen, shift: shiftOf(view, p) })]),
	);
	scrollAll([...logs.querySelectorAll(".grid")]);
	if (view.step > view.drawn && !still())
		for (const cell of logs.querySelectorAll(".cell.new")) cell.animate(DROP, { duration: 280, easing: "ease-out" });
	const [log] = logsOf(view, chosen[0]),
		cell = log && cellsOf(log).find(([b]) => b.base === chosen[1]),
		told = `${chosen[0]}${cell ? `, ${wordsOf(cell)}` : ""}`;
	if ($("chosen-now").textContent !== told) $("chosen-now").textContent = told;
	$("about").hidden = !model.get("inspect");
	sync($("about"), model.get("inspect") ? [["", inspectorMarkup(view, chosen, model.get("words"))]] : []);
	for (const action of ["replicas", "inspect"])
		view.root.querySelector(`[data-action=${action}]`).setAttribute("aria-pressed", model.get(action));
	return state;
}

// The batches of the leader's log on the chosen partition, by offset.
const basesOf = (view) =>
	logsOf(view, chosenOf(view)[0]).flatMap((log) => [...new Set(cellsOf(log).map(([b]) => b.base))]);

function why(view, action) {
	const [partition, base] = chosenOf(view),
		{ partitions } = view.run,
		at = partitions.indexOf(partition),
		bases = basesOf(view);
	if (action === "up") return at > 0 ? "" : "This is the first partition.";
	if (action === "down") return at < partitions.length - 1 ? "" : "This is the last partition.";
	if (action === "before" || action === "after") {
		if (!bases.length) return "There is no batch in this log.";
		if (base >= 0 && (action === "before" ? bases[0] >= base : bases.at(-1) <= base))
			return `There is no batch ${action} this one.`;
	}
	return "";
}

function act(view, action) {
	const { model, run } = view,
		[partition, base] = chosenOf(view),
		bases = basesOf(view);
	if (/replicas|inspect/.test(action)) return view.set({ [action]: !model.get(action) });
	if (/up|down/.test(action))
		return view.set({
			partition: run.partitions[run.partitions.indexOf(partition) + (action === "up" ? -1 : 1)],
			offset: -1,
		});
	const next =
		base < 0 ? bases.at(-1) : action === "before" ? bases.findLast((b) => b < base) : bases.find((b) => b > base);
	view.shifts[partition] = 0;
	view.set({ partition, offset: next, inspect: true });
}

function choose(view, target) {
	const cut = target.lastIndexOf("@"),
		partition = target.slice(0, cut),
		what = target.slice(cut + 1);
	if (/earlier|later/.test(what)) {
		view.shifts[partition] = Math.max(0, shiftOf(view, partition) + (what === "earlier" ? WINDOW : -WINDOW));
		return view.set({ partition, offset: -1 });
	}
	view.set(what ? { partition, offset: Number(what), inspect: true } : { partition, offset: -1 });
}

export default {
	render: ({ model, el }) =>
		openView(model, el, {
			name: "log-tape",
			title: () => "Logs",
			tools: TOOLS,
			hidden: ["up", "down", "before", "after"],
			legend: LEGEND,
			body:
				`<div class="logs"></div><div class="about"></div>` +
				`<p class="aloud chosen-now" role="status" aria-live="polite"></p>`,
			traits: ["partition", "offset", "replicas", "inspect"],
			open: (view) => {
				view.shifts = {};
			},
			load: (view) => {
				view.shifts = {};
			},
			draw,
			act,
			choose,
			why,
		}),
};
