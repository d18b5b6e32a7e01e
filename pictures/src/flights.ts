// Where the rows of a sequence stand along the time, downwards or across, and the ways of its frames between the lanes.

import { scaled } from "./lit";
import type { Frame, RunEvent, RunNode } from "./payload";
import { ALWAYS, isShown, isStop, rounded, upTo } from "./run";
import type { Run } from "./types";

const ROWS = 60,
	LEAVES = 20,
	LONG_MS = 25,
	CHIP = 20,
	LETTER = 0.63,
	STOP_EM = 1.7;

// A row along the time: of an event, after a wait of so many ms; whether the cursor stops there and the time is shown.
export interface PlanRow {
	event: RunEvent;
	stop: boolean;
	wait: number;
	clock: boolean;
	y: number;
	height: number;
	end: number;
	past?: unknown;
}

// A frame on its way from one row to another.
export interface Flight {
	f: Frame;
	from: number;
	to: number;
}

export interface Way {
	x1: number;
	y1: number;
	x2: number;
	y2: number;
	loop?: number;
	across: boolean;
}

type Place = [number, number];

// Across, a row is a column that begins where the words before it have ended: on its lane, in the line of times, and of
// the frames on its side of the lane. Gives where it begins, its width, and where its words end.
function columns(run: Run, lanes: RunNode[], u: number) {
	const taken: Record<string, number> = {},
		lane: Record<string, number> = Object.fromEntries(lanes.map((n, i) => [n.id, i])),
		wide = (text: string) => text.length * LETTER * u;
	return ({ event, stop, wait, clock }: PlanRow, y: number): [number, number, number] => {
		const f = event.kind === "send" ? run.frames[event.frame] : undefined,
			mark = stop ? run.marks[event.step] : undefined,
			on = event.node in lane,
			words: Array<[string, number]> = [],
			chip = mark ? Math.min(wide(on ? mark : event.text), u * (on ? CHIP : 2 * CHIP)) + 1.4 * u : 0;
		if (clock) words.push(["time", 5.4 * u]);
		if (mark) words.push([on ? event.node : "all", chip]);
		if (f) {
			const room = wide(f.id + (f.error === "NONE" ? "" : f.error)) + 1.6 * u;
			words.push([`${f.from} ${lane[f.to] > lane[f.from]}`, room]);
		}
		const places = [event.node, ...words.map(([where]) => where)],
			from = Math.max(y, ...places.map((where) => taken[where] ?? 0)) + (wait ? 7.6 * u : 0);
		for (const [where, room] of words) taken[where] = from + room;
		return [from, chip || u * (stop ? 2.4 : 1.6), from + Math.max(...words.map(([, room]) => room), 0)];
	};
}

// Which events have a row when these groups are visible, and where; at which of them the cursor stops. `grow` goes on
// with what has been added to the run, while its lanes are the same.
export class Plan {
	readonly stops: number[] = [];
	readonly rows: PlanRow[] = [];
	readonly lanes: RunNode[];
	readonly groups: Set<string>;
	readonly across: boolean;
	longest = 0;
	private readonly run: Run;
	private readonly hidden: Set<string>;
	private readonly u: number;
	private readonly column: ReturnType<typeof columns>;
	private readonly pages: Flight[][] = [];
	private y: number;
	private clock = 0;
	private end = 0;
	private seen = 0;
	private flown = 0;
	private away: Array<Flight & { page: number }> = [];

	constructor(run: Run, groups: Set<string>, hidden: Set<string>, u: number, across: boolean) {
		const known = run.nodes.filter((n) => n.kind !== "controller" || groups.has("metadata")),
			some = known.filter((n) => !hidden.has(n.id));
		this.lanes = some.length ? some : known.slice(0, 1);
		this.run = run;
		this.groups = groups;
		this.hidden = hidden;
		this.u = u;
		this.across = across;
		this.y = u / 2;
		this.column = columns(run, this.lanes, u);
		this.grow();
	}

	grow() {
		const { run } = this;
		for (; this.seen < run.events.length; this.seen++) this.addRow(run.events[this.seen]);
		const fresh = run.flown.slice(this.flown).flatMap((f) => this.flightOf(f));
		this.flown = run.flown.length;
		this.away = [...this.away, ...fresh].filter((flight) => this.fly(flight));
	}

	row(step: number): number {
		return upTo(this.rows.length, (i) => this.rows[i].event.step <= step);
	}

	// The flights that touch these rows: they are on two pages at most.
	flying(first: number, last: number): Flight[] {
		const pages = this.pages.slice(Math.max(0, Math.floor(first / ROWS)), Math.floor(last / ROWS) + 1);
		return [...new Set(pages.flat())].filter((f) => f.from <= last && f.to >= first).sort((a, b) => a.from - b.from);
	}

