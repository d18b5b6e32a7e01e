// What all views share: the journey's model, the run that it shows as a fold over patches, markup, presses.

import "./shared.css";
import { unpacked } from "./unpack";

const CHECKPOINT = 64,
	SAVE_MS = 300, // longer than between two presses of one who walks fast: the kernel's answer costs a frame or two
	PATIENCE_MS = 20000;

export const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
export const time = (ms) => (ms < 10000 ? `${ms} ms` : `${(ms / 1000).toFixed(3)} s`);
// A reason as a sentence; a name with a number, such as b2, stays as it is.
export const asSentence = (text) =>
	text && text.replace(/^(?!\w*\d)./, (first) => first.toUpperCase()) + (/[.?]$/.test(text) ? "" : ".");
export const breakable = (text) => esc(text).replaceAll("_", "_<wbr>");
export const rounded = (value) => (typeof value === "number" ? Math.round(value * 10) / 10 : value);
// Whether less motion is asked for.
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export const svg = (texts, ...values) => texts.reduce((all, text, i) => all + rounded(values[i - 1]) + text);

// The last index below `count` for which `holds`, where it holds for a first part only; -1 for none.
export function upTo(count, holds) {
	for (let low = 0; ; ) {
		if (low >= count) return low - 1;
		const middle = (low + count) >> 1;
		if (holds(middle)) low = middle + 1;
		else count = middle;
	}
}

// ---- the run ----

// A replica's log: the first `count` of batches that it shares with the logs that it grew out of and into; the batches
// that have left it, each with why, until others take their place; where it begins and its marks.
class Log {
	constructor(known = { all: [], count: 0, gone: [], hw: 0, lso: 0, start: 0 }, changed = {}) {
		Object.assign(this, known, changed);
	}
	get batches() {
		return this.last(this.count);
	}
	last(count) {
		return this.all.slice(Math.max(0, this.count - count), this.count);
	}
	with(batch) {
		const { all, count, gone } = this,
			left = gone.length ? gone.filter((b) => b.last < batch.base) : gone;
		if (count && all[count - 1].base > batch.base) {
			// of a recorded run: a reader learned of it after what was written behind it
			const sorted = [...this.batches, batch].sort((a, b) => a.base - b.base);
			return new Log(this, { all: sorted, count: count + 1 });
		}
		if (all.length === count) all.push(batch);
		else if (all[count] !== batch)
			return new Log(this, { all: [...this.batches, batch], count: count + 1, gone: left });
		return new Log(this, { count: count + 1, gone: left });
	}
	before(offset) {
		const count = upTo(this.count, (i) => this.all[i].base < offset) + 1,
			{ hw, lso } = this;
		return new Log(this, {
			count,
			gone: this.left(this.all.slice(count, this.count), "truncated"),
			hw: Math.min(hw, offset),
			lso: Math.min(lso, offset),
		});
	}
	// With only what `keep` makes of each batch; nothing: the batch is gone.
	kept(why, keep) {
		const { batches } = this,
			kept = batches.map(keep),
			all = kept.filter(Boolean);
		return new Log(this, {
			all,
			count: all.length,
			gone: this.left(
				batches.filter((_, i) => !kept[i]),
				why,
			),
		});
	}
	left(batches, why) {
		return [...this.gone, ...batches.map((batch) => ({ ...batch, why }))].sort((a, b) => a.base - b.base);
	}
	marked(which, offset) {
		return new Log(this, { [which]: offset });
	}
}

export const logOf = (state, node, partition) => state.logs[`${node} ${partition}`] ?? new Log();
export const offsetsOf = ({ offs, base, records }) => offs ?? records.map((_, i) => base + i);

// A batch with the records that compaction up to `end` has left; nothing if there are none.
function cleaned(batch, left, end) {
	const offs = offsetsOf(batch),
		kept = offs.flatMap((offset, i) => (offset >= end || left.has(offset) ? [i] : []));
	if (!kept.length || kept.length === offs.length) return kept.length ? batch : undefined;
	const pick = (all) => kept.map((i) => all[i]),
		parts = batch.decoded ? batch.decoded.split("; ") : [],
		{ fields, headers } = batch;
	return {
		...batch,
		records: pick(batch.records),
		offs: pick(offs),
		decoded: parts.length === offs.length ? pick(parts).join("; ") : batch.decoded,
		...(fields && { fields: pick(fields) }),
		...(headers && { headers: pick(headers) }),
	};
}

