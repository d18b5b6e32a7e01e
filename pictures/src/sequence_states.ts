// What coordinators and leaders remember, below the sequence.
//
// Each transaction has a row with its states as a rail, each group one with its members. Where nothing is
// transactional, each producer has one with the last batches that the leader remembers.

import { html, nothing, render, repeat, scaled } from "./lit";
import { rounded } from "./run";
import type { Rail, View } from "./sequence_view";
import type { State } from "./types";

const MOST_ROWS = 2,
	MEMORY = 5;
// Column and row of each state on the rail.
const RAIL: Record<string, [number, number]> = {
	Empty: [0, 0.5],
	Ongoing: [1, 0.5],
	PrepareCommit: [2, 0],
	CompleteCommit: [3, 0],
	PrepareAbort: [2, 1],
	CompleteAbort: [3, 1],
};
const RAIL_EDGES = [
	["Empty", "Ongoing"],
	["Ongoing", "PrepareCommit"],
	["Ongoing", "PrepareAbort"],
	["PrepareCommit", "CompleteCommit"],
	["PrepareAbort", "CompleteAbort"],
];
type Held = State["txns"][string];

// Where the states of a rail stand, for the view's font: by name [left, top, width, height].
export function railOf(v: View): Rail {
	const { u, pen, root } = v,
		narrow = root.clientWidth < u * 60,
		high = u * 1.2,
		gap = u * (narrow ? 0.5 : 1.7),
		wide = (name: string) => pen.measureText(name).width + u * (narrow ? 1.35 : 1.9),
		widest = (c: number) => Math.max(...Object.keys(RAIL).map((s) => (RAIL[s][0] === c ? wide(s) : 0))),
		columns = [0, 1, 2, 3].map(widest),
		left = (c: number) => columns.slice(0, c).reduce((sum, w) => sum + w + gap, 2),
		placeOf = ([c, r]: [number, number]) => [left(c), 2 + r * (high + u * 0.25), columns[c], high],
		places = Object.fromEntries(Object.entries(RAIL).map(([s, at]) => [s, placeOf(at)]));
	return { places: places as Rail["places"], width: left(4) - gap + 4, height: 2 * high + u * 0.25 + 4 };
}

function edgeOf({ places }: Rail, [a, b]: string[], t: Held) {
	const [x1, y1, w1, h1] = places[a],
		[x2, y2, , h2] = places[b],
		fired = t.pending ? [t.state, t.pending] : t.via || [],
		how = a === fired[0] && b === fired[1] ? (t.pending ? " pending" : " fired") : "";
	return scaled`<path class="edge${how}" d="M${x1 + w1},${y1 + h1 / 2}L${x2},${y2 + h2 / 2}"></path>`;
}

function railMarkup(v: View, t: Held, place: number) {
	const { places, width, height } = v.rail,
		extra = [...new Set([t.state, t.pending])].filter((s) => s && !(s in places));
	const state = ([name, [left, top, wide, high]]: [string, Rail["places"][string]]) => {
			const mode = name === t.state ? " active" : name === t.pending ? " pending" : "",
				id = `${v.prefix}${place}-s_${name}`;
			return scaled`<g class="state${mode}" id=${id}><rect x=${left} y=${top} width=${wide} height=${high}
				rx=${high / 2}></rect><text x=${left + wide / 2 + high * 0.2} y=${top + high * 0.74}>${name}</text></g>`;
		},
		edges = RAIL_EDGES.map((e) => edgeOf(v.rail, e, t)),
		token = scaled`<circle class="token" r=${v.u * 0.3}></circle>`;
	return html`<svg width=${rounded(width)} height=${rounded(height)} aria-hidden="true">${edges}${Object.entries(
		places,
	).map(state)}${token}</svg>${extra.map(
		(s) => html`<b class="extra ${s === t.state ? "active" : "pending"}">${s}</b>`,
	)}`;
}