	private addRow(event: RunEvent) {
		const { run, rows, u } = this,
			{ step, kind, at } = event,
			frame = run.frames[event.frame],
			stop = isStop(run, event, this.groups, this.hidden);
		if (stop) this.stops.push(step);
		else if (!this.isPassing(event, frame)) return;
		const wait = rows.length && at - this.clock >= LONG_MS ? at - this.clock : 0,
			clock = at !== this.clock || !rows.length || ALWAYS.has(kind),
			high = u * (stop ? STOP_EM : frame.copy_of ? 1.9 : 1.1),
			down = this.y + (wait ? u * 1.7 : 0),
			row = { event, stop, wait, clock, y: 0, height: 0, end: 0 };
		[row.y, row.height, row.end] = this.across ? this.column(row, this.y) : [down, high, down + high];
		row.end = this.end = Math.max(this.end, row.end);
		rows.push(row);
		this.y = row.y + (this.across ? u * (stop ? 2.4 : 1.6) : row.height);
		this.clock = at;
		this.longest = Math.max(this.longest, this.end - rows[firstRow(rows.length - 1)].y);
	}

	// Whether an event at which the cursor does not stop has a row: it begins or ends an arrow.
	private isPassing(event: RunEvent, frame: Frame | undefined): boolean {
		if (!frame || !this.groups.has(frame.category) || !/send|receive/.test(event.kind)) return false;
		return isShown(this.run, event, this.hidden);
	}

	private flightOf(f: Frame): Array<Flight & { page: number }> {
		const from = this.row(f.sent),
			ids = this.lanes.map((n) => n.id),
			drawn = this.groups.has(f.category) && ids.includes(f.from) && ids.includes(f.to);
		if (!drawn || this.rows[from]?.event.step !== f.sent) return [];
		if (!isShown(this.run, this.run.events[f.sent], this.hidden)) return [];
		return [{ f, from, to: from, page: Math.floor(from / ROWS) }];
	}

	// Notes up to where a flight is known to be on its way, and returns whether it goes on.
	private fly(flight: Flight & { page: number }): boolean {
		const ended = this.run.end(flight.f);
		flight.to = this.row(ended);
		for (; flight.page * ROWS <= flight.to; flight.page++) (this.pages[flight.page] ??= []).push(flight);
		return ended > this.run.last;
	}
}

// The first row in the page when `row` is the newest. Rows leave it twenty at a time: what stays keeps its place.
export const firstRow = (row: number) => Math.floor(Math.max(0, row - ROWS) / LEAVES) * LEAVES;

// A place between the lanes, `x`, and along the time, `y`, as a point of the picture.
export const turned = <T>(across: boolean, x: T, y: T): [T, T] => (across ? [y, x] : [x, y]);

// A point on the way of a frame, 0 at the sender, 1 at the receiver; and the way up to there.
export function point({ x1, y1, x2, y2, loop, across }: Way, t: number): Place {
	if (!loop) return turned(across, x1 + (x2 - x1) * t, y1 + (y2 - y1) * t);
	if (t < 0.4) return turned(across, x1 + loop * 2.5 * t, y1);
	return t < 0.6
		? turned(across, x1 + loop, y1 + (y2 - y1) * (5 * t - 2))
		: turned(across, x1 + loop * 2.5 * (1 - t), y2);
}

// Where the envelope of a frame in flight is on its way: beyond the middle, in the part of the picture that is seen.
export const RESTS = 0.6;
interface Seen {
	across: boolean;
	width: number;
	height: number;
	bottom: number;
	u: number;
}
export function rests(v: Seen, { y1, y2, loop }: Way): number {
	const long = v.across ? v.width : v.height,
		seen = v.bottom - long;
	if (loop || y1 + (y2 - y1) * RESTS >= seen + v.u) return RESTS;
	return Math.min(0.95, (seen + long * RESTS - y1) / (y2 - y1));
}

export function way(g: Way, t: number): string {
	const turns = g.loop ? [0.4, 0.6].filter((turn) => turn < t) : [];
	return `M${[0, ...turns, t].map((at) => point(g, at).map(rounded)).join("L")}`;
}

export function head(g: Way, r: number, close: string) {
	const [x, y] = point(g, 1),
		[x0, y0] = point(g, 0.9),
		turn = Math.atan2(y - y0, x - x0) * 57.3;
	return scaled`<path class="head" d="M${-r},${-r * 0.4}L0,0L${-r},${r * 0.4}${close}"
		transform="translate(${x},${y}) rotate(${turn})"></path>`;
}
