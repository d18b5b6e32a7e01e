// The logs: batches of leader and followers in columns by offset, marks between them, and what two consumers get.

import "./log_tape.css";
import { still, upTo } from "./basics";
import { type TemplateResult, breaks, html, nothing, repeat } from "./lit";
import {
	type Cell,
	DROP,
	type Given,
	LEVELS,
	READ,
	type Replica,
	cellsOf,
	endOf,
	freshOf,
	given,
	isKeyed,
	looksOf,
	logsOf,
	once,
	positionsOf,
	reading,
	recordsOf,
	signOf,
	spanOf,
	textOf,
	whoOf,
	wordsOf,
} from "./log_cells";
import { isInternal } from "./sequence_logs";
import type { State, Run } from "./types";
import { View, type ViewValues, besideOf, edgeOf, viewOf } from "./view";

interface Values extends ViewValues {
	partition: string;
	offset: number;
	replicas: boolean;
	inspect: boolean;
	words: { meaning: Record<string, string>; states: Record<Given, string> };
}

const WINDOW = 18;

// ---- one partition ----

// What a strip is drawn from. `chosen` is the offset of its chosen batch, -1 for none; `here` whether it is the chosen
// partition; `shift` by how many entries it is moved back; `fresh` what has changed since the stop before.
interface Strip {
	readonly run: Run;
	readonly state: State;
	readonly partition: string;
	readonly logs: Replica[];
	readonly here: boolean;
	readonly chosen: number;
	readonly shift: number;
	readonly fresh: ReadonlySet<string>;
}

// The columns: by offset where they are, how many there are, which offsets there are before and after them.
interface Columns {
	readonly at: Map<number, number>;
	readonly inView: number[];
	readonly earlier: number;
	readonly later: number;
	count: number;
}

type Items = Map<string, TemplateResult>;

const area = (row: number | string, column: number) => `grid-area:${row}/${column}`;

// The offsets of the newest entries, of those `shift` further back, or of those around the chosen one.
function windowOf({ logs, here, chosen, shift }: Strip): Columns {
	const bases = [...new Set(logs.flatMap(cellsOf).map(([b]) => b.base))].sort((a, b) => a - b),
		at = here && chosen >= 0 && shift === 0 ? bases.indexOf(chosen) : -1;
	let to = Math.max(Math.min(bases.length - shift, bases.length), Math.min(WINDOW, bases.length));
	if (at >= 0 && (at >= to || at < to - WINDOW)) to = Math.min(bases.length, Math.max(WINDOW, at + (WINDOW >> 1)));
	const from = Math.max(0, to - WINDOW);
	return { at: new Map(), inView: bases.slice(from, to), earlier: from, later: bases.length - to, count: 2 };
}

// The marks of a log in their order, one bar for those at one offset.
function marksOf({ partition, fresh }: Strip, { node, start, lso, hw }: Replica) {
	const marks: Array<[string, number, string]> = [
		["start", start, "start"],
		["lso", lso, "LSO"],
		["hw", hw, "HW"],
	];
	const left = marks.filter(([which, offset]) => which !== "start" || offset > 0).sort((a, b) => a[1] - b[1]);
	const text = ([which, offset, name]: [string, number, string]) =>
		html`<span class="${which}${fresh.has(`${node} ${partition} ${which}`) ? " new" : ""}">${name}
			<b>${offset}</b></span>`;
	// The bar of all that is up to `offset`, in this column.
	return (items: Items, offset: number, columns: Columns) => {
		const count = upTo(left.length, (i) => left[i][1] <= offset) + 1,
			due = left.splice(0, count);
		if (!due.length) return;
		const names = due.map(([which]) => which).join(" ");
		items.set(
			`mark ${names}`,
			html`<div class="mark ${names}" style="${area(1, columns.count++)}/-1">${due.map(text)}</div>`,
		);
	};
}