function transactionOf(v: View, tid: string, place: number) {
	const t = v.state.txns[tid],
		pending = t.pending ? html`<i data-txn-pending=${t.pending}>→ ${t.pending}, pending</i>` : nothing,
		where = t.partitions.length ? ` · in ${t.partitions.join(", ")}` : "",
		title = `${tid}: ${t.state}, producer ${t.producer_id} epoch ${t.epoch}${where}`;
	return html`<div class="held txn${tid === v.txnId ? " current" : ""}" data-txn=${tid} title=${title}>
		<div class="label txn-coordinator"><b>${tid}</b> <small>on ${v.run.label(t.node)}</small><small
		class="known">producer <b>${t.producer_id}</b>, epoch <b>${t.epoch}</b></small></div>
		<div class="rail" role="img" aria-label=${t.state}>${railMarkup(v, t, place)}</div>
		<p><b class="word" data-txn-state=${t.state}>${t.state}</b>${pending}<small>${where.slice(3)}</small></p></div>`;
}

function groupOf(v: View, name: string) {
	const { state, generation, members = {}, node } = v.state.group[name],
		who = Object.entries(members).map(([id, partitions]) => `${id}: ${[partitions].flat().join(", ") || "nothing"}`),
		told = `generation ${generation} · ${who.join(" · ") || "no members"}`;
	return html`<div class="held group" data-group=${name} title=${told}>
		<div class="label group-coordinator"><b>${name}</b> <small>on ${v.run.label(node)}</small></div>
		<b class="extra active">${state}</b><p><small>${told}</small></p></div>`;
}

const span = ([first, last]: [number, number, number]) => (first === last ? first : `${first}–${last}`);

// The batches that leaders remember of each producer id, newest last; `remembered` is told by the kernel.
function memories({ state, run }: View) {
	if (Object.keys(state.txns).length) return [];
	return run.partitions.flatMap((partition) => {
		const leader = state.leader[partition],
			known = Object.entries(state.memory[`${leader} ${partition}`] ?? {});
		return known.map(([pid, { epoch, batches }]) => {
			const slots = Array.from({ length: MEMORY }, (_, i) => batches[i]).map((b) =>
				b
					? html`<span class="slot" title="offset ${b[2]}">seq <b>${span(b)}</b></span>`
					: html`<span class="slot none">–</span>`,
			);
			return html`<div class="held memory" data-memory="${partition} ${pid}"><div class="label leader">
				<b>${partition}</b> <small>on ${run.label(leader)}</small></div><div class="slots">${slots}</div>
				<p><small>the last five batches of producer <b>${pid}</b>, epoch <b>${epoch}</b></small></p></div>`;
		});
	});
}

export function drawStates(v: View) {
	const { txns, group } = v.state,
		touched = v.run.events[v.step]?.patch.findLast(([op]) => op === "txn")?.[1] as string | undefined;
	v.txnId = touched ?? (v.txnId && v.txnId in txns ? v.txnId : Object.keys(txns).at(-1));
	const recent = [...new Set([v.txnId ?? "", ...v.recent, ...Object.keys(txns)])].filter((tid) => tid in txns);
	v.recent = recent.slice(0, MOST_ROWS);
	const rows = Object.keys(txns).filter((tid) => v.recent.includes(tid)),
		groups = Object.keys(group).slice(-MOST_ROWS);
	render(
		html`${repeat(
			rows,
			(tid) => tid,
			(tid, i) => transactionOf(v, tid, i),
		)}${groups.map((name) => groupOf(v, name))}${memories(v)}`,
		v.$("states"),
	);
	placeTokens(v, rows);
}

// Each rail's token is at its state, and passes there along the way that it came.
function placeTokens(v: View, rows: string[]) {
	const { places } = v.rail,
		tokens = v.$("states").querySelectorAll<SVGElement>(".token"),
		at = (name: string) => {
			const [left, top, , high] = places[name];
			return `translate(${rounded(left + high * 0.5)}px, ${rounded(top + high / 2)}px)`;
		};
	rows.forEach((tid, i) => {
		const { state } = v.state.txns[tid],
			token = tokens[i],
			old = v.tokens[tid];
		token.style.display = state in places ? "" : "none";
		if (!(state in places)) return;
		token.style.transform = at(state);
		if (old && old !== state && old in places)
			v.move(token, [{ transform: at(old) }, { transform: at(state) }], undefined, 420);
		v.tokens[tid] = state;
	});
}
