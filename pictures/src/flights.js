// Where the rows of a sequence stand along the time, downwards or across, and the ways of its frames between the lanes.

import { ALWAYS, isShown, isStop, rounded, svg, upTo } from "./run";

const ROWS = 60,
	LEAVES = 20,
	LONG_MS = 25,
	CHIP = 20,
	LETTER = 0.63;

// Across, a row is a column that begins where the words before it have ended: on its lane, in the line of times, and of
// the frames on its side of the lane. Gives where it begins, its width, and where its words end.
function columns(run, lanes, u) {
	const taken = {},
		lane = Object.fromEntries(lanes.map((n, i) => [n.id, i])),
		wide = (text) => text.length * LETTER * u;
	return ({ event, stop, wait, clock }, y) => {
		const f = event.kind === "send" && run.frames[event.frame],
			mark = stop && run.marks[event.step],
			on = event.node in lane,
			words = [];
		const chip = mark ? Math.min(wide(on ? mark : event.text), u * (on ? CHIP : 2 * CHIP)) + 1.4 * u : 0;
		if (clock) words.push(["time", 5.4 * u]);
		if (mark) words.push([on ? event.node : "all", chip]);
		if (f)
			words.push([
				`${f.from} ${lane[f.to] > lane[f.from]}`,
				wide(f.id + (f.error === "NONE" ? "" : f.error)) + 1.6 * u,
			]);
		const from = Math.max(y, ...[[event.node], ...words].map(([where]) => taken[where] ?? 0)) + (wait ? 7.6 * u : 0);
		for (const [where, room] of words) taken[where] = from + room;
		return [from, chip || u * (stop ? 2.4 : 1.6), from + Math.max(...words.map(([, room]) => room), 0)];
	};
}

// Which events have a row when these groups are visible, and where; at which of them the cursor stops. `grow` goes on
// with what has been added to the run, while its lanes are the same.
export function plan(run, groups, hidden, u, across) {
	const stops = [],
		rows = [],
		pages = [];
	const known = run.nodes.filter((n) => n.kind !== "controller" || groups.has("metadata")),
		some = known.filter((n) => !hidden.has(n.id));
	const lanes = some.length ? some : known.slice(0, 1),
		ids = lanes.map((n) => n.id),
		column = columns(run, lanes, u);
	let y = u / 2,
		clock = 0,
		end = 0,
		seen = 0,
		flown = 0,
		away = [];
	const addRow = (event) => {
		const { step, kind, at } = event,
			frame = run.frames[event.frame],
			stop = isStop(run, event, groups, hidden);
		if (stop) stops.push(step);
		else if (!(frame && groups.has(frame.category) && /send|receive/.test(kind) && isShown(run, event, hidden))) return;
		const wait = rows.length && at - clock >= LONG_MS ? at - clock : 0,
			row = { event, stop, wait, clock: at !== clock || !rows.length || ALWAYS.has(kind) };
		const high = u * (stop ? 1.7 : frame.copy_of ? 1.9 : 1.1),
			down = y + (wait ? u * 1.7 : 0);
		[row.y, row.height, row.end] = across ? column(row, y) : [down, high, down + high];
		row.end = end = Math.max(end, row.end);
		rows.push(row);
		y = row.y + (across ? u * (stop ? 2.4 : 1.6) : row.height);
		clock = at;
		made.longest = Math.max(made.longest, end - rows[firstRow(rows.length - 1)].y);
	};
	const row = (step) => upTo(rows.length, (i) => rows[i].event.step <= step);
	const flightOf = (f) => {
		const from = row(f.sent),
			drawn = groups.has(f.category) && ids.includes(f.from) && ids.includes(f.to);
		return drawn && rows[from]?.event.step === f.sent && isShown(run, run.events[f.sent], hidden)
			? [{ f, from, to: from, page: Math.floor(from / ROWS) }]
			: [];
	};
	// Up to where a flight is known to be on its way; and whether it goes on.
	const fly = (flight) => {
		const ended = run.end(flight.f);
		flight.to = row(ended);
		for (; flight.page * ROWS <= flight.to; flight.page++) (pages[flight.page] ??= []).push(flight);
		return ended > run.last;
	};
	// The flights that touch these rows: they are on two pages at most.
	const flying = (first, last) =>
		[...new Set(pages.slice(Math.max(0, Math.floor(first / ROWS)), Math.floor(last / ROWS) + 1).flat())]
			.filter((f) => f.from <= last && f.to >= first)
			.sort((a, b) => a.from - b.from);
	const grow = () => {
		for (; seen < run.events.length; seen++) addRow(run.events[seen]);
		const fresh = run.flown.slice(flown).flatMap(flightOf);
		flown = run.flown.length;
		away = [...away, ...fresh].filter(fly);
	};
	const made = { groups, stops, rows, row, lanes, flying, longest: 0, across, grow };
	grow();
	return made;
}

// The first row in the page when `row` is the newest. Rows leave it twenty at a time: what stays keeps its place.
export const firstRow = (row) => Math.floor(Math.max(0, row - ROWS) / LEAVES) * LEAVES;

// A place between the lanes, `x`, and along the time, `y`, as a point of the picture.
export const turned = (across, x, y) => (across ? [y, x] : [x, y]);

// A point on the way of a frame, 0 at the sender, 1 at the receiver; and the way up to there.
export function point({ x1, y1, x2, y2, loop, across }, t) {
	if (!loop) return turned(across, x1 + (x2 - x1) * t, y1 + (y2 - y1) * t);
	if (t < 0.4) return turned(across, x1 + loop * 2.5 * t, y1);
	return t < 0.6
		? turned(across, x1 + loop, y1 + (y2 - y1) * (5 * t - 2))
		: turned(across, x1 + loop * 2.5 * (1 - t), y2);
}

// Where the envelope of a frame in flight is on its way: beyond the middle, in the part of the picture that is seen.
export const RESTS = 0.6;
export function rests(v, { y1, y2, loop }) {
	const long = v.across ? v.width : v.height,
		seen = v.bottom - long;
	if (loop || y1 + (y2 - y1) * RESTS >= seen + v.u) return RESTS;
	return Math.min(0.95, (seen + long * RESTS - y1) / (y2 - y1));
}

export const way = (g, t) =>
	`M` +
	[0, ...(g.loop ? [0.4, 0.6] : []).filter((turn) => turn < t), t].map((at) => point(g, at).map(rounded)).join("L") +
	``;

export function head(g, r, close) {
	const [x, y] = point(g, 1),
		[x0, y0] = point(g, 0.9),
		turn = Math.atan2(y - y0, x - x0) * 57.3;
	return (
		svg`<path class="head" d="M${-r},${-r * 0.4}L0,0L${-r},${r * 0.4}${close}"` +
		svg` transform="translate(${x},${y}) rotate(${turn})"/>`
	);
}
