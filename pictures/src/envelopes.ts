// Envelopes in flight: each can be clicked for its menu, dragged off its line (drop) and along it (delay).

import "./hands.css";
import { type Geometry, envelope, geometry, placeOf } from "./diagram";
import { choose, closeMenu, envelopeMenu, nodeMenu, openMenu } from "./fault_menu";
import { type Flight, point } from "./flights";
import { svg, html, repeat } from "./lit";
import type { Frame } from "./payload";
import { isHeld, whyNotFlying, whyPress } from "./presses";
import { asSentence, press, rounded } from "./run";
import type { View } from "./sequence_view";

const FIRST_PX = 4;
// How long a delay is, by the distance: longer than a latency, than a fetch, than the request timeout of 30 s.
const DELAYS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 35000, 60000];
const inWords = (ms: number) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);

// What letting go of an envelope does: nothing without an action, or with a reason why not.
interface Outcome {
	action: string;
	no: string;
	words: string;
	details?: object;
}

// An envelope that is seized: at which point of the page, by which grip.
export interface Drag {
	f: Frame;
	g: Geometry;
	grip: SVGGElement | null;
	x: number;
	y: number;
	moved: boolean;
	outcome?: Outcome;
	hint?: HTMLElement;
}

const isFlying = (v: View, f: Frame) => v.run.fate(f, v.step) === "in flight";
// The places at which envelopes can be seized: on top of all arrows, each where its envelope is.
export function grips(v: View) {
	const { run, u } = v,
		gripOf = (flight: Flight) => {
			const { f } = flight,
				name = `${f.id}, ${run.label(f.from)} to ${run.label(f.to)}, ${isHeld(v.state, f) ? "held" : "in flight"}: faults`;
			return svg`<g class="grip ${f.category}" data-grip=${f.id} tabindex="0" role="button" aria-haspopup="dialog"
				aria-label=${name} transform=${placeOf(v, geometry(v, flight))}><title>Click for a menu; drag it off its line to
				drop ${f.id}, along it to delay it</title><circle r=${rounded(u * 1.1)}></circle>${envelope(u * 0.6)}</g>`;
		};
	return svg`${repeat(
		v.flights.filter(({ f }) => isFlying(v, f)),
		({ f }) => f.id,
		gripOf,
	)}`;
}

// What letting go of the envelope here does.
function outcomeOf(v: View, { f, g, x, y }: Drag, { clientX, clientY }: MouseEvent): Outcome {
	const [dx, dy] = [clientX - x, clientY - y],
		[ax, ay] = [0.4, 0.9].map((t) => point(g, t)).reduce(([a, b], [c, d]) => [c - a, d - b]),
		long = Math.hypot(ax, ay) || 1,
		along = Math.abs(dx * ax + dy * ay) / long,
		off = Math.abs(dx * ay - dy * ax) / long,
		room = v.root.getBoundingClientRect(), // the diagram itself may be three rows high
		away = whyNotFlying(v.run, v.step, f),
		out = clientX < room.left || clientX > room.right || clientY < room.top || clientY > room.bottom;
	if (away) return { action: "", no: away, words: away };
	if (out || (off <= 2 * v.u && along < v.u)) return { action: "", no: "", words: "let go here: nothing changes" };
	if (off > 2 * v.u) return { action: "drop", no: whyPress(v.run, v.step, "drop", f.id), words: "× drop" };
	const ms = DELAYS[Math.min(DELAYS.length - 1, Math.floor((along - v.u) / (v.u * 0.7)))],
		no = whyPress(v.run, v.step, "delay", f.id, ms);
	return { action: "delay", no, words: `delay ${inWords(ms)}`, details: { delay_ms: ms } };
}

function dragged(v: View, drag: Drag, event: MouseEvent) {
	const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
	if (!drag.moved && Math.hypot(dx, dy) < FIRST_PX) return;
	if (!drag.moved) {
		closeMenu(v);
		v.stepper.pause();
	}
	drag.moved = true;
	drag.outcome = outcomeOf(v, drag, event);
	drawHint(v, drag, drag.outcome, event);
	if (!drag.grip) return;
	drag.grip.classList.add("dragged");
	drag.grip.setAttribute("transform", placeOf(v, drag.g, dx, dy));
	v.$("sheet")
		.querySelector(`[data-frame="${CSS.escape(drag.f.id)}"]`)
		?.classList.add("seized");
}

function drawHint({ root }: View, drag: Drag, { action, no, words }: Outcome, { clientX, clientY }: MouseEvent) {
	const hint = (drag.hint ??= root.appendChild(document.createElement("p"))),
		box = root.getBoundingClientRect();
	hint.className = `hint ${no ? "no" : action || "nothing"}`;
	hint.textContent = no ? asSentence(no) : words;
	const left = clientX - box.left + 16,
		fits = left + hint.offsetWidth < box.width - 8;
	hint.style.left = `${fits ? left : Math.max(8, left - 32 - hint.offsetWidth)}px`;
	hint.style.top = `${clientY - box.top - hint.offsetHeight - 10}px`;
}

// End a drag: the envelope is where it was.
function release(v: View, drag: Drag) {
	v.drag = undefined;
	drag.hint?.remove();
	for (const one of v.root.querySelectorAll(".seized")) one.classList.remove("seized");
	drag.grip?.classList.remove("dragged");
	drag.grip?.setAttribute("transform", placeOf(v, drag.g));
}

