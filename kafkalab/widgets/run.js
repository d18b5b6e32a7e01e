// What all views share: the journey's model, the run that it shows as a fold over patches, markup, presses.

const CHECKPOINT = 64, SAVE_MS = 150, PATIENCE_MS = 20000;

const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const time = (ms) => (ms < 10000 ? `${ms} ms` : `${(ms / 1000).toFixed(3)} s`);
const breakable = (text) => esc(text).replaceAll("_", "_<wbr>");
const rounded = (value) => (typeof value === "number" ? Math.round(value * 10) / 10 : value);
const svg = (texts, ...values) => texts.reduce((all, text, i) => all + rounded(values[i - 1]) + text);

// The last index below `count` for which `holds`, where it holds for a first part only; -1 for none.
function upTo(count, holds) {
	for (let low = 0; ; ) {
		if (low >= count) return low - 1;
		const middle = (low + count) >> 1;
		if (holds(middle)) low = middle + 1;
		else count = middle;
	}
}

// ---- the run ----

const logOf = (state, node, partition) => state.logs[`${node} ${partition}`] ?? { batches: [], gone: [], hw: 0, lso: 0, start: 0 };
const offsetsOf = ({ offs, base, records }) => offs ?? records.map((_, i) => base + i);

// A batch with the records that compaction up to `end` has left; nothing if there are none.
function cleaned(batch, left, end) {
	const offs = offsetsOf(batch), kept = offs.flatMap((offset, i) => (offset >= end || left.has(offset) ? [i] : []));
	if (!kept.length || kept.length === offs.length) return kept.length ? batch : undefined;
	const pick = (all) => kept.map((i) => all[i]), parts = batch.decoded ? batch.decoded.split("; ") : [], { fields } = batch;
	return { ...batch, records: pick(batch.records), offs: pick(offs), decoded: parts.length === offs.length ? pick(parts).join("; ") : batch.decoded, ...(fields && { fields: pick(fields) }) };
}

// A log without the batches that `keep` gives nothing for; they stay known in `gone`, with why.
function without(log, why, keep) {
	const kept = log.batches.map(keep), gone = log.batches.filter((_, i) => !kept[i]).map((batch) => ({ ...batch, why }));
	return { batches: kept.filter(Boolean), gone: [...log.gone, ...gone].sort((a, b) => a.base - b.base) };
}

function apply(state, [op, a, b, c, d]) {
	const put = (map, key, value) => ({ ...state, [map]: { ...state[map], [key]: value } });
	const log = (change) => put("logs", `${a} ${b}`, { ...logOf(state, a, b), ...change });
	const old = state.txns[a], known = logOf(state, a, b);
	switch (op) {
		case "node": case "roles": case "leader": case "held": return put(op, a, b);
		case "cut": return put(op, [a, b].sort().join(" "), c);
		case "isr": return put(op, a, { replicas: b, isr: c });
		case "client": state = put(op, a, { ...state.client[a], ...b }); return "tid" in b ? put("producers", `${a} ${b.tid}`, { ...b, node: a }) : state;
		case "group": return put("group", a, b);
		case "batch": return log({ batches: [...known.batches, c], gone: known.gone.filter((batch) => batch.last < c.base) });
		case "truncate": return log({ ...without(known, "truncated", (batch) => batch.base < c && batch), hw: Math.min(known.hw, c), lso: Math.min(known.lso, c) });
		case "cleaned": { const left = new Set(c); return log(without(known, "compacted", (batch) => cleaned(batch, left, d))); }
		case "start": return log({ ...without(known, "deleted", (batch) => batch.last >= c && batch), start: c });
		case "hw": case "lso": return log({ [op]: c });
		case "txn": return put("txns", a, { ...b, via: b.pending ? old?.via : old?.node === b.node && [old.state, b.state] });
	}
	return state;
}

