// Envelopes in flight: each can be clicked for its menu, dragged off its line (drop) and along it (delay).

import "./hands.css";
import { geometry, isHeld } from "./diagram";
import { choose, closeMenu, envelopeMenu, nodeMenu, openMenu } from "./fault_menu";
import { point, rests } from "./flights";
import { whyNotFlying, whyPress } from "./presses";
import { asSentence, envelope, esc, parse, press, rounded, svg } from "./run";

const FIRST_PX = 4;
// How long a delay is, by the distance: longer than a latency, than a fetch, than the request timeout of 30 s.
const DELAYS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 35000, 60000];
const inWords = (ms) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);

// The places at which envelopes can be seized, as items of `sync`: on top of all arrows, each where its envelope is.
export function grips(v) {
	const { run, u } = v,
		flying = v.flights.filter(({ f }) => run.fate(f, v.step) === "in flight");
	return flying.map(({ f, ...flight }) => {
		const g = geometry(v, { f, ...flight }),
			[x, y] = point(g, rests(v, g)),
			name = `${f.id}, ${run.label(f.from)} to ${run.label(f.to)}, ${isHeld(v, f) ? "held" : "in flight"}: faults`;
		return [
			f.id,
			svg`<g class="grip ${f.category}" data-grip="${esc(f.id)}" tabindex="0" role="button" aria-haspopup="dialog"` +
				svg` aria-label="${esc(name)}" transform="translate(${x},${y})"><title>Click for a menu; drag it off its` +
				svg` line to drop ${esc(f.id)}, along it to delay it</title><circle r="${u * 1.1}"/>${envelope(u * 0.6)}</g>`,
		];
	});
}

// What letting go of the envelope here does: [action, why not, words, details].
function outcomeOf(v, { f, g, x, y }, { clientX, clientY }) {
	const [dx, dy] = [clientX - x, clientY - y],
		[ax, ay] = [0.4, 0.9].map((t) => point(g, t)).reduce(([a, b], [c, d]) => [c - a, d - b]),
		long = Math.hypot(ax, ay) || 1;
	const along = Math.abs(dx * ax + dy * ay) / long,
		off = Math.abs(dx * ay - dy * ax) / long,
		room = v.root.getBoundingClientRect(); // the diagram itself may be three rows high
	const away = whyNotFlying(v.run, v.step, f),
		out = clientX < room.left || clientX > room.right || clientY < room.top || clientY > room.bottom;
	if (away) return ["", away, away];
	if (out || (off <= 2 * v.u && along < v.u)) return ["", "", "let go here: nothing changes"];
	if (off > 2 * v.u) return ["drop", whyPress(v.run, v.step, "drop", f.id), "× drop"];
	const ms = DELAYS[Math.min(DELAYS.length - 1, Math.floor((along - v.u) / (v.u * 0.7)))];
	return ["delay", whyPress(v.run, v.step, "delay", f.id, ms), `delay ${inWords(ms)}`, { delay_ms: ms }];
}