// Lays the columns out, with what stands between and beside them.
function layColumns(strip: Strip, leader: Replica, items: Items): Columns {
	const columns = windowOf(strip),
		{ inView, earlier, later, at } = columns,
		flush = marksOf(strip, leader);
	const more = (way: string, text: string) =>
		items.set(
			way,
			html`<button type="button" class="more" style=${area(1, columns.count++)}
				data-choose="${strip.partition}@${way}">${text}</button>`,
		);
	if (earlier) more("earlier", `‹ ${earlier} earlier`);
	else if (!inView.length)
		items.set("empty", html`<span class="none" style=${area(1, columns.count + 2)}>empty</span>`);
	for (const base of inView) {
		flush(items, base, columns);
		at.set(base, columns.count++);
	}
	flush(items, later ? (inView.at(-1) ?? 0) + 1 : Infinity, columns);
	if (later) more("later", `${later} later ›`);
	return columns;
}

function cellMarkup(
	{ partition, fresh, here, chosen }: Strip,
	log: Replica,
	cell: Cell,
	place: string,
	leads: boolean,
) {
	const [b, , why] = cell,
		text = textOf(b, isInternal(partition) ? isKeyed(log) : undefined),
		words = wordsOf(cell);
	const how = [
		looksOf(cell),
		fresh.has(`${log.node} ${partition} ${b.base}`) && "new",
		leads && here && b.base === chosen && "chosen",
		b.base >= log.hw && !why && "ahead",
	];
	return html`<div class="cell ${how.filter(Boolean).join(" ")}" style=${place} data-choose="${partition}@${b.base}"
		data-node=${log.node} data-base=${b.base} role="img" aria-label=${words} title=${words}
		><span class="off">${spanOf(b)}</span>
		<b class="sign">${signOf(cell)}</b>${text ? html`<span class="text">${text}</span>` : ""}<span
		class="who">${whoOf(b)}</span></div>`;
}

function replicaRow(strip: Strip, log: Replica, row: number, columns: Columns, items: Items) {
	const { partition } = strip,
		leads = row === 1,
		marks = `${log.start} ${log.lso} ${log.hw} ${endOf(log)}`;
	const [name, told] = leads
		? [breaks(partition), `${log.label} · ${log.role}`]
		: [log.label, `${log.role} · HW ${log.hw} · end ${endOf(log)}`];
	const pins = html`<span class="pins">HW <b>${log.hw}</b> <span class="lso">LSO <b>${log.lso}</b></span></span>`;
	items.set(
		`label ${log.node}`,
		html`<div class="label" style=${area(row, 1)} data-choose=${leads ? `${partition}@` : nothing}
			data-replica=${log.node} data-marks=${marks}><b>${name}</b><small>${told}</small>${leads ? pins : ""}</div>`,
	);
	for (const cell of cellsOf(log)) {
		const [{ base }, , why] = cell,
			column = columns.at.get(base);
		if (column !== undefined)
			items.set(`${log.node} ${base} ${why}`, cellMarkup(strip, log, cell, area(row, column), leads));
	}
}

// What a consumer of each isolation level is given of each cell.
function levelRow(leader: Replica, level: (typeof LEVELS)[number], row: number, columns: Columns, items: Items) {
	const cells = cellsOf(leader),
		words = once(leader, level, () => reading(leader, cells, level));
	items.set(
		level,
		html`<div class="label" style=${area(row, 1)} data-level=${level} data-reading=${words}
			role="img" aria-label="${level} ${words}"><b>${level}</b><small></small></div>`,
	);
	for (const cell of cells) {
		const [{ base }, , why] = cell,
			column = columns.at.get(base),
			state = given(leader, cell, level);
		if (column !== undefined)
			items.set(
				`${level} ${base} ${why}`,
				html`<span class="read ${state}" style=${area(row, column)}>${READ[state]}</span>`,
			);
	}
}

type Position = ReturnType<typeof positionsOf>[number];

