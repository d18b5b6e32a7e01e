// What an application knows at the cursor, and nothing else, until it is revealed: the same as client_view.py tells.

import "./client_view.css";
import { aloud, esc, hearAlways, journeyOf, keyName, listen, moveTo, parse, runOf, sizeOf, sync, upTo } from "./run";
import { eventSign } from "./signs";
import { everyStop } from "./walk";

const AT_ONCE = new Set(["begin_transaction"]),
	LINES = 200;
const KEYS = {
	Home: "home",
	ArrowLeft: "left",
	ArrowRight: "right",
	End: "end",
	r: "reveal",
	"?": "help",
	Escape: "close",
};
const BUTTONS = {
	home: ["|◂", "First moment", "Home"],
	left: ["◂", "Moment before", "ArrowLeft"],
	right: ["▸", "Next moment", "ArrowRight"],
	end: ["▸|", "Last moment", "End"],
	reveal: ["reveal", "Show what it cannot know, or hide it again", "r"],
	help: ["?", "Help", "?"],
};

const KEYS_OF_MOVES = { home: 1, left: 1, right: 1, end: 1 };

const isMoment = (event, node) => event.node === node && /invoke|complete/.test(event.kind);
// A call goes out, an answer comes in; what a poll returned comes in too.
const callSign = ({ kind }) =>
	`<svg class="way ${kind === "invoke" ? "request" : "response"}" viewBox="0 0 36 13" aria-hidden="true">` +
	`<path class="line" d="M2,6.5H33"/><path class="head" d="${
		kind === "invoke" ? "M26,2L34,6.5L26,11Z" : "M9,2L1,6.5L9,11"
	}"/></svg>`;
const button = (action) => `<button type="button" data-action="${action}">${BUTTONS[action][0]}</button>`;
const SKELETON =
	`
<div class="bar"><div>${["home", "left", "right", "end"].map(button).join("")}` +
	`</div><b class="clock"></b><div>${button("reveal")}${button("help")}</div></div>
<div class="heads"><span>clock</span><b class="who"></b><span class="wall"></span></div>
<ol></ol><p class="now" role="status" aria-live="polite"></p>
<div class="help" role="dialog" aria-label="Help" hidden>
	<div>${Object.values(BUTTONS)
		.map(([, title, key]) => `<p><small>${keyName(key)}</small>${title}</p>`)
		.join("")}</div>
	<ul><li>These are the moments at which the application learns` +
	` anything: its calls, what came back, what its polls returned.</li>
	<li>Between them it only has its own clock. Say what has happened to the transaction, then reveal.</li></ul>
	<button type="button" data-action="help">Close</button></div>`;

