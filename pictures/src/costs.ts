// The costs of a run up to a step, by API or by phase: as the rows of kafkalab/history/costs.py.

export type Column = "frames" | "bytes" | "entries" | "round_trips" | "ms";
export type Row = { name: string } & Record<Column, number | null>;

// A round trip: its API; the step, time and size of its request's sending and of its response's; step and time of the
// arrival. A step is -1 where it never came to that, a size where it is not known.
type Trip = [string, number, number, number, number, number, number, number, number];
type Entries = [string, number, number];

export interface Costs {
	trips: Trip[];
	entries: Entries[];
	decided: number[];
	phases: Record<string, string>;
	order: string[];
	start: string;
}

const isPast = (step: number, last: number) => step >= 0 && step <= last;
const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

interface Span {
	begin: number;
	end: number;
	whole: boolean;
}

// How many of these round trips could only come one after another.
function inARow(spans: Span[]) {
	let free = -1,
		rounds = 0;
	for (const { begin, end, whole } of [...spans].sort(
		(a, b) => a.end - b.end || a.begin - b.begin || Number(a.whole) - Number(b.whole),
	)) {
		if (!whole || begin < free) continue;
		free = end;
		rounds += 1;
	}
	return rounds;
}

// How long at least one of them was under way.
function underWay(spans: Span[]) {
	let spent = 0,
		until = -1;
	for (const { begin, end } of [...spans].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
		spent += Math.max(0, end - Math.max(begin, until));
		until = Math.max(until, end);
	}
	return spent;
}

// One row of these trips and entries, as `_row` in costs.py counts them.
function costRow(name: string, trips: Trip[], entries: Entries[], last: number, nowMs: number): Row {
	const sizes = [...trips.map((t) => t[3]), ...trips.filter((t) => isPast(t[4], last)).map((t) => t[6])],
		spans = trips.map((t) => {
			const whole = isPast(t[7], last);
			return { begin: t[2], end: whole ? t[8] : nowMs, whole };
		});
	return {
		name,
		frames: sizes.length,
		bytes: sizes.includes(-1) ? null : sum(sizes),
		entries: sum(entries.map((e) => e[2])),
		round_trips: inARow(spans),
		ms: underWay(spans),
	};
}

function timeAt(trips: Trip[], last: number) {
	const moments = trips.flatMap((t) => [t.slice(1, 3), t.slice(4, 6), t.slice(7, 9)] as Array<[number, number]>);
	return Math.max(0, ...moments.filter(([at]) => at <= last).map(([, ms]) => ms));
}

// The rows at a step, with "all" and, once a transaction was decided, "per transaction"; the row "all"; how many were
// decided.
export function costRows(costs: Costs, by: "api" | "phase", last: number) {
	const trips = costs.trips.filter((t) => t[1] <= last),
		entries = costs.entries.filter((e) => e[1] <= last),
		decided = costs.decided.filter((at) => at <= last).length,
		nowMs = timeAt(trips, last),
		row = (name: string, of: Trip[], with_: Entries[]) => costRow(name, of, with_, last, nowMs),
		nameOf = (api: string) => (by === "api" ? api : (costs.phases[api] ?? "other")),
		counted = [...trips, ...entries].sort((a, b) => a[1] - b[1]),
		names = [...new Set(counted.map(([api]) => nameOf(api)))];
	if (by === "phase") names.sort((a, b) => costs.order.indexOf(a) - costs.order.indexOf(b));
	const among = <T extends Trip | Entries>(all: T[], name: string) => all.filter(([api]) => nameOf(api) === name),
		rows = names.map((name) => row(name, among(trips, name), among(entries, name))),
		whole = row("all", trips, entries);
	rows.push(whole);
	if (decided) {
		const later = trips.filter(([api]) => costs.phases[api] !== costs.start),
			all = row("per transaction", later, entries),
			shared = Object.entries(all).map(([key, value]) => [key, typeof value === "number" ? value / decided : value]);
		rows.push(Object.fromEntries(shared));
	}
	return { rows, whole, decided };
}