// Where a client's consumer reads next.
function positionRow({ run }: Strip, leader: Replica, position: Position, row: number, columns: Columns, items: Items) {
	const { node, at, level, lag } = position,
		{ inView, earlier, later } = columns,
		next = inView.find((base) => cellsOf(leader).some(([b]) => b.base === base && b.last >= at)),
		told = `position of ${run.label(node)}: ${at}, lag ${lag} (${level})`;
	items.set(
		`position ${node}`,
		html`<div class="label" style=${area(row, 1)} data-position=${told} role="img"
			aria-label=${told}><b>${run.label(node)}</b><small>position ${at}, lag ${lag}</small></div>`,
	);
	if ((earlier && at < inView[0]) || (next === undefined && later)) return;
	const column = columns.at.get(next ?? -1) ?? columns.count;
	items.set(`at ${node}`, html`<span class="at" style=${area(row, column)}>▲ ${at}</span>`);
}

function stripMarkup(strip: Strip) {
	const { partition, logs, here } = strip,
		[leader] = logs,
		items: Items = new Map();
	if (!leader)
		return html`<section class="strip" data-partition=${partition}><header><b>${breaks(partition)}</b>
			<small>no replica is known</small></header></section>`;
	const columns = layColumns(strip, leader, items),
		internal = isInternal(partition),
		levels = internal ? [] : LEVELS,
		readers = internal ? [] : positionsOf(strip, partition, leader);
	let row = 1;
	for (const log of logs) replicaRow(strip, log, row++, columns, items);
	for (const level of levels) levelRow(leader, level, row++, columns, items);
	for (const reader of readers) positionRow(strip, leader, reader, row++, columns, items);
	return html`<section class="strip${here ? " here" : ""}${internal ? " internal" : ""}" data-partition=${partition}
		aria-current=${here ? "true" : nothing}><div class="grid" role="group" aria-label="the log of ${partition}"
		style="grid-template:repeat(${row - 1},auto)/auto repeat(${columns.count - 2},auto) 1fr">${repeat(
			items,
			([key]) => key,
			([, markup]) => markup,
		)}</div></section>`;
}

// ---- the batch that is looked into ----

function fieldsOf(log: Replica, cell: Cell, { meaning, states }: Values["words"]): Array<[string, string]> {
	const [b, outcome, why] = cell,
		counted = b.seq >= 0;
	const rows: Record<string, string | number | undefined> = {
		"base offset": b.base,
		"last offset": b.last,
		"leader epoch": b.le ?? -1,
		timestamp: `${b.ts ?? 0} ms`,
		"producer id": b.pid,
		"producer epoch": b.pid >= 0 ? b.epoch : undefined,
		"base sequence": counted ? b.seq : undefined,
		"last sequence": counted ? (b.seq + b.last - b.base) & 0x7fffffff : undefined,
		transactional: b.txn ? "yes" : "no",
		control: b.kind === "data" ? undefined : b.kind,
		"coordinator epoch": b.ce,
		outcome: why || outcome || undefined,
	};
	for (const level of LEVELS) rows[level] = states[given(log, cell, level)];
	return Object.keys(meaning).flatMap(
		(name): Array<[string, string]> => (rows[name] === undefined ? [] : [[name, String(rows[name])]]),
	);
}

function recordsMarkup(cell: Cell) {
	const headed = !!cell[0].headers,
		records = recordsOf(cell[0]);
	if (!records.length) return "";
	const rows = records.map(({ offset, key, value, entry, headers }) => {
		const fields = entry.map(([name, text]) => html`<span><small>${name}</small> ${text}</span>`),
			cells = headed ? html`<td>${headers.map((text) => html`<div>${text}</div>`)}</td>` : "";
		return html`<tr data-record=${offset}><td>${offset}</td><td>${key || "none"}</td
			><td>${fields.length ? fields : value}</td>${cells}</tr>`;
	});
	const heads = ["offset", "key", "value", ...(headed ? ["headers"] : [])].map((name) => html`<th>${name}</th>`);
	return html`<table class="records"><tr>${heads}</tr>${rows}</table>`;
}

