// A run: the state at a step as a fold over the patches of its events, what an arrival led to, where the cursor stops.

import "./shared.css";
import { type Log, cleaned, logOf } from "./log";
import type { Category, Frame, Op, RunEvent, RunNode } from "./payload";
import type { Run, State } from "./types";
import { type Unpacked, unpacked } from "./unpack";

export * from "./basics";
export * from "./journey";
export * from "./log";

const CHECKPOINT = 64;

const empty = (): State => ({
	node: {},
	roles: {},
	leader: {},
	client: {},
	logs: {},
	txns: {},
	producers: {},
	group: {},
	isr: {},
	cut: {},
	held: {},
	memory: {},
	position: {},
});

type Owned = Set<keyof State>;

// The state with `value` in one of its maps. Maps named in `own` belong to the caller and are changed in place; any
// other is copied, and then belongs to the caller too.
function put(state: State, own: Owned, map: keyof State, key: string, value: unknown): State {
	if (!own.has(map)) state = { ...state, [map]: { ...state[map] } };
	own.add(map);
	(state[map] as Record<string, unknown>)[key] = value;
	return state;
}

// A replica's log after a change of it.
function changed(log: Log, op: Op): Log | undefined {
	switch (op[0]) {
		case "batch":
			return log.with(op[3]);
		case "truncate":
			return log.before(op[3]);
		case "cleaned": {
			const left = new Set(op[3]);
			return log.kept("compacted", (batch) => cleaned(batch, left, op[4]));
		}
		case "start":
			return log.kept("deleted", (batch) => batch.last >= op[3] && batch).change({ start: op[3] });
		case "hw":
		case "lso":
			return log.change({ [op[0]]: op[3] });
	}
	return undefined;
}

// The state after a change; `own` as for `put`.
function apply(state: State, op: Op, own: Owned): State {
	switch (op[0]) {
		case "node":
		case "roles":
		case "leader":
		case "held":
		case "group":
			return put(state, own, op[0], op[1], op[2]);
		case "memory":
			return put(state, own, op[0], `${op[1]} ${op[2]}`, op[3]);
		case "position": {
			const [, client, partition, at, level] = op,
				known = { ...state.position[client], [partition]: at < 0 ? undefined : { at, level } };
			return put(state, own, op[0], client, known);
		}
		case "cut":
			return put(state, own, op[0], [op[1], op[2]].sort().join(" "), op[3]);
		case "isr":
			return put(state, own, op[0], op[1], { replicas: op[2], isr: op[3] });
		case "client": {
			const [, node, known] = op;
			state = put(state, own, "client", node, { ...state.client[node], ...known });
			return "tid" in known ? put(state, own, "producers", `${node} ${known.tid}`, { ...known, node }) : state;
		}
		case "txn": {
			const [, tid, known] = op,
				old = state.txns[tid],
				came: false | [string, string] = old?.node === known.node && [old.state, known.state];
			return put(state, own, "txns", tid, { ...known, via: known.pending ? old?.via : came });
		}
		default:
			return put(state, own, "logs", `${op[1]} ${op[2]}`, changed(logOf(state, op[1], op[2]), op));
	}
}

function fold(state: State, changes: Op[], own: Owned): State {
	for (const change of changes) state = apply(state, change, own);
	return state;
}

// What is kept of a run beside what pictures read: the state at every so many steps, at its end and where one looked
// last; by step what was caused by it.
interface Index {
	readonly run: Run;
	readonly led: Map<number, RunEvent[]>;
	readonly labels: Record<string, string>;
	readonly checkpoints: State[];
	state: State;
	own: Owned;
	memo: [number, State];
}

function know({ run, labels, state }: Index, { id, label }: RunNode) {
	run.life[id] ??= [[-1, state.node[id] ?? "up"]];
	labels[id] = label;
}

function fly({ frames, flown, apis }: Run, frame: Frame) {
	const known = frames[frame.id];
	if (known) return void Object.defineProperties(known, Object.getOwnPropertyDescriptors(frame));
	frames[frame.id] = frame;
	flown.push(frame);
	apis.set(apiOf(frame), frame.category);
}

function happen(index: Index, event: RunEvent) {
	const { run, led, checkpoints } = index;
	if (event.step % CHECKPOINT === 0) {
		checkpoints.push(index.state);
		index.own = new Set();
	}
	run.events.push(event);
	for (const op of event.patch) if (op[0] === "node") run.life[op[1]]?.push([event.step, op[2]]);
	if (event.cause >= 0) {
		const others = led.get(event.cause);
		if (others) others.push(event);
		else led.set(event.cause, [event]);
	}
	index.state = fold(index.state, event.patch, index.own);
}

