// A log as cells by offset, with what two consumers are given of each: what LogTape and Sequence draw logs from.

import "./logs.css";
import { esc, logOf, offsetsOf } from "./run";

export const LEVELS = ["read_uncommitted", "read_committed"];
export const SIGNS = {
	committed: "✓ committed",
	aborted: "✕ aborted",
	open: "… open",
	COMMIT: "✓ COMMIT",
	ABORT: "✕ ABORT",
};
export const READ = {
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

export const spanOf = ({ base, last }) => (base === last ? `${base}` : `${base}–${last}`);
export const endOf = ({ start, hw, batches }) => Math.max(start, hw, ...batches.slice(-1).map((b) => b.last + 1));

// Outcomes of batches: by the next marker of their producer.
export function outcomes(batches) {
	const ended = {},
		found = new Map();
	for (let i = batches.length - 1; i >= 0; i--) {
		const b = batches[i];
		if (b.kind !== "data") ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
		else found.set(b, b.txn ? (ended[b.pid] ?? "open") : "");
	}
	return found;
}

// What `make` gives for a log, asked once for as long as the log stays as it is.
const known = new WeakMap();
export function once({ as }, what, make) {
	const kept = known.get(as) ?? {};
	known.set(as, kept);
	return (kept[what] ??= make());
}

// All batches of a log by offset, those that left it too: [batch, outcome, why it is gone].
export const cellsOf = (log) => once(log, "cells", () => sorted(log));

function sorted({ batches, gone }) {
	const found = outcomes(batches);
	return [...batches.map((b) => [b, found.get(b) ?? "", ""]), ...gone.map((b) => [b, "", b.why])].sort(
		(x, y) => x[0].base - y[0].base || !x[2] - !y[2],
	);
}

export function given(log, [b, outcome, why], level) {
	if (why) return "gone";
	if (b.kind !== "data") return "never";
	const behind = b.last >= (level === LEVELS[0] ? log.hw : log.lso);
	if (outcome === "aborted" && level === LEVELS[1]) return behind ? "held" : "skips";
	return behind ? "waits" : "gets";
}

export function reading(log, cells, level) {
	const found = Object.fromEntries(Object.keys(VERBS).map((state) => [state, []]));
	for (const cell of cells) {
		const spans = found[given(log, cell, level)],
			{ base, last } = cell[0];
		if (spans?.at(-1)?.last + 1 === base) spans.at(-1).last = last;
		else spans?.push({ base, last });
	}
	const parts = Object.entries(found).flatMap(([state, spans]) =>
		spans.length ? [`${VERBS[state]} ${spans.map(spanOf).join(", ")}`] : [],
	);
	return (found.gets.length ? parts : ["gets nothing", ...parts]).join("; ");
}

export const valuesOf = (b) => b.decoded || b.records.map(([k, v]) => (k ? `${k}=${v}` : v)).join(", ");
export const whoOf = (b) => (b.pid < 0 ? "" : `pid ${b.pid} e${b.epoch}${b.seq < 0 ? "" : ` seq ${b.seq}`}`);
export const wordsOf = ([b, outcome, why]) =>
	[`${spanOf(b)} ${b.kind === "data" ? valuesOf(b) : `${b.kind} marker`}`.trim(), whoOf(b), why || outcome]
		.filter(Boolean)
		.join(" · ");

// The logs of a partition, the leader's first: [{node, role, ...log}].
export function logsOf({ run, state }, partition, all) {
	const leader = state.leader[partition],
		{ replicas = leader ? [leader] : [], isr = [] } = state.isr[partition] ?? {},
		first = leader || isr[0];
	const logs = [...replicas]
		.sort((a, b) => (a !== first) - (b !== first))
		.map((node) => {
			const life = state.node[node] ?? "up",
				role = node === leader ? "leader" : isr.includes(node) ? "in sync" : "out of sync";
			const as = logOf(state, node, partition),
				{ gone, hw, lso, start } = as,
				batches = once({ as }, "batches", () => as.batches);
			return {
				node,
				role: role + (life === "up" ? "" : `, ${life}`),
				label: run.label(node),
				as,
				batches,
				gone,
				hw,
				lso,
				start,
			};
		});
	return all ? logs : logs.slice(0, 1);
}

// Where each client's consumer reads the partition next: [{node, at, lag}].
export function positionsOf({ run, state }, partition, { hw, lso }) {
	const known = state.position[partition] ?? {};
	return run.nodes.flatMap(({ id }) => {
		if (!known[id]) return [];
		const { at, level } = known[id];
		return [{ node: id, at, level, lag: Math.max(0, (level === LEVELS[0] ? hw : lso) - at) }];
	});
}

export function recordsOf(b) {
	if (b.kind !== "data") return [];
	const parts = b.decoded ? b.decoded.split("; ") : [];
	return b.records.map(([key, value], i) => {
		const entry = b.fields?.[i] ?? [],
			offset = offsetsOf(b)[i];
		if (!entry.length && b.decoded) value = parts[i] === `${key}: removed` ? "tombstone: removes the key" : parts[i];
		return { offset, key, value, entry, headers: b.headers?.[i] ?? [] };
	});
}

// Values; of an internal topic each key and its decoded entry, of a tombstone that it removes the key.
export const textOf = (b) =>
	b.decoded
		? recordsOf(b)
				.map(({ key, value }, i) => {
					const part = b.decoded.split("; ")[i] ?? "",
						entry = part.startsWith(`${key}: `) ? part.slice(key.length + 2) : part;
					return `<b class="key">${esc(key)}</b> ${value.startsWith("tombstone") ? "<i>tombstone</i>" : esc(entry)}`;
				})
				.join("; ")
		: esc(valuesOf(b));