function openRun(payload) {
	const { events, frames, initial, nodes, ends } = payload;
	const checkpoints = [], life = {};
	let state = initial.reduce(apply, { node: {}, roles: {}, leader: {}, client: {}, logs: {}, txns: {}, producers: {}, group: {}, isr: {}, cut: {}, held: {} });
	for (const { id } of nodes) life[id] = [[-1, state.node[id] ?? "up"]];
	for (const event of events) {
		if (event.step % CHECKPOINT === 0) checkpoints.push(state);
		for (const [op, id, now] of event.patch) if (op === "node") life[id]?.push([event.step, now]);
		state = event.patch.reduce(apply, state);
	}
	let memo = [-1, checkpoints[0] ?? state];
	const run = { ...payload, life, last: events.length - 1, flown: Object.values(frames) };
	run.label = (id) => nodes.find((n) => n.id === id)?.label ?? id;
	run.end = (f) => f.received ?? ends[f.id] ?? Infinity;
	run.fate = (f, step) => (step < run.end(f) ? "in flight" : f.fate);
	run.at = (step) => {
		const k = Math.min(Math.floor((step + 1) / CHECKPOINT), checkpoints.length - 1);
		let [from, state] = memo;
		if (from > step || from < k * CHECKPOINT - 1) [from, state] = [k * CHECKPOINT - 1, checkpoints[k]];
		while (from < step) state = events[++from].patch.reduce(apply, state);
		memo = [step, state];
		return state;
	};
	// The step's own frame, or that of the nearest cause that has one.
	run.frameAt = (step) => {
		let event = events[step];
		while (event && !frames[event.frame]) event = events[event.cause];
		return event && frames[event.frame];
	};
	// What the arrival of a frame led to until `step`, not beyond the next arrival.
	run.caused = (f, step) => {
		const seen = new Set([f.received]), leads = (e) => seen.has(e.cause) && e.kind !== "receive" && e.group !== "replication";
		return events.slice(f.received + 1, step + 1).filter((e) => leads(e) && (e.kind === "send" || seen.add(e.step)));
	};
	return run;
}

// ---- markup ----

function parse(parent, markup) {
	const holder = document.createElementNS(parent.namespaceURI, parent instanceof SVGElement ? "g" : "div");
	holder.innerHTML = markup;
	return holder.firstElementChild;
}

// Brings the children of an element to a list of [key, markup], replacing only those that differ.
function sync(parent, items) {
	const old = parent.kept ?? new Map(), kept = (parent.kept = new Map()), keys = new Map(items);
	let place = null;
	for (const [key, node] of old) {
		if (node.markup === keys.get(key)) continue;
		node.remove();
		old.delete(key);
	}
	for (const [key, markup] of items) {
		const node = old.get(key) ?? Object.assign(parse(parent, markup), { markup });
		const next = place ? place.nextSibling : parent.firstChild;
		if (next !== node) parent.insertBefore(node, next);
		kept.set(key, (place = node));
	}
}

// ---- the journey ----

// The model that all views of a journey share, with what they compute of it kept on it.
async function journeyOf(model) {
	const journey = await model.widget_manager.get_model(model.get("journey").slice("IPY_MODEL_".length));
	journey.klab ??= { busy: false, heard: new Set() };
	return journey;
}

// The run that a journey shows, opened once for all its views.
function runOf(journey) {
	const payload = journey.get("payload"), { klab } = journey;
	if (klab.payload !== payload) Object.assign(klab, { payload, run: openRun(payload) });
	return klab.run;
}

// The steps at which the cursor stops when these groups are visible.
const stopsOf = (run, groups) => run.events.filter((e) => e.stop && (groups.has(e.group) || /fault|crash|recover/.test(e.kind))).map((e) => e.step);

// Moves the cursor of all views; the kernel is told when it has stood still for a moment.
function moveTo(journey, step) {
	const { klab } = journey;
	journey.set("step", step);
	clearTimeout(klab.saving);
	klab.saving = setTimeout(() => journey.send({ kind: "step", step }), SAVE_MS); // a save is echoed, late
}

// Asks the kernel for a press. Until it answers, `journey.klab.busy` holds, and no other view may ask.
function press(journey, action, target = "", details = {}) {
	const { klab } = journey;
	if (klab.busy) return;
	clearTimeout(klab.saving);
	journey.send({ kind: "press", action, target, step: journey.get("step"), ...details });
	klab.busy = true;
	klab.waiting = setTimeout(answered, PATIENCE_MS, journey, { kind: "error", text: "The kernel does not answer. Run the cell again." });
	for (const hear of klab.heard) hear({ kind: "asked" });
}

function answered(journey, message) {
	if (!/^(done|error)$/.test(message?.kind)) return;
	journey.klab.busy = false;
	clearTimeout(journey.klab.waiting);
	for (const hear of journey.klab.heard) hear(message);
}

// Calls `handlers[trait]` when that trait of the journey changes, and `hear` with {kind: "asked" | "done" | "error", text};
// gives back how to stop that.
function listen(journey, handlers, hear) {
	const { heard } = journey.klab, tell = (message) => answered(journey, message);
	if (!heard.size) journey.on("msg:custom", (journey.klab.tell = tell));
	heard.add(hear);
	for (const name in handlers) journey.on(`change:${name}`, handlers[name]);
	return () => {
		for (const name in handlers) journey.off(`change:${name}`, handlers[name]);
		heard.delete(hear);
		if (!heard.size) journey.off("msg:custom", journey.klab.tell);
	};
}

const keyName = (key) => ({ " ": "space", ArrowLeft: "←", ArrowRight: "→" })[key] ?? key;
