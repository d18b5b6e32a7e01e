// What a view needs to stand alone: a bar that moves the cursor, the sentence of the step, keys, help.

import "./view.css";
import {
	aloud,
	hearAlways,
	isAtTheEnd,
	journeyOf,
	keyName,
	listen,
	moveTo,
	parse,
	press,
	runOf,
	sizeOf,
	time,
	upTo,
} from "./run";
import { walkStops } from "./walk";

const PLAY_MS = 900;
const MOVES = {
	home: ["|◂", "First step", "Home"],
	left: ["◂", "Back", "ArrowLeft"],
	play: ["play", "Play or pause", " "],
	right: ["▸", "Forward", "ArrowRight"],
	end: ["▸|", "Last step", "End"],
	help: ["?", "Help", "?"],
};
let instances = 0;

const toolOf = (all, action) => `<button type="button" data-action="${action}">${all[action][0]}</button>`;
const arrowName = (key) => ({ ArrowUp: "↑", ArrowDown: "↓" })[key] ?? keyName(key);

// `spec`: name, title, tools {action: [text, what it does, key]}, hidden (those without a button), head and body
// (markup),
// legend (markup of <li>), open(view), load(view), draw(view), act(view, action, button), why(view, action) -> text.
// The view has: root, $, model, journey, run, state, step, drawn (the step drawn before), stops, id(name), say, set.
export async function openView(model, el, spec) {
	await hearAlways(model);
	const journey = await journeyOf(model),
		all = { ...MOVES, ...spec.tools },
		tools = Object.keys(spec.tools).filter((action) => !spec.hidden?.includes(action));
	const keys = Object.fromEntries(Object.entries(all).map(([action, [, , key]]) => [key, action]));
	const keyList = Object.values(all)
		.map(([, title, key]) => `<p><small>${arrowName(key)}</small>${title}</p>`)
		.join("");
	const root = parse(
		el,
		`<div class="klab ${spec.name}" tabindex="0" role="application">
		<div class="bar"><div>${["home", "left", "play", "right", "end"].map((action) => toolOf(all, action)).join("")}` +
			`</div><b class="title"></b>
			<span class="where"></span>${spec.head ?? ""}` +
			`<div>${[...tools, "help"].map((action) => toolOf(all, action)).join("")}</div></div>
		<p class="now" role="status" aria-live="polite"></p>${spec.body}
		<div class="help" role="dialog" aria-label="Help" hidden><div>${keyList}</div>` +
			`<ul>${spec.legend}</ul>${toolOf(all, "help").replace("?<", "Close<")}</div></div>`,
	);
	el.append(root);
	const $ = (name) => root.querySelector(`.${name}`),
		prefix = `klab-${spec.name}${++instances}-`,
		help = $("help"),
		now = $("now"),
		voice = aloud(journey, root, now);
	const view = { root, $, model, journey, step: 0, drawn: 0, id: (name) => prefix + name };
	let playing,
		setting = false;

	const at = () => upTo(view.stops.length, (i) => view.stops[i] <= view.step);
	view.say = (text, how = "said") => {
		now.textContent = text;
		now.className = `now ${how}`;
	};
	// A value of this view alone, which the kernel gets to know.
	view.set = (values) => {
		setting = true;
		for (const name in values) model.set(name, values[name]);
		setting = false;
		model.save_changes();
		draw();
	};

	function why(action) {
		const { stops, step } = view;
		if (action === "right" && isAtTheEnd(view)) return "";
		if (/^(home|left)$/.test(action)) return stops[0] < step ? "" : "This is the first step.";
		if (/^(right|end)$/.test(action)) return stops.at(-1) > step ? "" : "This is the last step.";
		return (!(action in MOVES) && spec.why?.(view, action)) || "";
	}

	function pause() {
		if (!playing) return;
		clearInterval(playing);
		playing = 0;
		drawTools();
	}

	function play() {
		if (playing) return pause();
		if (view.step >= view.stops.at(-1)) moveTo(journey, view.stops[0]);
		playing = setInterval(
			() => (view.step < view.stops.at(-1) ? moveTo(journey, view.stops[at() + 1]) : pause()),
			PLAY_MS,
		);
		drawTools();
	}

	function act(action, button) {
		const { stops, step } = view,
			i = at(),
			no = why(action);
		if (action === "play") return play();
		pause();
		if (no) return view.say(no);
		if (action === "right" && isAtTheEnd(view)) return press(journey, action);
		const moves = {
			right: stops[i + 1],
			left: stops[stops[i] === step ? i - 1 : i],
			home: stops[0],
			end: stops.at(-1),
		};
		if (action in moves) return moveTo(journey, moves[action]);
		if (action !== "help") return spec.act(view, action, button);
		help.hidden = !help.hidden;
		(help.hidden ? root : help.querySelector("button")).focus({ preventScroll: true });
	}

	function drawTools() {
		root.querySelector("[data-action=play]").textContent = playing ? "pause" : "play";
		for (const button of root.querySelectorAll("[data-action]")) {
			const tool = all[button.dataset.action],
				no = why(button.dataset.action);
			if (!tool) continue;
			button.title = no || `${tool[1]} (${arrowName(tool[2])})`;
			for (const [name, value] of [
				["label", `${tool[1]} (${arrowName(tool[2])})`],
				["disabled", !!no],
				["description", no],
			])
				button.setAttribute(`aria-${name}`, value);
		}
	}

	function draw() {
		const { run, stops } = view,
			focused = root.contains(document.activeElement);
		view.step = Math.max(0, Math.min(journey.get("step"), run.last));
		view.state = run.at(view.step);
		const event = run.events[view.step] ?? {},
			index = at() + 1;
		Object.assign(root.dataset, {
			step: view.step,
			stopIndex: index,
			stopCount: stops.length,
			size: sizeOf(model, journey),
		});
		$("where").innerHTML = `step <b>${index}</b> of ${stops.length} · t = <b>${time(event.at ?? 0)}</b>`;
		voice();
		view.say(event.text ?? "", event.kind);
		spec.draw(view);
		drawTools();
		if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
		view.drawn = view.step;
	}

	function load() {
		view.run = runOf(journey);
		view.groups = new Set(journey.get("groups"));
		view.hiding = new Set(journey.get("hidden"));
		view.stops = walkStops(view.run, journey);
		view.drawn = Infinity;
		$("title").textContent = spec.title(view);
		root.setAttribute("aria-label", `${spec.title(view)}: ${view.run.title}. Arrow keys step, question mark for help.`);
		root.dataset.size = sizeOf(model, journey);
		spec.load?.(view);
		draw();
	}

	// Plain keys stay here; those with Ctrl, and Shift+Enter, are the notebook's.
	root.addEventListener("keydown", (event) => {
		const { key, target, repeat } = event;
		if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (key === "Escape" && !help.hidden) return act("help");
		if (target.matches("select")) return;
		if (target.matches("button, [data-choose]") && (key === " " || key === "Enter")) {
			if (!target.matches("button"))
				target.dispatchEvent(new MouseEvent("click", { bubbles: true })), event.preventDefault();
			return;
		}
		const action = keys[key.length === 1 ? key.toLowerCase() : key];
		if (!action) return;
		event.preventDefault();
		if (!repeat || /left|right|up|down/.test(action)) act(action);
	});
	root.addEventListener("click", ({ target, detail }) => {
		const found = target.closest("[data-action], [data-choose]");
		if (!found) return;
		if (detail) root.focus({ preventScroll: true });
		if (found.dataset.action) act(found.dataset.action, found);
		else spec.choose?.(view, found.dataset.choose, found);
	});
	spec.open?.(view, draw);
	load();
	const own = spec.traits ?? [],
		deaf = listen(
			journey,
			{ payload: load, groups: load, hidden: load, size: load, every: load, opened: load, step: draw },
			({ kind, text }) => kind === "error" && view.say(text, "said wrong"),
		);
	const redraw = () => setting || draw(),
		hearing = { size: load, ...Object.fromEntries(own.map((name) => [name, redraw])) };
	for (const name in hearing) model.on(`change:${name}`, hearing[name]);
	return () => {
		deaf();
		for (const name in hearing) model.off(`change:${name}`, hearing[name]);
		clearInterval(playing);
		spec.close?.(view);
		root.remove();
	};
}