// Adds a part of the payload of a run that goes on.
function grow(index: Index, text: string) {
	const { run } = index,
		{ events, frames, marks, ends, meanings, tails, chapters, folds, ranks, ...rest }: Unpacked = unpacked(text);
	if (tails) {
		run.chapters.splice(tails.chapters, Infinity, ...chapters);
		run.folds.splice(tails.folds, Infinity, ...folds);
		run.ranks.length = tails.ranks;
		for (const rank of ranks) run.ranks.push(rank); // too many to be spread
	} else Object.assign(run, { chapters, folds, ranks });
	Object.assign(run, rest);
	Object.assign(run.marks, marks);
	Object.assign(run.ends, ends);
	Object.assign(run.meanings, meanings);
	if (!run.events.length) index.state = fold(index.state, run.initial, index.own);
	for (const node of run.nodes) know(index, node);
	for (const frame of Object.values(frames)) fly(run, frame);
	for (const event of events) happen(index, event);
	run.last = run.events.length - 1;
}

function stateAt(index: Index, step: number): State {
	const { run, checkpoints, memo } = index,
		k = Math.min(Math.floor((step + 1) / CHECKPOINT), checkpoints.length - 1),
		near = memo[0] <= step && memo[0] >= k * CHECKPOINT - 1,
		own: Owned = new Set();
	let [from, state] = near ? memo : [k * CHECKPOINT - 1, checkpoints[k]];
	while (from < step) state = fold(state, run.events[++from].patch, own);
	index.memo = [step, state];
	return state;
}

// The step's own frame, or that of the nearest cause that has one. What was pressed on a node has no frame as its
// cause.
function frameAt({ events, frames }: Run, step: number): Frame | undefined {
	let event: RunEvent | undefined = events[step];
	while (event && !frames[event.frame]) event = /^(crash|fault)$/.test(event.kind) ? undefined : events[event.cause];
	return event && frames[event.frame];
}

const inOrder = (events: RunEvent[]) => events.sort((a, b) => a.step - b.step);

// What the arrival of a frame led to until `step`, not beyond the next arrival.
function causedBy({ led }: Index, { received }: Frame, step: number): RunEvent[] {
	const found: RunEvent[] = [],
		open = received === null ? [] : [received];
	for (const from of open) {
		for (const event of led.get(from) ?? []) {
			if (event.step > step || event.kind === "receive" || event.category === "replication") continue;
			found.push(event);
			if (event.kind !== "send") open.push(event.step);
		}
	}
	return inOrder(found);
}

// What leaders appended until `step` because of a frame, also by way of further frames between servers; its
// replication is on that way.
function appendedBy({ run, led }: Index, { received }: Frame, step: number): RunEvent[] {
	const found: RunEvent[] = [],
		open = received === null ? [] : [received],
		seen = new Set(open),
		clients = new Set(run.nodes.filter((n) => n.kind === "client").map((n) => n.id));
	for (const from of open) {
		for (const event of led.get(from) ?? []) {
			if (event.step > step || seen.has(event.step) || (event.kind === "receive" && clients.has(event.node))) continue;
			seen.add(event.step);
			open.push(event.step);
			if (event.kind === "append" && event.category !== "replication") found.push(event);
		}
	}
	return inOrder(found);
}

// Index a payload for the views: state at a step, causes, fates. The time of a lookup does not grow with the run.
export function openRun(text: string): Run {
	const lists = { events: [], frames: {}, marks: {}, ends: {}, meanings: {}, life: {}, flown: [], apis: new Map() },
		run = lists as Partial<Run> as Run, // `grow` adds what the payload has
		state = empty(),
		index: Index = { run, led: new Map(), labels: {}, checkpoints: [], state, own: new Set(), memo: [-1, state] };
	grow(index, text);
	index.memo = [-1, index.checkpoints[0] ?? index.state];
	return Object.assign(run, {
		grow: (text: string) => grow(index, text),
		label: (id: string) => index.labels[id] ?? id,
		end: (f: Frame) => f.received ?? run.ends[f.id] ?? Infinity,
		fate: (f: Frame, step: number) => (step < run.end(f) ? "in flight" : f.fate),
		at: (step: number) => stateAt(index, step),
		frameAt: (step: number) => frameAt(run, step),
		caused: (f: Frame, step: number) => causedBy(index, f, step),
		appended: (f: Frame, step: number) => appendedBy(index, f, step),
	});
}

// ---- at which steps the cursor stops ----

export const ALWAYS = new Set(["fault", "crash", "recover"]);
export const apiOf = (frame: Frame) => frame.name.replace(/Response$/, "");

// Whether an event, or its frame, has nothing to do with the nodes, APIs and transactions that are hidden.
export function isShown(run: Run, event: RunEvent, hidden: ReadonlySet<string>): boolean {
	if (!hidden.size || ALWAYS.has(event.kind)) return true;
	if (hidden.has(event.txn)) return false;
	const f = run.frames[event.frame];
	return f ? ![apiOf(f), f.from, f.to].some((name) => hidden.has(name)) : !hidden.has(event.node);
}

// Whether the cursor stops at an event when these groups are visible and these things hidden.
export const isStop = (run: Run, e: RunEvent, groups: ReadonlySet<string>, hidden: ReadonlySet<string>) =>
	e.stop && (groups.has(e.category) || ALWAYS.has(e.kind)) && isShown(run, e, hidden);

// The steps at which it stops.
export const stopsOf = (run: Run, groups: ReadonlySet<string>, hidden: ReadonlySet<string> = new Set<Category>()) =>
	run.events.filter((e) => isStop(run, e, groups, hidden)).map((e) => e.step);
