// The controls of a sequence: one line of buttons and a slider, the keys, and why a button would change nothing.

import { foldHere, isOpen, whyNoJump } from "./chapters";
import { html, nothing, render } from "./lit";
import { whyPress } from "./presses";
import { asSentence, keyName, nameOf } from "./run";
import type { View } from "./sequence_view";
import { MOVES, type Tool, isMove, whyNoMove } from "./stepper";
import { whyNoStrips } from "./what_if";

const BUTTONS: Record<string, Tool> = {
	...MOVES,
	previous_change: ["◂∆", "Previous change of a log or a state", "Shift+ArrowLeft"],
	next_change: ["∆▸", "Next change of a log or a state", "Shift+ArrowRight"],
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
const KEYS: Record<string, string> = {
	...Object.fromEntries(Object.entries(BUTTONS).map(([action, [, , key]]) => [key, action])),
	PageUp: "previous_chapter",
	PageDown: "next_chapter",
};
const keysName = (key: string) => key.split("+").map(keyName).join("+");
const GROUPS = ["transaction", "verification", "replication", "metadata"];

// A button: its sign, and its word where there is room.
function button(action: string, label?: string) {
	const [sign, ...words] = (label ?? BUTTONS[action][0]).split(" "),
		word = words.length ? html`<span class="word"> ${words.join(" ")}</span>` : nothing;
	return html`<button type="button" data-action=${action}>${sign}${word}</button>`;
}
export const buttons = (...actions: string[]) => html`<div>${actions.map((action) => button(action))}</div>`;

export const CONTROLS = html`<div class="bar">${buttons("home", "left", "play", "right", "end")}<span
	class="where"></span>${buttons("drop", "duplicate", "faults")}${buttons("undo", "redo")}${buttons(
		"filter",
		"size",
		"help",
	)}</div>
	<div class="filter" role="group" aria-label="What is shown" hidden><fieldset
	class="groups"><legend>frames</legend>${GROUPS.map(
		(g) => html`<label class=${g}><input type="checkbox" value=${g}><span>${g}</span></label>`,
	)}</fieldset><div class="things"></div>${button("time")}</div>`;

function keyRow(action: string) {
	const [, title, key] = BUTTONS[action];
	return html`<p><small>${keysName(key)}</small>${title}</p>`;
}
const FIRST = ["right", "left", "next_chapter", "drop", "what_if"];
export const HELP = html`<div class="help" role="dialog" aria-label="Help" hidden>
	<div class="keys first">${FIRST.map(keyRow)}</div>
	<div class="keys">${Object.keys(BUTTONS)
		.filter((action) => !FIRST.includes(action))
		.map(keyRow)}</div>
	<ul><li>→ stops where something new happens. What lies between two stops is folded: "+ 4" shows it, and , and . go
	through it; so does a click on an arrow. Page up and page down go from chapter to chapter, too.</li>
	<li>Click an envelope in flight for its menu; drag it off its line to drop it, along it to delay it: the further,
	the longer. A node's name opens a menu, too.</li>
	<li>Click an arrow or a row to go there. A fault makes a new run: the same up to this step, another future.</li>
	<li>Solid arrow: request; dashed: response; envelope: in flight; cross: dropped, or lost as nobody was there.</li>
	<li><b class="role txn-coordinator">TC</b> transaction coordinator, <b class="role group-coordinator">GC</b> group
	coordinator, <b class="role leader">orders-0</b> what a broker leads.</li>
	<li>Dashed box: not decided; pointed box: marker.</li>
	<li>What if: each bar says how the run ends if the row's fault strikes right after a step. Filled: committed;
	hatched: aborted; empty: nothing was begun, or the record is there once; dashed: left open, or the record is there
	twice or never; ✕: a promise breaks. What was just sent still arrives;
	brokers start again after 20 seconds, clients do not. Click a bar to go there.</li>
	<li>HW, high watermark: all in-sync replicas have what is before it.
	LSO, last stable offset: read_committed reads up to here.</li></ul>
	${button("help", "Close")}</div>`;

// Why a press would change nothing; "" if it would.
export function whyNot(v: View, action: string, target = ""): string {
	const { step, run, journey } = v,
		{ kind, frame } = run.events[step] ?? {};
	if (/help|filter|inspect|time|finding|menu|node|faults|size|chapters|every/.test(action)) return "";
	if (isMove(action)) return whyNoMove(v, action);
	if (action === "what_if") return v.model.get("what_if") ? "" : asSentence(whyNoStrips(run));
	if (action === "internal") return run.internal.length ? "" : "This run has no internal logs.";
	if (action === "open") return foldHere(v) === undefined ? "No step is folded here." : "";
	if (/^(next|previous)_/.test(action)) return whyNoJump(v, action);
	if (/undo|redo/.test(action) && run.live) return asSentence(run.live);
	if (journey.klab.busy) return "Python is making the new run.";
	if (action === "undo") return journey.get("can_undo") ? "" : "There is no fault to undo.";
	if (action === "redo") return journey.get("can_redo") ? "" : "Nothing has been undone.";
	if (action === "crash") return asSentence(whyPress(run, step, action, target));
	return kind === "send" ? asSentence(whyPress(run, step, action, frame)) : "No frame is sent at this step.";
}

export function drawTools(v: View) {
	const { root } = v,
		stop = foldHere(v),
		tool = (action: string) => root.querySelector(`[data-action=${action}]`) as HTMLElement,
		isOn = {
			every: v.journey.get("every"),
			what_if: v.model.get("what_if"),
			open: stop !== undefined && isOpen(v, stop),
		};
	tool("play").textContent = v.stepper.sign;
	tool("time").textContent = v.across ? "time →" : "time ↓";
	for (const [action, on] of Object.entries(isOn)) tool(action).setAttribute("aria-pressed", String(!!on));
	for (const one of root.querySelectorAll<HTMLElement>("[data-action]")) drawTool(v, one);
}

const ABOUT: Record<string, (node: string) => string> = {
	crash: (node) => `Crash ${node} after this step`,
	node: (node) => `${node}: faults`,
};

function drawTool(v: View, one: HTMLElement) {
	const { action = "", target, told } = one.dataset,
		no = whyNot(v, action, target),
		[, title, key] = BUTTONS[action],
		about = target && ABOUT[action],
		label = about ? about(v.run.label(target)) : `${told ?? title} (${keysName(key)})`;
	one.title = no || label;
	one.ariaLabel = nameOf(one.textContent.trim(), label);
	one.ariaDisabled = String(!!no);
	one.setAttribute("aria-description", no);
}

// A box for each node, API and transactional id; those that are hidden are not ticked.
export function drawFilter(v: View) {
	const { run, journey, root } = v,
		hidden = new Set(journey.get("hidden")),
		{ groups } = v.plan,
		apis = [...run.apis].filter(([, category]) => groups.has(category)).map(([api]) => api),
		kinds = {
			nodes: run.nodes.map((n) => n.id),
			APIs: [...apis.sort(), ...[...hidden].filter((name) => run.apis.has(name) && !apis.includes(name))],
			transactions: run.transactions,
		},
		tick = (name: string) => html`<label><input type="checkbox" value=${name}><span>${name}</span></label>`;
	render(
		Object.entries(kinds).map(([kind, names]) => html`<fieldset><legend>${kind}</legend>${names.map(tick)}</fieldset>`),
		v.$("things"),
	);
	for (const one of v.$("things").querySelectorAll("input")) one.checked = !hidden.has(one.value);
	for (const one of v.$("groups").querySelectorAll("input")) one.checked = groups.has(one.value);
	const open = root.querySelector("[data-action=filter]") as HTMLElement;
	open.textContent = hidden.size ? `view (${hidden.size} hidden)` : "view";
	v.filtered = run.apis.size + run.transactions.length;
}

type Act = (action: string, target?: string) => void;

// Calls `act(action, target)` for keys and clicks. Plain keys stay here; those with Ctrl, and Shift+Enter, are the
// notebook's.
export function hearKeys(v: View, act: Act) {
	const { root, closed: signal } = v;
	root.addEventListener("keydown", (event) => press(v, act, event), { signal });
	const click = ({ target, detail }: MouseEvent) => {
		const found = (target as Element).closest<HTMLElement>("[data-action], [data-go]");
		if (!found) return;
		if (detail) root.focus({ preventScroll: true });
		if (found.dataset.go) v.go(Number(found.dataset.go));
		else act(found.dataset.action ?? "", found.dataset.target);
	};
	root.addEventListener("click", click, { signal });
	const seek = ({ target }: Event) => v.go(v.stops[Number((target as HTMLInputElement).value) - 1]);
	v.$("ticks").addEventListener("input", seek, { signal });
	v.$("filter").addEventListener("change", ({ target }) => filter(v, target as Element), { signal });
}

function press(v: View, act: Act, event: KeyboardEvent) {
	const { key, repeat } = event,
		target = event.target as Element;
	if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
	event.stopPropagation();
	if (key === "Escape" && !v.$("help").hidden) return act("help");
	if (target.matches("button, input:not(.seek)") && (key === " " || key === "Enter")) return;
	const shifted = event.shiftKey && key.startsWith("Arrow") ? `Shift+${key}` : key,
		action = KEYS[key.length === 1 ? key.toLowerCase() : shifted],
		kind = key === "0" ? "client" : "broker",
		nodes = /^\d$/.test(key) ? v.run.nodes.filter((n) => n.kind === kind) : [],
		node = nodes[Math.max(0, Number(key) - 1)];
	if (action || node) event.preventDefault();
	if (node && !repeat) act("crash", node.id);
	else if (action && (!repeat || /left|right|_/.test(action))) act(action);
}

function filter(v: View, box: Element) {
	const groups = !!box.closest(".groups"),
		boxes = v
			.$(groups ? "groups" : "things")
			.querySelectorAll<HTMLInputElement>(groups ? ":checked" : "input:not(:checked)");
	v.journey.set(
		groups ? "groups" : "hidden",
		[...boxes].map((one) => one.value),
	);
	v.journey.save_changes();
}