function inspectorMarkup(log: Replica | undefined, partition: string, base: number, words: Values["words"]) {
	const cell = log && base >= 0 && cellsOf(log).findLast(([b]) => b.base <= base && base <= b.last);
	if (!cell)
		return html`<div class="inspector"><p><small>Choose a batch: a click, or <b>[</b> and <b>]</b>.</small></p></div>`;
	const fields = fieldsOf(log, cell, words).map(
		([name, value]) =>
			html`<tr data-field=${name}><th scope="row">${name}</th><td><b>${value}</b></td
				><td>${words.meaning[name]}</td></tr>`,
	);
	return html`<div class="inspector" data-chosen=${base}><h3 role="none">${partition} <b>${spanOf(cell[0])}</b></h3>
		<div class="two"><table class="fields">${fields}</table>${recordsMarkup(cell)}</div></div>`;
}

// ---- scrolling ----

const rightOf = (one: HTMLElement) => one.offsetLeft + one.offsetWidth;

// The entry of a log that has to be in view: what is undecided holds up all that follows.
function aimOf(grid: HTMLElement): HTMLElement | undefined {
	const cells = [...grid.querySelectorAll<HTMLElement>(".cell")],
		first = (which: string) => cells.find((cell) => cell.classList.contains(which));
	return first("chosen") ?? first("new") ?? first("open") ?? cells.at(-1);
}

// How far a log has to be scrolled: as little as its entry `aim`, and the marks and positions beside it, need, and so
// that no entry is half below the label.
function reach(grid: HTMLElement, aim: HTMLElement): number {
	const all = (which: string) => [...grid.querySelectorAll<HTMLElement>(which)],
		label = all(".label")[0].offsetWidth + 3,
		most = aim.offsetLeft - label,
		needed = [rightOf(aim) + 60, ...all(".at, .mark").map(rightOf)].map((right) => right - grid.clientWidth),
		least = Math.max(...needed.filter((one, i) => !i || one <= most)),
		edges = all(".cell, .mark, .more").map((one) => one.offsetLeft - label);
	return least > 0 ? Math.min(...edges.filter((edge) => edge >= least), most) : 0;
}

const scrolled = new WeakMap<HTMLElement, string>();

// Scrolls the logs that show something else or have another width: all are measured before any is written, one layout.
function scrollAll(grids: HTMLElement[]) {
	const due = grids.flatMap((grid) => {
		const aim = aimOf(grid),
			to = aim ? reach(grid, aim) : 0,
			width = grid.clientWidth,
			shows = `${width} ${grid.scrollWidth} ${aim?.dataset.base} ${to}`;
		if (grid.scrollWidth > width) grid.tabIndex = 0;
		else grid.removeAttribute("tabindex");
		if (!aim || scrolled.get(grid) === shows) return [];
		scrolled.set(grid, shows);
		return [{ grid, width, to }];
	});
	for (const { grid, width, to } of due) grid.style.setProperty("--reach", to ? `${to + width}px` : "0px");
	for (const { grid, to } of due) grid.scrollLeft = to;
}

// ---- the view ----

class LogTape extends View<Values> {
	readonly name = "log-tape";
	readonly tools = {
		replicas: ["replicas", "Leader and followers side by side", "r"],
		inspect: ["inspect", "Show or hide the batch's fields", "i"],
		up: ["↑", "Partition above", "ArrowUp"],
		down: ["↓", "Partition below", "ArrowDown"],
		before: ["[", "Batch before", "["],
		after: ["]", "Batch after", "]"],
	} satisfies View["tools"];
	readonly first = ["down", "before", "inspect"];
	override readonly buttons = ["replicas", "inspect"];
	override readonly traits = ["partition", "offset", "replicas", "inspect"] as const;
	private shifts: Record<string, number> = {};

	title() {
		return "Logs";
	}
	override load() {
		this.shifts = {};
	}
	private get partition() {
		return this.get("partition") || this.run.partitions[0];
	}
	private shiftOf(partition: string) {
		return this.shifts[partition] ?? 0;
	}
	// The leader's log on the chosen partition, if it is known.
	private get log(): Replica | undefined {
		return logsOf(this, this.partition)[0];
	}
	// The offsets of its batches.
	private get bases() {
		return this.log ? [...new Set(cellsOf(this.log).map(([b]) => b.base))] : [];
	}

