// A log as cells by offset, with what two consumers are given of each: what LogTape and Sequence draw logs from.

import "./logs.css";
import { upTo } from "./basics";
import { type GoneBatch, type Log, logOf, offsetsOf } from "./log";
import type { Batch, Field, Op } from "./payload";
import type { Run, State } from "./types";

export type Level = "read_uncommitted" | "read_committed";
export type Outcome = "" | "committed" | "aborted" | "open";
// A batch, its outcome, and why it is gone.
export type Cell = readonly [batch: Batch, outcome: Outcome, why: string];
export type Given = "gets" | "skips" | "waits" | "held" | "never" | "gone";
export type Marks = Pick<Log, "hw" | "lso">;
type Shown = { run: Run; state: State };

// A replica of a partition and its log; `as` stands for the log as long as it stays as it is.
export interface Replica extends Pick<Log, "batches" | "gone" | "hw" | "lso" | "start"> {
	readonly node: string;
	readonly role: string;
	readonly label: string;
	readonly as: Log;
}

export interface LogRecord {
	offset: number;
	key: string;
	value: string;
	entry: Field[];
	headers: string[];
}

export const LEVELS: Level[] = ["read_uncommitted", "read_committed"];
const SIGNS: Record<string, string> = {
	committed: "✓ committed",
	aborted: "✕ aborted",
	open: "… open",
	COMMIT: "✓ COMMIT",
	ABORT: "✕ ABORT",
};
export const READ: Record<Given, string> = {
	gets: "gets it",
	skips: "✕ skips",
	waits: "… waits",
	held: "held up, then skipped",
	never: "",
	gone: "",
};

const VERBS = { gets: "gets", skips: "skips", waits: "waits for", held: "held up, then skipped:" };

// A new record drops into its log.
export const DROP = [
	{ transform: "translateY(-1.6em)", opacity: 0 },
	{ transform: "none", opacity: 1 },
];

type Span = Pick<Batch, "base" | "last">;
export const spanOf = ({ base, last }: Span) => (base === last ? `${base}` : `${base}–${last}`);
export const endOf = ({ start, hw, batches }: Pick<Log, "start" | "hw" | "batches">) =>
	Math.max(start, hw, ...batches.slice(-1).map((b) => b.last + 1));

// Outcomes of batches: by the next marker of their producer.
export function outcomes(batches: Batch[]): Map<Batch, Outcome> {
	const ended: Record<number, Outcome> = {},
		found = new Map<Batch, Outcome>();
	for (const b of batches.toReversed()) {
		if (b.kind !== "data") ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
		else found.set(b, b.txn ? (ended[b.pid] ?? "open") : "");
	}
	return found;
}

// What `make` gives for a log, asked once for as long as the log stays as it is.
const known = new WeakMap<Log, Record<string, unknown>>();
export function once<T>({ as }: Pick<Replica, "as">, what: string, make: () => T): T {
	const kept = known.get(as) ?? {};
	known.set(as, kept);
	kept[what] ??= make();
	return kept[what] as T;
}

// All batches of a log by offset, those that left it too.
export const cellsOf = (log: Replica): Cell[] => once(log, "cells", () => sorted(log));

const goneCell = (b: GoneBatch): Cell => [b, "", b.why];

function sorted({ batches, gone }: Replica): Cell[] {
	const found = outcomes(batches),
		cells = batches.map((b): Cell => [b, found.get(b) ?? "", ""]);
	return [...cells, ...gone.map(goneCell)].sort((x, y) => x[0].base - y[0].base || Number(!x[2]) - Number(!y[2]));
}

export function given(log: Marks, [b, outcome, why]: Cell, level: Level): Given {
	if (why) return "gone";
	if (b.kind !== "data") return "never";
	const behind = b.last >= (level === LEVELS[0] ? log.hw : log.lso);
	if (outcome === "aborted" && level === LEVELS[1]) return behind ? "held" : "skips";
	return behind ? "waits" : "gets";
}

export function reading(log: Marks, cells: Cell[], level: Level): string {
	const found: Record<string, Span[]> = { gets: [], skips: [], waits: [], held: [] };
	for (const cell of cells) {
		const spans = found[given(log, cell, level)],
			before = spans?.at(-1),
			{ base, last } = cell[0];
		if (before && before.last + 1 === base) before.last = last;
		else spans?.push({ base, last });
	}
	const parts = Object.entries(VERBS).flatMap(([state, verb]) =>
		found[state].length ? [`${verb} ${found[state].map(spanOf).join(", ")}`] : [],
	);
	return (found.gets.length ? parts : ["gets nothing", ...parts]).join("; ");
}

