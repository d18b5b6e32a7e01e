// The logs of a sequence: one strip per partition, drawn with LogTape's cells; HW and LSO are pinned beside its name.
// Internal topics take one line each, and are there only while something happens in them, unless they are asked for.

import "./sequence_logs.css";
import { DROP, LEVELS, READ, SIGNS, given, outcomes, recordsOf, spanOf, valuesOf, whoOf, wordsOf } from "./log_cells";
import { esc, logOf, sync, upTo } from "./run";
import { ghostMarkup, wrongIn } from "./sequence_verdict";

const CELLS = 16;

export const isInternal = (partition) => partition.startsWith("__");

// A database's table: its rows are committed or open, and it has none of Kafka's marks.
export const isTable = (partition) => partition.startsWith("table ");
export const rowFate = (log, { base }) => (base < log.hw ? "committed" : "open");

// Where transactions have written, and the keys of internal partitions; `known` is the same of fewer events.
export function writesOf({ events }, known = { count: 0, transactional: new Set(), keys: {} }) {
	const { transactional, keys } = known;
	for (; known.count < events.length; known.count++)
		for (const [op, , partition, batch] of events[known.count].patch) {
			if (op !== "batch") continue;
			if (batch.txn) transactional.add(partition);
			if (isInternal(partition) && batch.kind === "data")
				for (const [key] of batch.records) (keys[partition] ??= new Set()).add(key);
		}
	return known;
}

// The isolation levels whose readers stand below a log: where transactions write, and both where there is room.
export function levelsOf(run, { transactional } = writesOf(run)) {
	const data = run.partitions.filter((p) => transactional.has(p) && !isInternal(p)),
		levels = data.length > 1 ? LEVELS.slice(1) : LEVELS;
	return Object.fromEntries(run.partitions.map((p) => [p, data.includes(p) ? levels : []]));
}

// An entry of an internal topic in a word: a transaction's state, a committed offset.
function entryWords(b, keyed) {
	const words = recordsOf(b).map(({ key, value, entry }) => {
		const { state, partition, offset, generation } = Object.fromEntries(entry);
		if (state && partition === undefined) return `${keyed ? `${key} ` : ""}${state}`;
		if (partition) return `${partition} → ${offset}`;
		if (generation) return `generation ${generation}`;
		return value.startsWith("tombstone") ? `${key} removed` : value;
	});
	return words.join("; ");
}

function batchMarkup(cell, how, keyed, wrong, later) {
	const [b, outcome, why] = cell,
		marker = b.kind !== "data",
		sign = why ? `− ${why}` : (SIGNS[marker ? b.kind : outcome] ?? ""),
		words = esc(wordsOf(cell));
	const kind = why ? "gone" : marker ? `marker ${b.kind}` : outcome || "plain",
		text = marker ? "" : esc(keyed === undefined ? valuesOf(b) : entryWords(b, keyed)),
		data = why
			? ""
			: ` data-batch="${b.base}" data-last="${b.last}" data-kind="${b.kind}" data-fate="${marker ? "" : outcome}"`;
	const broken = wrong?.policy === "forbidden",
		about = wrong
			? `<b class="anomaly">${broken ? "✕" : "–"} ${esc(wrong.name)}</b>`
			: `<span class="who">${whoOf(b).replace("pid ", "p")}</span>`;
	return (
		`<div class="cell ${kind}${how}${wrong ? (broken ? " wrong" : " noted") : ""}${later ? " later" : ""}"${data}` +
		` aria-label="${words}${wrong ? ` · ${esc(wrong.name)}` : ""}" title="${wrong ? esc(wrong.text) : words}">` +
		`<span class="line"><span class="off">${spanOf(b)}</span> ${text ? `<span class="text">${text}</span>` : ""}` +
		`</span><span class="line"><b class="sign">${sign}</b> ${about}</span></div>`
	);
}

// The name of a partition; where there is little room its number stays.
function nameMarkup(partition) {
	const cut = partition.lastIndexOf("-");
	return `<span>${esc(partition.slice(0, cut))}</span>${esc(partition.slice(cut))}`;
}

// The newest cells of a log, whatever its length: [batch, outcome, why it is gone].
function newest(log, table) {
	const batches = log.last(CELLS),
		found = table ? new Map(batches.map((b) => [b, rowFate(log, b)])) : outcomes(batches),
		gone = log.gone.filter((b) => b.base >= (batches[0]?.base ?? 0)).map((b) => [b, "", table ? "removed" : b.why]);
	return [...batches.map((b) => [b, found.get(b) ?? "", ""]), ...gone].sort((x, y) => x[0].base - y[0].base);
}

// Of each internal partition, whether entries of several keys are written to it.
export function keyedOf(run, { keys } = writesOf(run)) {
	return Object.fromEntries(run.internal.map((p) => [p, keys[p]?.size > 1]));
}

