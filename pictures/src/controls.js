// The controls of a sequence: one line of buttons and a slider, the keys, and why a button would change nothing.

import { foldHere, isOpen, whyNoJump } from "./chapters";
import { whyPress } from "./presses";
import { asSentence, esc, isAtTheEnd, keyName, sync } from "./run";

const BUTTONS = {
	home: ["|◂", "First step", "Home"],
	left: ["◂", "Back", "ArrowLeft"],
	play: ["▶", "Play or pause", " "],
	right: ["▸", "Forward", "ArrowRight"],
	end: ["▸|", "Last step", "End"],
	previous_change: ["◂Δ", "Previous change of a log or a state", "Shift+ArrowLeft"],
	next_change: ["Δ▸", "Next change of a log or a state", "Shift+ArrowRight"],
	previous_chapter: ["[", "Previous chapter", "["],
	next_chapter: ["]", "Next chapter", "]"],
	previous_frame: [",", "One step back, also one that is folded", ","],
	next_frame: [".", "One step forward, also one that is folded", "."],
	chapters: ["☰ chapters", "List of chapters", "c"],
	every: ["every frame", "Stop at every frame, or only where something new happens", "e"],
	open: ["+", "Show the steps that are folded into this stop, or fold them", "o"],
	what_if: ["⋔ what if", "What if it broke here? For every step: what becomes of the run if a node crashes", "w"],
	previous_turn: ["<", "Previous step at which another fate begins (what if)", "<"],
	next_turn: [">", "Next step at which another fate begins (what if)", ">"],
	drop: ["× Drop", "Drop the frame sent at this step", "d"],
	duplicate: ["×2 Duplicate", "Duplicate the frame sent at this step", "u"],
	undo: ["↶ Undo", "Undo the last fault", "z"],
	redo: ["↷ Redo", "Redo the undone fault", "y"],
	crash: ["crash", "Crash a broker (0: the app) after this step", "1 2 3"],
	menu: ["menu", "Menu of the envelope in flight: drop, delay, hold, crash, arrives next", "m"],
	node: ["node", "Menu of this step's node: crash, pause, isolate", "n"],
	faults: ["↯ Faults", "All faults, and the tree of runs, beside the diagram", "p"],
	inspect: ["fields", "Open the frame's fields, or fold them", "i"],
	time: ["time", "Time downwards or across", "t"],
	size: ["A↕", "All pictures larger, for a projector, or as they were", "b"],
	internal: ["internal", "Internal logs: always, or only while something happens in them", "l"],
	filter: ["view", "Choose frames, nodes, APIs and transactions", "f"],
	finding: ["checks", "What the checks found, step by step", "v"],
	help: ["?", "Help", "?"],
};
const KEYS = {
	...Object.fromEntries(Object.entries(BUTTONS).map(([action, [, , key]]) => [key, action])),
	PageUp: "previous_chapter",
	PageDown: "next_chapter",
};
const keysName = (key) => key.split("+").map(keyName).join("+");
const GROUPS = ["transaction", "verification", "replication", "metadata"];

// A button: its sign, and its word where there is room.
function button(action) {
	const [sign, ...words] = BUTTONS[action][0].split(" "),
		word = words.length ? `<span class="word"> ${words.join(" ")}</span>` : "";
	return `<button type="button" data-action="${action}">${sign}${word}</button>`;
}
export const buttons = (...actions) => `<div>${actions.map(button).join("")}</div>`;

export const CONTROLS =
	`<div class="bar">${buttons("home", "left", "play", "right", "end")}<span class="where"></span>` +
	`${buttons("drop", "duplicate", "faults")}${buttons("undo", "redo")}${buttons("filter", "size", "help")}</div>
	<div class="filter" role="group" aria-label="What is shown" hidden><fieldset class="groups"><legend>frames</legend>` +
	GROUPS.map((g) => `<label class="${g}"><input type="checkbox" value="${g}"><span>${g}</span></label>`).join("") +
	`</fieldset><div class="things"></div>${button("time")}</div>`;
const keyRow = (action) => {
	const [, title, key] = BUTTONS[action];
	return `<p><small>${keysName(key)}</small>${title}</p>`;
};
const FIRST = ["right", "left", "next_chapter", "drop", "what_if"];
export const HELP =
	`<div class="help" role="dialog" aria-label="Help" hidden>
	<div class="keys first">${FIRST.map(keyRow).join("")}</div>
	<div class="keys">${Object.keys(BUTTONS)
		.filter((action) => !FIRST.includes(action))
		.map(keyRow)
		.join("")}</div>
	<ul><li>→ stops where something new happens. What lies between two stops is folded: "+ 4" shows it, and , and . go
	through it; so does a click on an arrow. Page up and page down go from chapter to chapter, too.</li>
	<li>Click an envelope in flight for its menu; drag it off its line to drop it, along it to delay it: the further,
	the longer. A node's name opens a menu, too.</li>
	<li>Click an arrow or a row to go there. A fault makes a new run: the same up to this step, another future.</li>
	<li>Solid arrow: request; dashed: response; envelope: in flight; cross: dropped, or lost as nobody was there.</li>
	<li><b class="role txn-coordinator">TC</b> transaction coordinator, <b class="role group-coordinator">GC</b> group
	coordinator, <b class="role leader">orders-0</b> what a broker leads.</li>
	<li>Dashed box: not decided; pointed box: marker.</li>
	<li>What if: each bar says how the run ends if the row's mishap strikes right after a step. Filled: committed;
	hatched: aborted; empty: nothing was begun; dashed: left open; ✕: a promise breaks. What was just sent still arrives;
	brokers start again after 20 seconds, clients do not. Click a bar to go there.</li>
	<li>HW, high watermark: all in-sync replicas have what is before it.` +
	` LSO, last stable offset: read_committed reads up to here.</li></ul>
	${button("help").replace("?<", "Close<")}</div>`;