// The state after a change. Maps named in `own` belong to the caller and are changed in place; any other is copied, and
// then belongs to the caller too.
function apply(state, [op, a, b, c, d], own) {
	const put = (map, key, value) => {
		if (own.has(map)) state[map][key] = value;
		else state = { ...state, [map]: { ...state[map], [key]: value } };
		own.add(map);
		return state;
	};
	const log = (changed) => put("logs", `${a} ${b}`, changed);
	const old = state.txns[a];
	switch (op) {
		case "node":
		case "roles":
		case "leader":
		case "held":
		case "group":
			return put(op, a, b);
		case "memory":
			return put(op, `${a} ${b}`, c);
		case "position":
			return put(op, a, { ...state.position[a], [b]: c < 0 ? undefined : { at: c, level: d } });
		case "cut":
			return put(op, [a, b].sort().join(" "), c);
		case "isr":
			return put(op, a, { replicas: b, isr: c });
		case "client":
			put(op, a, { ...state.client[a], ...b });
			return "tid" in b ? put("producers", `${a} ${b.tid}`, { ...b, node: a }) : state;
		case "batch":
			return log(logOf(state, a, b).with(c));
		case "truncate":
			return log(logOf(state, a, b).before(c));
		case "cleaned": {
			const left = new Set(c);
			return log(logOf(state, a, b).kept("compacted", (batch) => cleaned(batch, left, d)));
		}
		case "start":
			return log(
				logOf(state, a, b)
					.kept("deleted", (batch) => batch.last >= c && batch)
					.marked(op, c),
			);
		case "hw":
		case "lso":
			return log(logOf(state, a, b).marked(op, c));
		case "txn":
			return put("txns", a, { ...b, via: b.pending ? old?.via : old?.node === b.node && [old.state, b.state] });
	}
	return state;
}

// Index a payload for the views: state at a step, causes, fates. The time of a lookup does not grow with the run.
// `grow` adds a part of the payload of a run that goes on.
export function openRun(text) {
	const checkpoints = [],
		led = new Map(),
		labels = {},
		events = [],
		frames = {},
		run = { events, frames, marks: {}, ends: {}, meanings: {}, life: {}, flown: [], apis: new Map() };
	const fold = (state, changes, own) => {
		for (const change of changes) state = apply(state, change, own);
		return state;
	};
	let own = new Set(),
		memo,
		state = {
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
		};
	const know = ({ id, label }) => {
		run.life[id] ??= [[-1, state.node[id] ?? "up"]];
		labels[id] = label;
	};
	const fly = (frame) => {
		const known = frames[frame.id];
		if (known) return Object.defineProperties(known, Object.getOwnPropertyDescriptors(frame));
		run.flown.push((frames[frame.id] = frame));
		run.apis.set(apiOf(frame), frame.category);
	};
	const happen = (event) => {
		if (event.step % CHECKPOINT === 0) {
			checkpoints.push(state);
			own = new Set();
		}
		events.push(event);
		for (const [op, id, now] of event.patch) if (op === "node") run.life[id]?.push([event.step, now]);
		if (event.cause >= 0) led.get(event.cause)?.push(event) ?? led.set(event.cause, [event]);
		state = fold(state, event.patch, own);
	};
	run.grow = (text) => {
		const { events: further, frames: new_, marks, ends, meanings, ...rest } = unpacked(text);
		for (const [name, from] of Object.entries(rest.tails ?? {})) {
			run[name].length = from;
			for (const one of rest[name]) run[name].push(one);
			delete rest[name];
		}
		Object.assign(run, rest);
		Object.assign(run.marks, marks);
		Object.assign(run.ends, ends);
		Object.assign(run.meanings, meanings);
		if (!events.length) state = fold(state, run.initial, own);
		run.nodes.forEach(know);
		Object.values(new_).forEach(fly);
		further.forEach(happen);
		run.last = events.length - 1;
	};
	run.grow(text);
	memo = [-1, checkpoints[0] ?? state];
	run.label = (id) => labels[id] ?? id;
	run.end = (f) => f.received ?? run.ends[f.id] ?? Infinity;
	run.fate = (f, step) => (step < run.end(f) ? "in flight" : f.fate);
	run.at = (step) => {
		const k = Math.min(Math.floor((step + 1) / CHECKPOINT), checkpoints.length - 1);
		let [from, state] = memo;
		if (from > step || from < k * CHECKPOINT - 1) [from, state] = [k * CHECKPOINT - 1, checkpoints[k]];
		const own = new Set();
		while (from < step) state = fold(state, events[++from].patch, own);
		memo = [step, state];
		return state;
	};
	// The step's own frame, or that of the nearest cause that has one.
	run.frameAt = (step) => {
		let event = events[step];
		// What was pressed on a node has no frame as its cause.
		while (event && !frames[event.frame]) event = /^(crash|fault)$/.test(event.kind) ? undefined : events[event.cause];
		return event && frames[event.frame];
	};
	// What the arrival of a frame led to until `step`, not beyond the next arrival.
	run.caused = (f, step) => {
		const found = [],
			next = (from) => {
				for (const e of led.get(from) ?? []) {
					if (e.step > step || e.kind === "receive" || e.category === "replication") continue;
					found.push(e);
					if (e.kind !== "send") next(e.step);
				}
			};
		if (f.received !== null) next(f.received);
		return found.sort((a, b) => a.step - b.step);
	};
	// What leaders appended until `step` because of a frame, also by way of further frames between servers; its
	// replication is on that way.
	run.appended = (f, step) => {
		const found = [],
			seen = new Set([f.received]),
			open = [...seen],
			clients = new Set(run.nodes.filter((n) => n.kind === "client").map((n) => n.id));
		while (open.length) {
			for (const e of led.get(open.pop()) ?? []) {
				if (e.step > step || seen.has(e.step) || (e.kind === "receive" && clients.has(e.node))) continue;
				seen.add(e.step);
				open.push(e.step);
				if (e.kind === "append" && e.category !== "replication") found.push(e);
			}
		}
		return found.sort((a, b) => a.step - b.step);
	};
	return run;
}