// What a strip shows, from left to right: [key, markup] of its label, columns of a cell with its readers, and bars.
export function stripItems(v, partition) {
	const leader = v.state.leader[partition],
		log = leader ? logOf(v.state, leader, partition) : null,
		{ hw = 0, lso = 0 } = log ?? {},
		levels = v.levels[partition],
		table = isTable(partition),
		fresh = (what) => (v.fresh.has(`${leader} ${partition} ${what}`) ? " new" : "");
	const where = leader ? `${table ? "in" : "on"} ${esc(v.run.label(leader))}` : table ? "" : "no leader",
		pin = (which, offset, name = which.toUpperCase()) =>
			`<span class="${which}${fresh(which)}">${name} ` + `<b data-${which}="${esc(partition)}">${offset}</b></span>`;
	const column = (cell, reader) => `<div class="column">${cell}${levels.map(reader).join("")}</div>`,
		unread = () => '<span class="read gone"></span>';
	const label =
		`<div class="label${hw === lso ? " same" : ""}" title="${esc(partition)} ${where}">` +
		`<b>${nameMarkup(partition)}</b> <small>${where}</small> <span class="pins">` +
		`${table ? pin("hw", hw, "committed") : `${pin("hw", hw)} ${pin("lso", lso)}`}</span></div>`;
	const items = [["label", column(label, (level) => `<div class="label level">${level}</div>`)]];
	const shown = log ? newest(log, table) : [],
		from = Math.max(0, (log?.count ?? 0) - CELLS),
		keyed = v.keyed[partition];
	const bars = [
			["lso", lso],
			["hw", hw],
		],
		marks = table ? [] : bars.sort((a, b) => a[1] - b[1]);
	const flush = (offset) => {
		const due = [];
		while (log && marks[0]?.[1] <= offset) due.push(marks.shift()[0]);
		if (!due.length) return;
		const texts = due.map((which) => `<span class="${which}${fresh(which)}">${which.toUpperCase()}</span>`);
		items.push([due.join(), `<div class="mark ${due.join(" ")}">${texts.join("")}</div>`]);
	};
	if (from) items.push(["more", column(`<span class="more">${from} earlier …</span>`, unread)]);
	const ghosts = [...(v.missing[partition] ?? [])].sort((a, b) => a.offset - b.offset);
	const haunt = (offset) => {
		while (ghosts[0]?.offset <= offset) {
			flush(ghosts[0].offset);
			items.push([`ghost ${ghosts[0].offset}`, column(ghostMarkup(ghosts.shift()), unread)]);
		}
	};
	for (const cell of shown) {
		const [b, , why] = cell,
			how = fresh(b.base) + (b.base >= hw && !why ? " ahead" : ""),
			wrong = wrongIn(v, partition, b);
		haunt(b.last);
		flush(b.base);
		items.push([
			`${b.base}${why}`,
			column(batchMarkup(cell, how, keyed, wrong, wrong && wrong.name !== v.first), (level) => {
				const state = given(log, cell, level);
				return `<span class="read ${state}">${READ[state]}</span>`;
			}),
		]);
	}
	haunt(Infinity);
	flush(Infinity);
	return items;
}

// What a strip shows follows from these.
function shownBy({ run, state, journey, shown, fresh }, partition) {
	const leader = state.leader[partition],
		name = `${leader} ${partition}`,
		news = [...fresh].filter((one) => one.startsWith(`${name} `));
	return [run, leader, state.logs[name], journey.get("verdict"), shown.length, news.join()];
}

// Draws the strips that have changed; returns those whose newest entry has to be scrolled into view.
export function drawLogs(v) {
	const { run, step, stops } = v,
		at = upTo(stops.length, (i) => stops[i] <= step),
		moved = [];
	v.fresh = new Set();
	for (let i = (stops[stops[at] === step ? at - 1 : at] ?? -1) + 1; i <= step; i++) {
		for (const [op, a, b, c] of run.events[i].patch) v.fresh.add(`${a} ${b} ${op === "batch" ? c.base : op}`);
	}
	const some = Object.values(v.levels).some((levels) => levels.length),
		touched = new Set([...v.fresh].map((one) => one.split(" ")[1]));
	for (const [partition, strip] of v.$("logs").kept) {
		const grid = strip.firstChild,
			shows = shownBy(v, partition),
			internal = isInternal(partition),
			quiet = internal && !v.internal && !touched.has(partition);
		if (strip.hidden && !quiet) grid.end = ""; // its newest entry has not been scrolled into view
		strip.hidden = quiet;
		strip.classList.toggle("internal", internal);
		strip.classList.toggle("line", internal || (some && !isTable(partition) && !v.levels[partition].length));
		if (grid.end && shows.every((one, i) => one === grid.shows?.[i])) continue;
		const items = stripItems(v, partition),
			end = `${items.map(([key]) => key).join()} ${v.shown.length}`; // a finding makes its cell wider
		grid.shows = shows;
		sync(grid, items);
		if (grid.end !== end) moved.push(grid);
		grid.end = end;
	}
	return moved;
}

// Where the bars of the logs stand now, by partition and bar.
export const barsOf = (v) =>
	new Map(
		[...v.$("logs").querySelectorAll(".strip")].flatMap((strip) =>
			[...strip.querySelectorAll(".mark")].flatMap((bar) =>
				[...bar.classList].slice(1).map((which) => [`${strip.dataset.partition} ${which}`, [bar, bar.offsetLeft]]),
			),
		),
	);

// What is new in a log drops into it; its bars slide from where they stood.
export function dropAndSlide(v, before) {
	const now = barsOf(v);
	for (const cell of v.$("logs").querySelectorAll(".cell.new")) v.move(cell, DROP);
	for (const [key, [bar, left]] of now) {
		const old = before.get(key);
		if (old && old[1] !== left) v.move(bar, [{ transform: `translateX(${old[1] - left}px)` }, { transform: "none" }]);
	}
}
