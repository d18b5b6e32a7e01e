// What the panels share: a journey, the line that is read aloud, the help on "?", the keys that step and undo.

import "./panel.css";
import {
	aloud,
	asSentence,
	esc,
	hearAlways,
	hearSize,
	journeyOf,
	listen,
	moveTo,
	parse,
	press,
	runOf,
	sizeOf,
	svg,
	upTo,
} from "./run";
import { walkStops } from "./walk";

const PANEL_KEYS = {
	ArrowLeft: "left",
	ArrowRight: "right",
	Home: "home",
	End: "end",
	z: "undo",
	y: "redo",
	"?": "help",
};
const SHARED_HELP = `<p><small>← →</small>Back, forward, in all pictures of this journey</p>
	<p><small>Home End</small>First and last step</p>
	<p><small>z y</small>Undo, redo</p>
	<p><small>?</small>This help</p>`;
let panels = 0;

export const tool = (action, label, target = "", more = "") =>
	`<button type="button" data-action="${action}"` +
	`${target === "" ? "" : ` data-target="${esc(target)}"`}${more}>${label}</button>`;

// Open a panel in `el`. `part` has: name, title, body (markup), help (markup), keys {key: action}, draw(p), and if it
// needs them act(p, action, target, button), why(p, action, target, button), load(p). `p` is handed to all of them.
export async function openPanel(model, el, part) {
	await hearAlways(model);
	const journey = model.get("journey") ? await journeyOf(model) : null,
		place = `klab-panel-${++panels}`;
	const about = `role="group" aria-label="${part.title}. Question mark for help."`,
		helpTool = tool("help", "?", "", ' aria-label="Help"');
	const root = parse(
		el,
		`<div class="klab panel ${part.name}" tabindex="0" ${about}>
		<header class="bar"><h3>${part.title}</h3><span class="where"></span>${helpTool}</header>
		<p class="now" role="status" aria-live="polite"></p><div class="inside">${part.body}</div>
		<div class="help" role="dialog" aria-label="Help" hidden>
		<div>${part.help}</div><div>${SHARED_HELP}${tool("help", "Close")}</div></div></div>`,
	);
	el.append(root);
	const help = root.querySelector(".help"),
		now = root.querySelector(".now");
	const p = {
		model,
		journey,
		root,
		place,
		$: (selector) => root.querySelector(selector),
		all: (selector) => [...root.querySelectorAll(selector)],
	};
	const voice = journey ? aloud(journey, root, now) : () => {};
	p.say = (text, how = "said") => ((now.textContent = text), (now.className = `now ${how}`));
	p.go = (step) => moveTo(journey, Math.max(0, Math.min(step, p.run.last)));
	p.press = (action, target = "", details = {}) => press(journey, action, target, details);
	p.marks = () => {
		for (const button of p.all("button[data-action]")) {
			const { action, target } = button.dataset,
				no = action === "help" ? "" : (part.why?.(p, action, target, button) ?? "");
			if (button.getAttribute("aria-disabled") === String(!!no) && button.reason === no) continue;
			button.reason = no;
			button.setAttribute("aria-disabled", String(!!no));
			button.title = no ? asSentence(no) : (button.dataset.title ?? "");
			if (no) button.setAttribute("aria-description", asSentence(no));
			else button.removeAttribute("aria-description");
		}
	};
	p.draw = () => {
		root.dataset.size = sizeOf(model, journey);
		if (journey) {
			p.run = runOf(journey);
			p.step = Math.max(0, Math.min(journey.get("step"), p.run.last));
			root.dataset.step = p.step;
		}
		const focused = root.contains(document.activeElement);
		voice();
		part.draw(p);
		p.marks();
		if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
	};
	p.load = () => (part.load?.(p), p.draw());
	p.act = (action, target, button) => {
		if (action === "help") {
			help.hidden = !help.hidden;
			return (help.hidden ? root : help.querySelector("button")).focus({ preventScroll: true });
		}
		const no = button?.reason ?? part.why?.(p, action, target, button) ?? "";
		if (no) return p.say(asSentence(no));
		if (part.act?.(p, action, target, button) || !journey) return;
		if (/^(left|right|home|end)$/.test(action)) {
			const stops = walkStops(p.run, journey),
				at = upTo(stops.length, (i) => stops[i] <= p.step);
			const to = {
				right: stops[at + 1],
				left: stops[stops[at] === p.step ? at - 1 : at],
				home: stops[0],
				end: stops.at(-1),
			}[action];
			if (action === "right" && to === undefined && p.run.live) return p.press(action);
			return to === undefined || p.go(to);
		}
		if (action === "undo" && !journey.get("can_undo")) return p.say("There is no fault to undo.");
		if (action === "redo" && !journey.get("can_redo")) return p.say("Nothing has been undone.");
		p.press(action, target);
	};
	root.addEventListener("keydown", (event) => {
		const { key, target } = event;
		if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (key === "Escape" && !help.hidden) return p.act("help");
		if (
			target.matches("input, select, textarea") ||
			(target.matches("button, summary") && (key === " " || key === "Enter"))
		)
			return;
		const action = { ...PANEL_KEYS, ...part.keys }[key.length === 1 ? key.toLowerCase() : key];
		if (!action) return;
		event.preventDefault();
		const [name, of] = [].concat(action);
		p.act(name, of, p.$(`[data-action="${name}"]${of ? `[data-target="${of}"]` : ""}`));
	});
	root.addEventListener("click", ({ target, detail }) => {
		const found = target.closest("[data-action]");
		if (!found || !root.contains(found) || found.matches("select, input")) return;
		p.act(found.dataset.action, found.dataset.target, found);
		if (detail && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
	});
	const told = (message) => {
		p.marks();
		if (message.kind === "error") p.say(message.text, "said wrong");
	};
	const deaf = journey
		? listen(
				journey,
				{
					payload: p.load,
					step: p.draw,
					tree: p.draw,
					place: p.draw,
					groups: p.draw,
					size: p.draw,
					can_undo: p.marks,
					can_redo: p.marks,
				},
				told,
			)
		: hearSize(model);
	const watched = (part.traits ?? []).map((name) => `change:${name}`).concat("change:size");
	for (const name of watched) model.on(name, p.draw);
	p.load();
	return () => {
		deaf();
		for (const name of watched) model.off(name, p.draw);
		root.remove();
	};
}

// The SVG of a tree of runs: for each row of `rows` ([depth, entry]) its dot, joined to its parent's.
export function branches(rows, height, place) {
	const x = (depth) => 9 + depth * 16,
		y = (i) => (i + 0.5) * height,
		rowOf = new Map(rows.map(([, e], i) => [e.id, i]));
	const lines = rows.map(([depth, e], i) =>
		rowOf.has(e.parent)
			? svg`<path d="M${x(depth - 1)},${y(rowOf.get(e.parent))}V${y(i) - 7}q0,7 7,7H${x(depth)}"/>`
			: "",
	);
	const dots = rows.map(
		([depth, e], i) =>
			svg`<circle class="${e.id === place ? "here" : e.outcome.split(" ")[0]}"` +
			svg` cx="${x(depth)}" cy="${y(i)}" r="${e.id === place ? 6 : 4.5}"/>`,
	);
	return `<g>${lines.join("")}${dots.join("")}</g>`;
}

// The entries with their depth, each right after its parent and that one's earlier children.
export function inOrder(tree) {
	const found = [],
		add = (parent, depth) =>
			tree.filter((e) => e.parent === parent).forEach((e) => (found.push([depth, e]), add(e.id, depth + 1)));
	add(-1, 0);
	return found;
}

export const labelOf = (e) => e.label.replace("(frame=", "(") || "the scenario";
export const entryText = (e) =>
	`${e.id} ${e.name ? `${e.name}: ` : ""}${labelOf(e)}${e.parent >= 0 ? `, from step ${e.at}` : ""}, ${e.outcome}`;
