// The logs of a sequence: one strip per partition, drawn with LogTape's cells; HW and LSO are pinned beside its name.
// Internal topics take one line each, and are there only while something happens in them, unless they are asked for.

import "./sequence_logs.css";
import { html, nothing, render, repeat, type TemplateResult } from "./lit";
import {
	type Cell,
	DROP,
	LEVELS,
	type Level,
	type Outcome,
	READ,
	freshOf,
	given,
	looksOf,
	outcomes,
	signOf,
	spanOf,
	textOf,
	whoOf,
	wordsOf,
} from "./log_cells";
import type { Batch, RunEvent } from "./payload";
import { logOf } from "./run";
import type { Found, Levels, LogsShown, View, Writes } from "./sequence_view";
import { wrongIn } from "./sequence_verdict";
import { isTable, type Log } from "./log";
import type { Run } from "./types";

const CELLS = 16;

type Item = [string, TemplateResult];

export const isInternal = (partition: string) => partition.startsWith("__");

// Of a database's table; see `isTable`.
export const rowFate = (log: { hw: number }, { base }: { base: number }): Outcome =>
	base < log.hw ? "committed" : "open";

// Where transactions have written, and the keys of internal partitions; `known` is the same of fewer events.
export function writesOf(
	{ events }: { events: RunEvent[] },
	known: Writes = { count: 0, transactional: new Set(), keys: {} },
): Writes {
	const { transactional, keys } = known;
	for (; known.count < events.length; known.count++)
		for (const op of events[known.count].patch) {
			if (op[0] !== "batch") continue;
			const [, , partition, batch] = op;
			if (batch.txn) transactional.add(partition);
			if (isInternal(partition) && batch.kind === "data")
				for (const [key] of batch.records) (keys[partition] ??= new Set()).add(key);
		}
	return known;
}

// The isolation levels whose readers stand below a log: where transactions write, and both where there is room.
export function levelsOf(run: Run, { transactional } = writesOf(run)): Levels {
	const data = run.partitions.filter((p) => transactional.has(p) && !isInternal(p)),
		levels = data.length > 1 ? LEVELS.slice(1) : LEVELS;
	return Object.fromEntries(run.partitions.map((p) => [p, data.includes(p) ? levels : []]));
}

// Of each internal partition, whether entries of several keys are written to it.
export const keyedOf = (run: Run, { keys } = writesOf(run)): Record<string, boolean> =>
	Object.fromEntries(run.internal.map((p) => [p, (keys[p]?.size ?? 0) > 1]));

// What a cell looks like beside its kind: new, ahead of the high watermark, wrong.
function classOf(v: LogsShown, cell: Cell, how: string, wrong: Found | undefined): string {
	const finding = wrong ? (wrong.policy === "forbidden" ? " wrong" : " noted") : "";
	return `cell ${looksOf(cell)}${how}${finding}${wrong && wrong.name !== v.first ? " later" : ""}`;
}

function batchOf(v: LogsShown, cell: Cell, how: string, keyed: boolean | undefined, wrong: Found | undefined) {
	const [b, outcome, why] = cell,
		words = wordsOf(cell),
		text = textOf(b, keyed),
		told = <T>(value: T) => (why ? nothing : value),
		about = wrong
			? html`<b class="anomaly">${wrong.policy === "forbidden" ? "✕" : "–"} ${wrong.name}</b>`
			: html`<span class="who">${whoOf(b).replace("pid ", "p")}</span>`;
	return html`<div class=${classOf(v, cell, how, wrong)} data-batch=${told(b.base)} data-last=${told(b.last)}
		data-kind=${told(b.kind)} data-fate=${told(outcome)}
		role="img" aria-label="${words}${wrong ? ` · ${wrong.name}` : ""}" title=${wrong ? wrong.text : words}
		><span class="line"><span class="off">${spanOf(b)}</span> ${
			text ? html`<span class="text">${text}</span>` : nothing
		}</span><span class="line"><b class="sign">${signOf(cell)}</b> ${about}</span></div>`;
}

const ghostOf = ({ text, offset, value }: { text: string; offset: number; value: string }) =>
	html`<div class="cell ghost" title=${text}><span class="line"><span class="off">${offset}</span> <span
	class="text">${value}</span></span><span class="line"><b class="sign">✕ lost</b></span></div>`;