const valuesOf = (b: Batch) => b.decoded || b.records.map(([k, v]) => (k ? `${k}=${v}` : v)).join(", ");
export const whoOf = (b: Batch) => (b.pid < 0 ? "" : `pid ${b.pid} e${b.epoch}${b.seq < 0 ? "" : ` seq ${b.seq}`}`);
// What a cell looks like, and the sign of what became of it.
export const looksOf = ([b, outcome, why]: Cell) =>
	why ? "gone" : b.kind === "data" ? outcome || "plain" : `marker ${b.kind}`;
export const signOf = ([b, outcome, why]: Cell) =>
	why ? `− ${why}` : (SIGNS[b.kind === "data" ? outcome : b.kind] ?? "");
export const wordsOf = ([b, outcome, why]: Cell) =>
	[`${spanOf(b)} ${b.kind === "data" ? valuesOf(b) : `${b.kind} marker`}`.trim(), whoOf(b), why || outcome]
		.filter(Boolean)
		.join(" · ");

// The logs of a partition, the leader's first.
export function logsOf({ run, state }: Shown, partition: string, all = false): Replica[] {
	const leader = state.leader[partition],
		{ replicas = leader ? [leader] : [], isr = [] } = state.isr[partition] ?? {},
		first = leader || isr[0];
	const logs = [...replicas]
		.sort((a, b) => Number(a !== first) - Number(b !== first))
		.map((node) => {
			const life = state.node[node] ?? "up",
				role = node === leader ? "leader" : isr.includes(node) ? "in sync" : "out of sync";
			const as = logOf(state, node, partition),
				{ gone, hw, lso, start } = as,
				batches = once({ as }, "batches", () => as.batches);
			const named = { node, role: role + (life === "up" ? "" : `, ${life}`), label: run.label(node) };
			return { ...named, as, batches, gone, hw, lso, start };
		});
	return all ? logs : logs.slice(0, 1);
}

// Where each client's consumer reads the partition next.
export function positionsOf({ run, state }: Shown, partition: string, { hw, lso }: Marks) {
	const known = state.position[partition] ?? {};
	return run.nodes.flatMap(({ id }) => {
		const one = known[id];
		return one ? [{ node: id, ...one, lag: Math.max(0, (one.level === LEVELS[0] ? hw : lso) - one.at) }] : [];
	});
}

export function recordsOf(b: Batch): LogRecord[] {
	if (b.kind !== "data") return [];
	const parts = b.decoded ? b.decoded.split("; ") : [];
	return b.records.map(([key, value], i) => {
		const entry = b.fields?.[i] ?? [],
			offset = offsetsOf(b)[i];
		if (!entry.length && b.decoded) value = parts[i] === `${key}: removed` ? "tombstone: removes the key" : parts[i];
		return { offset, key, value, entry, headers: b.headers?.[i] ?? [] };
	});
}

// Whether entries of several keys are in this log.
export const isKeyed = (log: Replica) =>
	once(log, "keyed", () => new Set(log.batches.flatMap((b) => b.records.map(([key]) => key))).size > 1);

// What these changes touch in logs, as "node partition offset" of a batch and "node partition mark".
export const freshIn = (changes: Op[]): Set<string> =>
	new Set(changes.map((op) => `${op[1]} ${op[2]} ${op[0] === "batch" ? op[3].base : op[0]}`));

// The same of all changes since the previous stop.
export function freshOf({ run, step, stops }: { run: Run; step: number; stops: number[] }): Set<string> {
	const from = stops[upTo(stops.length, (i) => stops[i] < step)] ?? -1;
	return freshIn(run.events.slice(from + 1, step + 1).flatMap((event) => event.patch));
}

// The values of a batch; of an internal topic, where `keyed` is not undefined, its entries. A marker has none.
export const textOf = (b: Batch, keyed?: boolean): string =>
	b.kind !== "data" ? "" : keyed === undefined ? valuesOf(b) : entryWords(b, keyed);

// The entries of a batch of an internal topic in a word each: a transaction's state, a committed offset. `keyed`: with
// their keys.
function entryWords(b: Batch, keyed: boolean): string {
	const words = recordsOf(b).map(({ key, value, entry }) => {
		const { state, partition, offset, generation } = Object.fromEntries(entry);
		if (state && partition === undefined) return `${keyed ? `${key} ` : ""}${state}`;
		if (partition) return `${partition} → ${offset}`;
		if (generation) return `generation ${generation}`;
		return value.startsWith("tombstone") ? `${key} removed` : value;
	});
	return words.join("; ");
}