// ---- markup ----

// The elements that a markup makes inside such a parent.
function parseAll(parent, markup) {
	const holder = document.createElementNS(parent.namespaceURI, parent instanceof SVGElement ? "g" : "div");
	holder.innerHTML = markup;
	return [...holder.children];
}

export const parse = (parent, markup) => parseAll(parent, markup)[0];

// A frame in flight.
export const envelope = (r) =>
	svg`<path d="M${-r},${-r * 0.7}h${r * 2}v${r * 1.4}h${-r * 2}zl${r},${r * 0.8}l${r},${-r * 0.8}"/>`;

// Brings the children of an element to a list of [key, markup], making only those whose markup differs, all in one go,
// and moving few.
export function sync(parent, items) {
	const old = parent.kept ?? new Map(),
		kept = (parent.kept = new Map()),
		keys = new Map(items);
	for (const [key, node] of old) {
		if (node.markup === keys.get(key)) continue;
		node.remove();
		old.delete(key);
	}
	const lacking = items.filter(([key]) => !old.has(key)),
		fresh = lacking.length ? parseAll(parent, lacking.map(([, markup]) => markup).join("")) : [];
	let place = null,
		made = 0;
	for (const [key, markup] of items) {
		const node = old.get(key) ?? Object.assign(fresh[made++], { markup });
		let next = place ? place.nextSibling : parent.firstChild;
		if (next && next !== node && next.nextSibling === node) {
			parent.append(next); // one that is wanted later
			next = node;
		}
		if (next !== node) parent.insertBefore(node, next);
		kept.set(key, (place = node));
	}
}

// ---- the journey ----

// The model that all views of a journey share, with what they compute of it kept on it.
export async function journeyOf(model) {
	const journey = await model.widget_manager.get_model(model.get("journey").slice("IPY_MODEL_".length));
	journey.klab ??= { busy: false, heard: new Set(), grows: new Set() };
	return journey;
}

// Lets a view's model hear the kernel whatever happens: anywidget's drops all that the kernel says, for good, if the
// page was too busy to load the view's module within two seconds, as it may be while all cells of a lab run.
export async function hearAlways(model) {
	const own = model.get("_own_id") && (await model.widget_manager.get_model(model.get("_own_id")));
	if (!own?.comm?.on_msg) return;
	let patient = own;
	while (!Object.hasOwn(patient, "_handle_comm_msg")) patient = Object.getPrototypeOf(patient);
	const hear = Object.getPrototypeOf(patient)._handle_comm_msg;
	if (hear) own.comm.on_msg(hear.bind(own));
}

// Adds a part to a run that goes on; asks for what lies between if it does not follow what is known. Views grow when
// run and cursor are those of the part.
function grown(journey, { from, text, step, was }) {
	const { klab } = journey;
	if (!klab.run) return;
	if (from > klab.run.events.length) return askMore(journey);
	if (from < klab.run.events.length) return;
	klab.run.grow(text);
	klab.growing = true;
	// unless the kernel did not know yet where the cursor had gone
	if (klab.busy || (was ?? journey.get("step")) === journey.get("step")) journey.set("step", step);
	klab.growing = false;
	for (const grow of klab.grows) grow();
}

const askMore = (journey) => journey.send({ kind: "more", have: journey.klab.run.events.length });

// Whether → lets a frame go: the cursor is at the end of a run that goes on.
export const isAtTheEnd = ({ run, stops, step }) => !!run.live && !(stops.at(-1) > step);