// The name of a partition; where there is little room its number stays. A table has none.
function nameOf(partition: string) {
	const cut = isTable(partition) ? partition.length : partition.lastIndexOf("-");
	return html`<span>${partition.slice(0, cut)}</span>${partition.slice(cut)}`;
}

// The newest cells of a log, whatever its length.
function newest(log: Log, table: boolean): Cell[] {
	const batches = log.last(CELLS),
		found: Map<Batch, Outcome> = table ? new Map(batches.map((b) => [b, rowFate(log, b)])) : outcomes(batches),
		kept = batches.map((b): Cell => [b, found.get(b) ?? "", ""]),
		gone = log.gone.filter((b) => b.base >= (batches[0]?.base ?? 0));
	return [...kept, ...gone.map((b): Cell => [b, "", table ? "removed" : b.why])].sort((x, y) => x[0].base - y[0].base);
}

// What a strip shows, from left to right: [key, markup] of its label, columns of a cell with its readers, and bars.
class Strip {
	readonly items: Item[] = [];
	private readonly v: LogsShown;
	private readonly partition: string;
	private readonly leader: string;
	private readonly log: Log | undefined;
	private readonly table: boolean;
	private readonly marks: Array<["lso" | "hw", number]>;

	constructor(v: LogsShown, partition: string) {
		this.v = v;
		this.partition = partition;
		this.leader = v.state.leader[partition];
		this.log = this.leader ? logOf(v.state, this.leader, partition) : undefined;
		this.table = isTable(partition);
		const { hw = 0, lso = 0 } = this.log ?? {},
			bars: Array<["lso" | "hw", number]> = [
				["lso", lso],
				["hw", hw],
			];
		this.marks = this.table ? [] : bars.sort((a, b) => a[1] - b[1]);
		this.addLabel(hw, lso);
		this.addCells(hw);
	}

	private fresh(what: string | number) {
		return this.v.fresh.has(`${this.leader} ${this.partition} ${what}`) ? " new" : "";
	}

	private column(cell: TemplateResult, reader: (level: Level) => TemplateResult) {
		return html`<div class="column">${cell}${this.v.levels[this.partition].map(reader)}</div>`;
	}

	private pin(which: "hw" | "lso", offset: number, name = which.toUpperCase()) {
		return html`<span class="${which}${this.fresh(which)}">${name} <b data-hw=${which === "hw" ? this.partition : nothing}
			data-lso=${which === "lso" ? this.partition : nothing}>${offset}</b></span>`;
	}

	private addLabel(hw: number, lso: number) {
		const { partition, leader, table } = this,
			where = leader ? `${table ? "in" : "on"} ${this.v.run.label(leader)}` : table ? "" : "no leader",
			pins = table ? this.pin("hw", hw, "committed") : html`${this.pin("hw", hw)} ${this.pin("lso", lso)}`,
			label = html`<div class="label${hw === lso ? " same" : ""}" title="${partition} ${where}"><b>${nameOf(partition)}</b>
				<small>${where}</small> <span class="pins">${pins}</span></div>`;
		this.items.push(["label", this.column(label, (level) => html`<div class="label level">${level}</div>`)]);
	}

	private addCells(hw: number) {
		const { v, log, partition } = this,
			earlier = Math.max(0, (log?.count ?? 0) - CELLS),
			ghosts = [...(v.missing[partition] ?? [])].sort((a, b) => a.offset - b.offset),
			unread = () => html`<span class="read gone"></span>`,
			haunt = (offset: number) => {
				while (ghosts.length && ghosts[0].offset <= offset) {
					const [ghost] = ghosts.splice(0, 1);
					this.addMarks(ghost.offset);
					this.items.push([`ghost ${ghost.offset}`, this.column(ghostOf(ghost), unread)]);
				}
			};
		if (earlier) this.items.push(["more", this.column(html`<span class="more">${earlier} earlier …</span>`, unread)]);
		for (const cell of log ? newest(log, this.table) : []) {
			const [b, , why] = cell,
				how = this.fresh(b.base) + (b.base >= hw && !why ? " ahead" : ""),
				markup = batchOf(v, cell, how, v.keyed[partition], wrongIn(v, partition, b)),
				read = (level: Level) => {
					const state = given(log ?? { hw: 0, lso: 0 }, cell, level);
					return html`<span class="read ${state}">${READ[state]}</span>`;
				};
			haunt(b.last);
			this.addMarks(b.base);
			this.items.push([`${b.base}${why}`, this.column(markup, read)]);
		}
		haunt(Infinity);
		this.addMarks(Infinity);
	}