async function open(model, el) {
	await hearAlways(model);
	const journey = await journeyOf(model),
		root = parse(el, `<div class="klab client-view" tabindex="0" role="application">${SKELETON}</div>`);
	el.append(root);
	const [clock, list, now, help] = ["clock", "ol", "now", "help"].map((name) =>
		root.querySelector(name === "ol" ? name : `.${name}`),
	);
	const $ = (name) => root.querySelector(`.${name}`);
	const voice = aloud(journey, root, now);
	let run, node, revealed, stops, moments, step;

	function load() {
		run = runOf(journey);
		node = model.get("node");
		revealed = model.get("revealed");
		step = journey.get("step");
		stops = everyStop(run, journey);
		moments = run.events.filter((e) => isMoment(e, node)).map((e) => e.step);
		Object.assign(root.dataset, { size: sizeOf(model, journey), revealed });
		root.setAttribute("aria-label", `What ${node} knows. Arrow keys step, r reveals, question mark for help.`);
		draw();
	}

	const last = (steps) => upTo(steps.length, (i) => steps[i] <= step);

	// Where a move leads to; undefined for nowhere.
	function target(action) {
		const steps = revealed ? stops : moments,
			at = last(steps);
		return { right: steps[at + 1], left: steps[steps[at] === step ? at - 1 : at], home: steps[0], end: steps.at(-1) }[
			action
		];
	}

	const why = (action) =>
		action in KEYS_OF_MOVES && (target(action) === undefined || target(action) === step)
			? "There is no such moment."
			: "";

	// Whether a call was under way after this step: it waits, and only its clock goes on.
	const callAt = (s) => run.events[moments[upTo(moments.length, (i) => moments[i] <= s)]],
		waits = (said) => said?.kind === "invoke" && !AT_ONCE.has(said.name),
		waitsAt = (s) => waits(callAt(s));

	function rowMarkup(e, waiting) {
		const mine = isMoment(e, node),
			before = mine && e.kind === "complete" ? callAt(e.step - 1) : null,
			took = before?.kind === "invoke" ? `<span class="after">after ${e.at - before.at} ms</span>` : "",
			how = !mine ? "" : / fails with | ends with /.test(e.text) ? " failed" : / times out/.test(e.text) ? " open" : "";
		const known = mine
			? `<span class="says ${e.kind}${how}">${callSign(e)}<span>${esc(e.text)}</span></span>${took}`
			: "";
		return (
			`<li class="${mine ? e.kind : "unknown"}${waiting ? " waits" : ""}" data-moment="${e.step}"` +
			` data-words="${esc(`${e.at} ms${e.text}`)}" title="${esc(e.text)}"><span class="at">${e.at} ms</span>` +
			`<span class="known">${known}</span><span>${mine ? "" : eventSign(run, e, step)}</span></li>`
		);
	}

	function present() {
		const shown = run.events[step];
		if (shown.name === "recording stopped") return shown.text;
		if (run.at(step).node[node] === "down") return `${node} is gone: it knows nothing any more.`;
		const said = callAt(step);
		if (!waits(said)) return `No transactional call of ${node} is under way.`;
		return `${node} waits in ${said.name}() for ${shown.at - said.at}` + ` ms, and cannot know what happens meanwhile.`;
	}

	function draw() {
		const steps = revealed ? [...new Set([...moments, ...stops])].sort((a, b) => a - b) : moments,
			upto = last(steps) + 1;
		const shown = steps.slice(Math.max(0, upto - LINES), upto);
		sync(
			list,
			shown.map((s) => [s, rowMarkup(run.events[s], waitsAt(s))]),
		);
		$("who").textContent = `what ${node} knows`;
		$("wall").textContent = revealed ? "what it cannot know" : "what it cannot know: reveal";
		root.dataset.step = step;
		clock.textContent = `What ${node} knows at ${run.events[step].at} ms of its clock`;
		voice();
		if (now.textContent !== present()) now.textContent = present();
		for (const b of root.querySelectorAll("[data-action]")) {
			const { action } = b.dataset,
				no = why(action),
				[, title, key] = BUTTONS[action];
			b.title = no || `${title} (${keyName(key)})`;
			for (const [name, value] of [
				["label", b.textContent === "Close" ? "Close" : title],
				["disabled", !!no],
				["description", no],
			])
				b.setAttribute(`aria-${name}`, value);
		}
		root.querySelector("[data-action=reveal]").setAttribute("aria-pressed", revealed);
		list.scrollTop = 1e6;
	}

	function act(action) {
		if (action === "close" && help.hidden) return;
		if (action === "help" || action === "close") {
			help.hidden = !help.hidden;
			return (help.hidden ? root : help.querySelector("button")).focus({ preventScroll: true });
		}
		if (action === "reveal") {
			model.set("revealed", !revealed);
			return model.save_changes();
		}
		if (!why(action)) moveTo(journey, target(action));
	}

	function moved() {
		step = journey.get("step");
		draw();
	}

	root.addEventListener("keydown", (event) => {
		const { key, target, repeat } = event;
		if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (target.matches("button") && (key === " " || key === "Enter")) return;
		const action = KEYS[key.length === 1 ? key.toLowerCase() : key];
		if (!action) return;
		event.preventDefault();
		if (!repeat || action in KEYS_OF_MOVES) act(action);
	});
	root.addEventListener("click", ({ target, detail }) => {
		const found = target.closest("[data-action]");
		if (detail) root.focus({ preventScroll: true });
		if (found) act(found.dataset.action);
	});
	const deaf = listen(journey, { payload: load, groups: load, hidden: load, size: load, step: moved }, () => {});
	const traits = ["node", "revealed", "size"];
	for (const name of traits) model.on(`change:${name}`, load);
	load();
	return () => {
		deaf();
		for (const name of traits) model.off(`change:${name}`, load);
		root.remove();
	};
}

export default { render: ({ model, el }) => open(model, el) };