// The run that a journey shows, opened once for all its views.
export function runOf(journey) {
	const payload = journey.get("payload"),
		{ klab } = journey;
	if (klab.payload === payload) return klab.run;
	Object.assign(klab, { payload, run: openRun(payload) });
	return klab.run;
}

export const ALWAYS = new Set(["fault", "crash", "recover"]);
export const apiOf = (frame) => frame.name.replace(/Response$/, "");

// Whether an event, or its frame, has nothing to do with the nodes, APIs and transactions that are hidden.
export function isShown(run, event, hidden) {
	if (!hidden.size || ALWAYS.has(event.kind)) return true;
	if (hidden.has(event.txn)) return false;
	const f = run.frames[event.frame];
	return f ? ![apiOf(f), f.from, f.to].some((name) => hidden.has(name)) : !hidden.has(event.node);
}

// Whether the cursor stops at an event when these groups are visible and these things hidden.
export const isStop = (run, e, groups, hidden) =>
	e.stop && (groups.has(e.category) || ALWAYS.has(e.kind)) && isShown(run, e, hidden);

// The steps at which it stops.
export const stopsOf = (run, groups, hidden = new Set()) =>
	run.events.filter((e) => isStop(run, e, groups, hidden)).map((e) => e.step);

// Moves the cursor of all views; the kernel is told when it has stood still for a moment.
export function moveTo(journey, step) {
	const { klab } = journey;
	journey.set("step", step);
	clearTimeout(klab.saving);
	klab.saving = setTimeout(() => journey.send({ kind: "step", step }), SAVE_MS); // a save is echoed, late
}

// Asks the kernel for a press. Until it answers, `journey.klab.busy` holds, and no other view may ask.
export function press(journey, action, target = "", details = {}) {
	const { klab } = journey;
	if (klab.busy) return;
	clearTimeout(klab.saving);
	journey.send({ kind: "press", action, target, step: journey.get("step"), ...details });
	klab.busy = true;
	klab.waiting = setTimeout(answered, PATIENCE_MS, journey, {
		kind: "error",
		text: "The kernel does not answer. Run the cell again.",
	});
	for (const hear of klab.heard) hear({ kind: "asked" });
}

function answered(journey, message) {
	if (!/^(done|error)$/.test(message?.kind)) return;
	journey.klab.busy = false;
	clearTimeout(journey.klab.waiting);
	for (const hear of journey.klab.heard) hear(message);
}

// Calls `handlers[trait]` when that trait of the journey changes, `hear` with {kind: "asked" | "done" | "error", text},
// and `grow` when a run that goes on has grown and the cursor has followed; gives back how to stop that.
export function listen(journey, { step, ...others }, hear, grow = others.payload) {
	const { klab } = journey,
		{ heard, grows } = klab,
		handlers = { ...others, step: () => klab.growing || step() },
		tell = (message) => (message?.kind === "more" ? grown : answered)(journey, message);
	if (!heard.size) {
		journey.on("msg:custom", (klab.tell = tell));
		if (klab.run?.live) askMore(journey); // what has come since the payload was sent
	}
	heard.add(hear);
	grows.add(grow);
	const deaf = hearSize(journey);
	for (const name in handlers) journey.on(`change:${name}`, handlers[name]);
	return () => {
		for (const name in handlers) journey.off(`change:${name}`, handlers[name]);
		heard.delete(hear);
		grows.delete(grow);
		deaf();
		if (!heard.size) journey.off("msg:custom", klab.tell);
	};
}

// Of several views of a journey only the one with the keyboard reads its line aloud. Gives what has to be called before
// the line changes.
export function aloud(journey, root, line) {
	const tell = () =>
		line.setAttribute(
			"aria-live",
			root.contains(document.activeElement) || journey.klab.heard.size < 2 ? "polite" : "off",
		);
	root.addEventListener("focusin", tell);
	return tell;
}

// The size of a view: the journey's if it has one, else its own.
export const sizeOf = (model, journey) => journey?.get("size") || model.get("size");

// The page remembers the size that was switched on in one of its pictures; `one`, a journey or a view without a
// journey, takes it over, also if it is opened later. Gives back how to stop that.
export function hearSize(one) {
	const { dataset } = document.documentElement;
	const take = () => {
		if (!dataset.klabSize || one.get("size") === dataset.klabSize) return;
		one.set("size", dataset.klabSize);
		if (one.klab) one.save_changes();
	};
	document.addEventListener("klab-size", take);
	take();
	return () => document.removeEventListener("klab-size", take);
}

export const keyName = (key) => ({ " ": "space", ArrowLeft: "←", ArrowRight: "→" })[key] ?? key;

export { PATIENCE_MS, SAVE_MS };