function dragged(v, event) {
	const { drag, root } = v,
		[dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
	if (!drag.moved && Math.hypot(dx, dy) < FIRST_PX) return;
	if (!drag.moved) closeMenu(v), v.pause();
	drag.moved = true;
	drag.outcome = outcomeOf(v, drag, event);
	const [action, no, words] = drag.outcome,
		hint = (drag.hint ??= root.appendChild(parse(root, `<p class="hint"></p>`))),
		box = root.getBoundingClientRect();
	hint.className = `hint ${no ? "no" : action || "nothing"}`;
	hint.textContent = no ? asSentence(no) : words;
	const left = event.clientX - box.left + 16,
		fits = left + hint.offsetWidth < box.width - 8;
	hint.style.left = `${fits ? left : Math.max(8, left - 32 - hint.offsetWidth)}px`;
	hint.style.top = `${event.clientY - box.top - hint.offsetHeight - 10}px`;
	if (!drag.grip) return;
	const [px, py] = point(drag.g, rests(v, drag.g));
	drag.grip.classList.add("dragged");
	drag.grip.setAttribute("transform", `translate(${rounded(px + dx)},${rounded(py + dy)})`);
	v.$("sheet")
		.querySelector(`[data-frame="${CSS.escape(drag.f.id)}"]`)
		?.classList.add("seized");
}

// End a drag: the envelope is where it was. Return what letting go would have done.
function released(v) {
	const { drag, root } = v;
	v.drag = null;
	drag.hint?.remove();
	for (const one of root.querySelectorAll(".seized")) one.classList.remove("seized");
	if (drag.grip) {
		const [x, y] = point(drag.g, rests(v, drag.g)).map(rounded);
		drag.grip.classList.remove("dragged");
		drag.grip.setAttribute("transform", `translate(${x},${y})`);
	}
	return drag;
}

// The picture shows another step or run: what is open or seized is not about it.
export function forget(v) {
	closeMenu(v);
	if (v.drag) released(v);
}

function letGo(v) {
	const { f, moved, outcome, grip } = released(v);
	if (!moved) return grip && openEnvelope(v, f, grip);
	v.deaf = true; // the click that follows is the end of the drag
	setTimeout(() => (v.deaf = false));
	const [action, no, , details] = outcome;
	if (no || !action) return v.say(no ? asSentence(no) : "Nothing has changed: the envelope is back on its line.");
	if (v.journey.klab.busy) return v.say("The kernel is making the new run.");
	press(v.journey, action, f.id, details);
}

function openEnvelope(v, f, grip) {
	const { run } = v,
		ends = `${esc(run.label(f.from))} → ${esc(run.label(f.to))}`,
		title = `<b class="${f.category}">${esc(f.id)}</b> <small>${ends}</small>`;
	v.pause();
	openMenu(v, grip, title, envelopeMenu(v, f));
}

// The menu of the frame of this step if it is in flight, else of the one sent last.
export function openNewest(v) {
	const flying = v.flights.map(({ f }) => f).filter((f) => v.run.fate(f, v.step) === "in flight"),
		f = flying.includes(v.chosen) ? v.chosen : flying.at(-1);
	const gone = v.chosen && whyNotFlying(v.run, v.step, v.chosen);
	if (!f)
		return v.say(
			gone ? asSentence(`${gone}; go back to a step at which it is in flight`) : "No frame that is shown is in flight.",
		);
	openEnvelope(v, f, v.root.querySelector(`[data-grip="${CSS.escape(f.id)}"]`));
}

// The menu of a lane's node; without one of the node of this step.
export function openLane(v, id = v.run.events[v.step].node) {
	const node = v.run.nodes.find((n) => n.id === id),
		life = v.state.node[id] ?? "up",
		opener = v.root.querySelector(`.lane[data-node="${id}"] [data-action=node]`);
	if (!opener) return v.say("The node of this step has no lane here.");
	openMenu(v, opener, `<b class="${node.kind}">${esc(node.label)}</b> <small>${life}</small>`, nodeMenu(v, node));
}

// Calls for pointers and keys on envelopes and menus. They come before the view's own: a space on an envelope opens it.
export function hearHands(v) {
	const { root } = v,
		on = (name, hear) => root.addEventListener(name, hear, true),
		mine = (event) => (event.stopPropagation(), event.preventDefault());
	const flightOf = (id) => v.flights.find(({ f }) => f.id === id);
	on("pointerdown", (event) => {
		const { target, button, clientX: x, clientY: y, pointerId } = event;
		if (v.menu && !v.menu.contains(target)) closeMenu(v);
		const grip = target.closest("[data-grip]"),
			flight = flightOf(grip?.dataset.grip ?? target.closest(".arrow")?.dataset.frame);
		if (button || !flight || v.drag) return;
		v.drag = { f: flight.f, g: geometry(v, flight), grip, x, y };
		if (!grip) return;
		grip.setPointerCapture(pointerId);
		event.preventDefault();
		grip.focus({ preventScroll: true });
	});
	// Else a finger scrolls: `touch-action` does not hold inside of an SVG.
	root.addEventListener("touchstart", (e) => e.target.closest("[data-grip]") && e.preventDefault(), { passive: false });
	on("pointermove", (event) => v.drag && dragged(v, event));
	on("pointerup", () => v.drag && letGo(v));
	on("pointercancel", () => v.drag && released(v));
	on("click", (event) => {
		const { target, detail } = event,
			button = target.closest("[data-press]");
		if (v.deaf || target.closest(".menu") || target.closest("[data-grip]")) event.stopPropagation();
		if (button) choose(v, button);
		else if (!detail && target.closest("[data-grip]"))
			openEnvelope(v, flightOf(target.closest("[data-grip]").dataset.grip).f, target);
	});
	on("keydown", (event) => {
		const { key, target } = event;
		if (v.drag && key === "Escape") mine(event), released(v);
		else if (target.matches("[data-grip]") && /^(Enter| |ContextMenu)$/.test(key) && !event.shiftKey)
			mine(event), openEnvelope(v, flightOf(target.dataset.grip).f, target);
	});
}