// The picture shows another step or run: what is open or seized is not about it.
export function forget(v: View) {
	closeMenu(v);
	if (v.drag) release(v, v.drag);
}

function letGo(v: View, drag: Drag) {
	const { f, moved, outcome, grip } = drag;
	release(v, drag);
	if (!moved || !outcome) return grip ? openEnvelope(v, f, grip) : undefined;
	v.deaf = true; // the click that follows is the end of the drag
	setTimeout(() => {
		v.deaf = false;
	});
	const { action, no, details } = outcome;
	if (no || !action) return v.say(no ? asSentence(no) : "Nothing has changed: the envelope is back on its line.");
	if (v.journey.klab.busy) return v.say("Python is making the new run.");
	press(v.journey, action, f.id, details);
}

function openEnvelope(v: View, f: Frame, grip: Element) {
	const { run } = v,
		ends = `${run.label(f.from)} → ${run.label(f.to)}`;
	v.stepper.pause();
	openMenu(v, grip, html`<b class=${f.category}>${f.id}</b> <small>${ends}</small>`, envelopeMenu(v, f));
}

const gripOf = (v: View, id: string) => v.root.querySelector(`[data-grip="${CSS.escape(id)}"]`);

// The menu of the frame of this step if it is in flight, else of the one sent last.
export function openNewest(v: View) {
	const { chosen } = v,
		flying = v.flights.map(({ f }) => f).filter((f) => isFlying(v, f)),
		f = chosen && flying.includes(chosen) ? chosen : flying.at(-1),
		gone: string = chosen ? whyNotFlying(v.run, v.step, chosen) : "",
		grip = f && gripOf(v, f.id);
	if (f && grip) return openEnvelope(v, f, grip);
	const back = `${gone}; go back to a step at which it is in flight`;
	v.say(gone ? asSentence(back) : "No frame that is shown is in flight.");
}

// The menu of a lane's node; without one of the node of this step.
export function openLane(v: View, id = v.run.events[v.step].node) {
	const node = v.run.nodes.find((n) => n.id === id),
		life = v.state.node[id] ?? "up",
		opener = v.root.querySelector(`.lane[data-node="${id}"] [data-action=node]`);
	if (!opener || !node) return v.say("The node of this step has no lane here.");
	openMenu(v, opener, html`<b class=${node.kind}>${node.label}</b> <small>${life}</small>`, nodeMenu(v, node));
}

// Calls for pointers and keys on envelopes and menus. They come before the view's own: a space on an envelope opens it.
export function hearHands(v: View) {
	const { root } = v,
		how = { capture: true, signal: v.closed },
		flightOf = (id?: string) => v.flights.find(({ f }) => f.id === id);
	root.addEventListener("pointerdown", (event) => seize(v, event, flightOf), how);
	// Else a finger scrolls: `touch-action` does not hold inside of an SVG.
	const hold = (event: TouchEvent) => (event.target as Element).closest("[data-grip]") && event.preventDefault();
	root.addEventListener("touchstart", hold, { passive: false, signal: v.closed });
	root.addEventListener("pointermove", (event) => v.drag && dragged(v, v.drag, event), how);
	root.addEventListener("pointerup", () => v.drag && letGo(v, v.drag), how);
	root.addEventListener("pointercancel", () => v.drag && release(v, v.drag), how);
	const click = (event: MouseEvent) => {
		const target = event.target as Element,
			button = target.closest<HTMLElement>("[data-press]"),
			grip = target.closest<SVGGElement>("[data-grip]"),
			flight = flightOf(grip?.dataset.grip);
		if (v.deaf || target.closest(".menu") || grip) event.stopPropagation();
		if (button) choose(v, button);
		else if (!event.detail && flight) openEnvelope(v, flight.f, target);
	};
	root.addEventListener("click", click, how);
	const keydown = (event: KeyboardEvent) => {
		const { key } = event,
			target = event.target as SVGElement,
			flight = target.matches("[data-grip]") ? flightOf(target.dataset.grip) : undefined,
			opens = flight && /^(Enter| |ContextMenu)$/.test(key) && !event.shiftKey;
		if (v.drag && key === "Escape") release(v, v.drag);
		else if (opens) openEnvelope(v, flight.f, target);
		else return;
		event.stopPropagation();
		event.preventDefault();
	};
	root.addEventListener("keydown", keydown, how);
}

function seize(v: View, event: PointerEvent, flightOf: (id?: string) => Flight | undefined) {
	const { button, clientX: x, clientY: y, pointerId } = event,
		target = event.target as Element;
	if (v.menu && !v.menu.contains(target)) closeMenu(v);
	const grip = target.closest<SVGGElement>("[data-grip]"),
		flight = flightOf(grip?.dataset.grip ?? target.closest<SVGElement>(".arrow")?.dataset.frame);
	if (button || !flight || v.drag) return;
	v.drag = { f: flight.f, g: geometry(v, flight), grip, x, y, moved: false };
	if (!grip) return;
	grip.setPointerCapture(pointerId);
	event.preventDefault();
	grip.focus({ preventScroll: true });
}