	body() {
		const { run, state, partition } = this,
			chosen = this.get("offset"),
			inspects = this.get("inspect"),
			fresh = freshOf(this),
			cell = this.log && cellsOf(this.log).find(([b]) => b.base === chosen);
		const strips = repeat(
			run.partitions,
			(one) => one,
			(one) => {
				const logs = logsOf(this, one, this.get("replicas")),
					here = one === partition;
				return stripMarkup({ run, state, partition: one, logs, here, chosen, shift: this.shiftOf(one), fresh });
			},
		);
		return html`<div class="logs">${strips}</div><div class="about" ?hidden=${!inspects}>${
			inspects ? inspectorMarkup(this.log, partition, chosen, this.get("words")) : ""
		}</div><p class="aloud chosen-now" role="status" aria-live="polite">${partition}${
			cell ? `, ${wordsOf(cell)}` : ""
		}</p>`;
	}
	override drawn() {
		scrollAll([...this.root.querySelectorAll<HTMLElement>(".grid")]);
		if (this.step <= this.before || still()) return;
		for (const cell of this.root.querySelectorAll(".cell.new"))
			cell.animate(DROP, { duration: 280, easing: "ease-out" });
	}

	override pressed(action: string) {
		return action === "replicas" || action === "inspect" ? this.get(action) : undefined;
	}
	override why(action: string) {
		const { partitions } = this.run,
			at = partitions.indexOf(this.partition),
			base = this.get("offset");
		if (action !== "before" && action !== "after") return edgeOf(action, at, partitions.length, "partition");
		const { bases } = this,
			edge = action === "before" ? bases[0] >= base : (bases.at(-1) ?? -1) <= base;
		if (!bases.length) return "There is no batch in this log.";
		return base >= 0 && edge ? `There is no batch ${action} this one.` : "";
	}
	override act(action: string) {
		const { partition, bases } = this,
			{ partitions } = this.run,
			base = this.get("offset");
		if (action === "replicas" || action === "inspect") return this.set({ [action]: !this.get(action) });
		if (action === "up" || action === "down")
			return this.set({
				partition: partitions[besideOf(action, partitions.indexOf(partition), partitions.length)],
				offset: -1,
			});
		const beside = action === "before" ? bases.findLast((b) => b < base) : bases.find((b) => b > base);
		this.shifts[partition] = 0;
		this.set({ partition, offset: base < 0 ? bases.at(-1) : beside, inspect: true });
	}
	override choose(target: string) {
		const cut = target.lastIndexOf("@"),
			partition = target.slice(0, cut),
			what = target.slice(cut + 1);
		if (/earlier|later/.test(what)) {
			const by = what === "later" ? -WINDOW : WINDOW;
			this.shifts[partition] = Math.max(0, this.shiftOf(partition) + by);
			return this.set({ partition, offset: -1 });
		}
		this.set(what ? { partition, offset: Number(what), inspect: true } : { partition, offset: -1 });
	}

	legend() {
		return html`<li>Dashed box: not decided yet (open). Solid with ✓: committed. Hatched, with ✕: aborted; it stays in
			the log. Pointed box: marker. Dotted and faint: no longer in the log.</li>
			<li>HW, high watermark: all in-sync replicas have what is before it. LSO, last stable offset: nothing before it is
			undecided. start: what is before it was deleted.</li>
			<li>The two rows below a log: what a consumer of each isolation level is given. It skips what was aborted, and
			waits for what is past its mark. "held up, then skipped": it waits there too, though it will never be given
			that record.</li>
			<li>▲: where a consumer reads next. It is past markers, too. Its lag is the distance to LSO or HW, as its
			isolation level has it.</li>`;
	}
}

export default viewOf(LogTape);