	private addMarks(offset: number) {
		const count = this.log ? this.marks.filter(([, at]) => at <= offset).length : 0,
			due = this.marks.splice(0, count).map(([which]) => which);
		if (!count) return;
		const texts = due.map((which) => html`<span class="${which}${this.fresh(which)}">${which.toUpperCase()}</span>`);
		this.items.push([due.join(), html`<div class="mark ${due.join(" ")}">${texts}</div>`]);
	}
}

const stripItems = (v: LogsShown, partition: string): Item[] => new Strip(v, partition).items;
const keyed = (items: Item[]) =>
	html`${repeat(
		items,
		([key]) => key,
		([, markup]) => markup,
	)}`;
export const stripOf = (v: LogsShown, partition: string) => keyed(stripItems(v, partition));

// The strips of the run, empty.
export function layLogs(v: View) {
	const strip = (p: string) => html`<section class="strip" data-partition=${p}><div class="grid"></div></section>`;
	render(html`${repeat(v.run.partitions, (p) => p, strip)}`, v.$("logs"));
	v.stripsDrawn.clear();
}

// What a strip shows follows from these.
function shownBy({ run, state, journey, shown, fresh }: View, partition: string): unknown[] {
	const leader = state.leader[partition],
		name = `${leader} ${partition}`,
		news = [...fresh].filter((one) => one.startsWith(`${name} `));
	return [run, leader, state.logs[name], journey.get("verdict"), shown.length, news.join()];
}

const stripsIn = (v: View) => [...v.$("logs").children] as HTMLElement[];

// Draws the strips that have changed; returns those whose newest entry has to be scrolled into view.
export function drawLogs(v: View): HTMLElement[] {
	v.fresh = freshOf(v);
	const some = Object.values(v.levels).some((levels) => levels.length),
		touched = new Set([...v.fresh].map((one) => one.split(" ")[1])),
		moved: HTMLElement[] = [];
	for (const strip of stripsIn(v)) {
		const { partition = "" } = strip.dataset,
			grid = strip.firstElementChild as HTMLElement,
			internal = isInternal(partition),
			quiet = internal && !v.internal && !touched.has(partition);
		if (strip.hidden && !quiet) v.stripsDrawn.delete(partition); // its newest entry has not been scrolled into view
		strip.hidden = quiet;
		strip.classList.toggle("internal", internal);
		strip.classList.toggle("line", internal || (some && !isTable(partition) && !v.levels[partition].length));
		if (drawStrip(v, partition, grid)) moved.push(grid);
	}
	return moved;
}

// Draws a strip if it has changed, and returns whether it has another end.
function drawStrip(v: View, partition: string, grid: HTMLElement): boolean {
	const before = v.stripsDrawn.get(partition),
		shows = shownBy(v, partition);
	if (before && shows.every((one, i) => one === before.shows[i])) return false;
	const items = stripItems(v, partition),
		end = `${items.map(([key]) => key).join()} ${v.shown.length}`; // a finding makes its cell wider
	render(keyed(items), grid);
	v.stripsDrawn.set(partition, { shows, end });
	return end !== before?.end;
}

export type Bars = Map<string, { bar: HTMLElement; left: number }>;

// Where the bars of the logs stand now, by partition and bar.
export const barsOf = (v: View): Bars =>
	new Map(
		stripsIn(v).flatMap((strip) =>
			[...strip.querySelectorAll<HTMLElement>(".mark")].flatMap((bar) =>
				[...bar.classList]
					.slice(1)
					.map((which) => [`${strip.dataset.partition} ${which}`, { bar, left: bar.offsetLeft }] as const),
			),
		),
	);

// What is new in a log drops into it; its bars slide from where they stood.
export function dropAndSlide(v: View, before: Bars) {
	const now = barsOf(v);
	for (const cell of v.$("logs").querySelectorAll(".cell.new")) v.move(cell, DROP);
	for (const [key, { bar, left }] of now) {
		const old = before.get(key);
		if (old && old.left !== left)
			v.move(bar, [{ transform: `translateX(${old.left - left}px)` }, { transform: "none" }]);
	}
}