// Why a press would change nothing; "" if it would.
export function whyNot(v, action, target) {
	const { stops, step, run, journey } = v,
		{ kind, frame } = run.events[step] ?? {};
	if (/play|help|filter|inspect|time|finding|menu|node|faults|size|chapters|every|what_if/.test(action)) return "";
	if (action === "internal") return run.internal.length ? "" : "This run has no internal logs.";
	if (action === "open") return foldHere(v) === undefined ? "No step is folded here." : "";
	if (/^(next|previous)_/.test(action)) return whyNoJump(v, action);
	if (action === "right" && isAtTheEnd(v)) return "";
	if (/undo|redo/.test(action) && run.live) return asSentence(run.live);
	if (/left|home/.test(action)) return stops[0] < step ? "" : "This is the first step.";
	if (/right|end/.test(action)) return stops.at(-1) > step ? "" : "This is the last step.";
	if (journey.klab.busy) return "The kernel is making the new run.";
	if (action === "undo") return journey.get("can_undo") ? "" : "There is no fault to undo.";
	if (action === "redo") return journey.get("can_redo") ? "" : "Nothing has been undone.";
	if (action === "crash") return asSentence(whyPress(run, step, action, target));
	return kind === "send" ? asSentence(whyPress(run, step, action, frame)) : "No frame is sent at this step.";
}

export function drawTools(v) {
	const { root, run, playing } = v;
	root.querySelector("[data-action=play]").textContent = playing ? "❚❚" : "▶";
	const stop = foldHere(v);
	root.querySelector("[data-action=open]").setAttribute("aria-pressed", stop !== undefined && isOpen(v, stop));
	root.querySelector("[data-action=every]").setAttribute("aria-pressed", !!v.journey.get("every"));
	root.querySelector("[data-action=time]").textContent = v.across ? "time →" : "time ↓";
	root.querySelector("[data-action=what_if]").setAttribute("aria-pressed", !!v.model.get("what_if"));
	for (const b of root.querySelectorAll("[data-action]")) {
		const { action, target } = b.dataset,
			no = whyNot(v, action, target),
			[, title, key] = BUTTONS[action];
		const about = { crash: (node) => `Crash ${node} after this step`, node: (node) => `${node}: faults` }[action];
		const label = about && target ? about(run.label(target)) : `${b.dataset.told ?? title} (${keysName(key)})`;
		b.title = no || label;
		for (const [name, value] of [
			["label", label],
			["disabled", !!no],
			["description", no],
		])
			b.setAttribute(`aria-${name}`, value);
	}
}

// A box for each node, API and transactional id; those that are hidden are not ticked.
export function drawFilter(v) {
	const { run, journey, root } = v,
		hidden = new Set(journey.get("hidden")),
		groups = v.plan.groups;
	const apis = [...run.apis.keys()].filter((api) => groups.has(run.apis.get(api))).sort();
	const kinds = {
		nodes: run.nodes.map((n) => n.id),
		APIs: [...apis, ...[...hidden].filter((name) => run.apis.has(name) && !apis.includes(name))],
		transactions: run.transactions,
	};
	const tick = (name) => `<label><input type="checkbox" value="${esc(name)}"><span>${esc(name)}</span></label>`;
	sync(
		v.$("things"),
		Object.entries(kinds).map(([kind, names]) => [
			kind,
			`<fieldset><legend>${kind}</legend>${names.map(tick).join("")}</fieldset>`,
		]),
	);
	for (const one of v.$("things").querySelectorAll("input")) one.checked = !hidden.has(one.value);
	for (const one of v.$("groups").querySelectorAll("input")) one.checked = groups.has(one.value);
	root.querySelector("[data-action=filter]").textContent = hidden.size ? `view (${hidden.size} hidden)` : "view";
	v.filtered = run.apis.size + run.transactions.length;
}

// Calls `act(action, target)` and `go(step)` for keys and clicks. Plain keys stay here; those with Ctrl, and
// Shift+Enter, are the notebook's.
export function hearKeys(v, act, go) {
	const { root } = v,
		help = v.$("help");
	root.addEventListener("keydown", (event) => {
		const { key, target, repeat } = event;
		if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (key === "Escape" && !help.hidden) return act("help");
		if (target.matches("button, input:not(.seek)") && (key === " " || key === "Enter")) return;
		const shifted = event.shiftKey && key.startsWith("Arrow") ? `Shift+${key}` : key;
		const action = KEYS[key.length === 1 ? key.toLowerCase() : shifted];
		const node =
			key >= "0" &&
			key <= "9" &&
			v.run.nodes.filter((n) => n.kind === (key === "0" ? "client" : "broker"))[Math.max(0, key - 1)];
		if (action || node) event.preventDefault();
		if (node && !repeat) act("crash", node.id);
		else if (action && (!repeat || /left|right|_/.test(action))) act(action);
	});
	root.addEventListener("click", ({ target, detail }) => {
		const found = target.closest("[data-action], [data-go]");
		if (!found) return;
		if (detail) root.focus({ preventScroll: true });
		if (found.dataset.go) go(Number(found.dataset.go));
		else act(found.dataset.action, found.dataset.target);
	});
	v.$("ticks").addEventListener("input", ({ target }) => go(v.stops[target.value - 1]));
	v.$("filter").addEventListener("change", ({ target }) => {
		const groups = !!target.closest(".groups"),
			boxes = v.$(groups ? "groups" : "things").querySelectorAll(groups ? ":checked" : "input:not(:checked)");
		v.journey.set(
			groups ? "groups" : "hidden",
			[...boxes].map((one) => one.value),
		);
		v.journey.save_changes();
	});
}
