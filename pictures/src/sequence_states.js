// What coordinators and leaders remember, below the sequence.
//
// Each transaction has a row with its states as a rail, each group one with its members. Where nothing is
// transactional, each producer has one with the last batches that the leader remembers.

import { esc, rounded, svg, sync } from "./run";

const MOST_ROWS = 2,
	MEMORY = 5;
// Column and row of each state on the rail.
const RAIL = {
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

// Where the states of a rail stand, for the view's font: by name [left, top, width, height].
export function railOf(v) {
	const { u, pen, root } = v,
		narrow = root.clientWidth < u * 60,
		high = u * 1.2,
		gap = u * (narrow ? 0.5 : 1.7),
		wide = (name) => pen.measureText(name).width + u * (narrow ? 1.35 : 1.9),
		columns = [0, 1, 2, 3].map((c) => Math.max(...Object.keys(RAIL).map((s) => (RAIL[s][0] === c ? wide(s) : 0))));
	const left = (c) => columns.slice(0, c).reduce((sum, w) => sum + w + gap, 2),
		places = Object.fromEntries(
			Object.entries(RAIL).map(([s, [c, r]]) => [s, [left(c), 2 + r * (high + u * 0.25), columns[c], high]]),
		);
	return { places, width: left(4) - gap + 4, height: 2 * high + u * 0.25 + 4 };
}

function railMarkup(v, t, place) {
	const { places, width, height } = v.rail,
		fired = t.pending ? [t.state, t.pending] : t.via || [],
		extra = [...new Set([t.state, t.pending])].filter((s) => s && !(s in places));
	const edge = ([a, b], how) => {
		const [x1, y1, w1, h1] = places[a],
			[x2, y2, , h2] = places[b];
		return svg`<path class="edge${how}" d="M${x1 + w1},${y1 + h1 / 2}L${x2},${y2 + h2 / 2}"/>`;
	};
	const how = ([a, b]) => (a === fired[0] && b === fired[1] ? (t.pending ? " pending" : " fired") : "");
	const edges = RAIL_EDGES.map((e) => edge(e, how(e))).join("");
	const state = (name) => {
		const [left, top, wide, high] = places[name],
			mode = name === t.state ? " active" : name === t.pending ? " pending" : "";
		const text = svg`<text x="${left + wide / 2 + high * 0.2}" y="${top + high * 0.74}">${name}</text>`;
		return (
			svg`<g class="state${mode}" id="${v.prefix}${place}-s_${name}"><rect x="${left}" y="${top}" width="${wide}"` +
			svg` height="${high}" rx="${high / 2}"/>${text}</g>`
		);
	};
	const more = extra.map((s) => `<b class="extra ${s === t.state ? "active" : "pending"}">${esc(s)}</b>`);
	return (
		svg`<svg width="${width}" height="${height}" aria-hidden="true">${edges}` +
		`${Object.keys(places).map(state).join("")}<circle class="token" r="${rounded(v.u * 0.3)}"/></svg>${more.join("")}`
	);
}

function transactionMarkup(v, tid, place, current) {
	const t = v.state.txns[tid],
		pending = t.pending ? `<i data-txn-pending="${t.pending}">→ ${t.pending}, pending</i>` : "",
		where = t.partitions.length ? ` · in ${t.partitions.join(", ")}` : "";
	const known = `producer <b>${t.producer_id}</b>, epoch <b>${t.epoch}</b>`;
	return (
		`<div class="held txn${current ? " current" : ""}" data-txn="${esc(tid)}"` +
		` title="${esc(`${tid}: ${t.state}, producer ${t.producer_id} epoch ${t.epoch}${where}`)}">` +
		`<div class="label txn-coordinator"><b>${esc(tid)}</b> <small>on ${esc(v.run.label(t.node))}</small>` +
		`<small class="known">${known}</small></div>` +
		`<div class="rail" role="img" aria-label="${t.state}">${railMarkup(v, t, place)}</div>` +
		`<p><b class="word" data-txn-state="${t.state}">${t.state}</b>${pending}` +
		`<small>${esc(where.slice(3))}</small></p></div>`
	);
}

function groupMarkup(v, name) {
	const { state, generation, members = {}, node } = v.state.group[name],
		who = Object.entries(members).map(([id, partitions]) => `${id}: ${[].concat(partitions).join(", ") || "nothing"}`);
	const told = `generation ${generation} · ${who.join(" · ") || "no members"}`;
	return (
		`<div class="held group" data-group="${esc(name)}" title="${esc(told)}">` +
		`<div class="label group-coordinator"><b>${esc(name)}</b> <small>on ${esc(v.run.label(node))}</small></div>` +
		`<b class="extra active">${esc(state)}</b><p><small>${esc(told)}</small></p></div>`
	);
}

// The batches that leaders remember of each producer id, newest last; `remembered` is told by the kernel.
function memoryItems(v) {
	const { state, run } = v;
	if (Object.keys(state.txns).length) return [];
	return run.partitions.flatMap((partition) => {
		const leader = state.leader[partition],
			known = state.memory[`${leader} ${partition}`] ?? {};
		return Object.entries(known).map(([pid, { epoch, batches }]) => {
			const slots = Array.from({ length: MEMORY }, (_, i) => batches[i]);
			const cells = slots.map((b) =>
				b
					? `<span class="slot" title="offset ${esc(b[2])}">seq <b>${b[0] === b[1] ? b[0] : `${b[0]}–${b[1]}`}</b></span>`
					: `<span class="slot none">–</span>`,
			);
			const place = `${partition} ${pid}`;
			return [
				`memory ${place}`,
				`<div class="held memory" data-memory="${esc(place)}"><div class="label leader">` +
					`<b>${esc(partition)}</b> <small>on ${esc(run.label(leader))}</small></div>` +
					`<div class="slots">${cells.join("")}</div><p><small>the last five batches of producer ` +
					`<b>${pid}</b>, epoch <b>${epoch}</b></small></p></div>`,
			];
		});
	});
}

export function drawStates(v) {
	const { txns, group } = v.state,
		touched = v.run.events[v.step]?.patch.findLast(([op]) => op === "txn")?.[1];
	v.txnId = touched ?? (v.txnId in txns ? v.txnId : Object.keys(txns).at(-1));
	const recent = [...new Set([v.txnId, ...(v.recent ?? []), ...Object.keys(txns)])].filter((tid) => tid in txns);
	v.recent = recent.slice(0, MOST_ROWS);
	const rows = Object.keys(txns).filter((tid) => v.recent.includes(tid));
	sync(v.$("states"), [
		...rows.map((tid, i) => [`txn ${tid}`, transactionMarkup(v, tid, i, tid === v.txnId)]),
		...Object.keys(group)
			.slice(-MOST_ROWS)
			.map((name) => [`group ${name}`, groupMarkup(v, name)]),
		...memoryItems(v),
	]);
	placeTokens(v, rows);
}

// Each rail's token is at its state, and passes there along the way that it came.
function placeTokens(v, rows) {
	const { places } = v.rail;
	v.tokens ??= {};
	for (const tid of rows) {
		const { state } = v.state.txns[tid],
			token = v.$("states").kept.get(`txn ${tid}`).querySelector(".token"),
			at = (name) => {
				const [left, top, , high] = places[name];
				return `translate(${rounded(left + high * 0.5)}px, ${rounded(top + high / 2)}px)`;
			};
		token.style.display = state in places ? "" : "none";
		if (!(state in places)) continue;
		token.style.transform = at(state);
		const old = v.tokens[tid];
		if (old && old !== state && old in places)
			v.move(token, [{ transform: at(old) }, { transform: at(state) }], null, 420);
		v.tokens[tid] = state;
	}
}
