// The menu of an envelope, and that of a lane's head: every fault that can strike it, each with its reason why not.

import { html, nothing, render, type TemplateResult } from "./lit";
import type { Frame, RunNode } from "./payload";
import {
	type Details,
	detailOf,
	type Fault,
	faultOf,
	inFlight,
	ofNode,
	laterThan,
	whyNext,
	whyNotFlying,
	whyPress,
} from "./presses";
import { asSentence, press } from "./run";
import type { View } from "./sequence_view";

type Choice = Details & { step?: number | null };

// A button of a menu. `details` go with the press; `no` is why it would change nothing.
function choice(action: string, target: string, label: string, title: string, no = "", details: Choice = {}) {
	return html`<button type="button" data-press=${action} data-target=${target} data-details=${JSON.stringify(details)}
		data-no=${no} aria-disabled=${!!no} aria-description=${no ? asSentence(no) : nothing}
		title=${no ? asSentence(no) : title}>${label}</button>`;
}
const line = (name: string, ...parts: unknown[]) =>
	html`<div class="line"><small>${name}</small><span>${parts}</span></div>`;
const groupsOf = ({ journey }: View) => new Set(journey.get("groups"));
const flyingHere = (v: View): Frame[] => inFlight(v.run, v.step, groupsOf(v), new Set(v.journey.get("hidden")));

// The details of a fault's button before anything is typed or chosen.
const usual = ({ number, other }: Fault): Details =>
	number.length ? { [number[0]]: number[1] } : other ? { [other]: "" } : {};

// Why a fault on a frame would change nothing here: it must be in flight.
const whyStrike = (v: View, action: string, f: Frame, detail?: string | number): string =>
	whyNotFlying(v.run, v.step, f) || whyPress(v.run, v.step, action, f.id, detail);

export function envelopeMenu(v: View, f: Frame): TemplateResult {
	const of = (action: string) => {
			const fault = faultOf(action) as Fault,
				details = usual(fault);
			return choice(action, f.id, fault.label, fault.title, whyStrike(v, action, f, detailOf(details)), details);
		},
		groups = groupsOf(v),
		later: Frame[] = laterThan(v.run, f).filter((o: Frame) => groups.has(o.category)),
		held = !whyPress(v.run, v.step, "release", f.id),
		until = html`<label><select name="after" aria-label="Hold until this frame has arrived">${later.map(
			({ id }) => html`<option>${id}</option>`,
		)}</select> has arrived</label>${of("reorder")}${of("late")}`;
	const usualMs = faultOf("delay")?.number[1];
	return html`${line("frame", of("drop"), of("duplicate"), held ? of("release") : of("hold"))}${line(
		"delay",
		html`<label><input type="number" name="delay_ms" min="1" value=${usualMs} aria-label="Delay in ms">ms</label>`,
		of("delay"),
	)}${later.length ? line("hold until", until) : nothing}
	${line("response", of("respond_with"))}
	${line("crash", crashOfSender(v, f), crashOfReceiver(v, f))}
	${line("arrives next", ...flyingHere(v).map((o) => nextChoice(v, o)))}`;
}

const nextChoice = (v: View, f: Frame) =>
	choice("next", f.id, f.id, `Of the frames in flight, ${f.id} arrives next`, whyNext(v.run, v.step, f, flyingHere(v)));

// The sender crashes here: what it has sent before arrives, and so does the frame that it sends at this step.
function crashOfSender({ run, step }: View, f: Frame) {
	const details = step === f.sent ? { sent: true } : {},
		no = whyPress(run, step, "crash", f.from, detailOf(details));
	return choice("crash", f.from, `${run.label(f.from)}, after sending`, "The frame arrives all the same", no, details);
}

// The receiver crashes when it has the frame, before it does anything about it.
function crashOfReceiver({ run }: View, f: Frame) {
	const never = f.received === null ? `${f.id} never arrives in this run` : "",
		no = f.received === null ? never : whyPress(run, f.received, "crash", f.to),
		label = `${run.label(f.to)}, on arrival`,
		title = "It receives the frame, and does nothing about it";
	return choice("crash", f.to, label, title, no, never ? {} : { step: f.received });
}

// Its own faults, and those of its links to all others.
export const nodeMenu = ({ run, step }: View, { id, kind }: RunNode) =>
	line(
		"",
		ofNode(kind)
			.flatMap((fault) => [{ ...fault, details: usual(fault) }, ...fault.variants.map((one) => ({ ...fault, ...one }))])
			.map(({ press, label, title, details }) =>
				choice(press, id, label, title, whyPress(run, step, press, id, detailOf(details)), details),
			),
	);

// Open a menu beside an element, with a title and lines.
export function openMenu(v: View, opener: Element, title: TemplateResult, lines: TemplateResult) {
	closeMenu(v);
	const menu = document.createElement("div");
	menu.className = "menu";
	menu.setAttribute("role", "dialog");
	menu.setAttribute("aria-label", "Faults");
	render(html`<header>${title}</header>${lines}<p role="status"></p>`, menu);
	v.root.append(menu);
	Object.assign(v, { menu, opener });
	placeMenu(v, menu, opener);
	menu.addEventListener("keydown", (event) => menuKey(v, menu, event));
	menu.addEventListener("input", ({ target }) => retyped(v, menu, target as HTMLInputElement));
	menu.querySelector<HTMLElement>("button:not([aria-disabled=true])")?.focus({ preventScroll: true });
}

function placeMenu(v: View, menu: HTMLElement, opener: Element) {
	const [room, at] = [v.root, opener].map((e) => e.getBoundingClientRect()),
		{ offsetWidth: wide, offsetHeight: high } = menu,
		below = opener.matches("button"), // else at its side
		side = at.right + 8 + wide > room.right ? at.left - wide - 8 : at.right + 8,
		left = (below ? at.left : side) - room.left,
		top = (below ? at.bottom + 4 : (at.top + at.bottom - high) / 2) - room.top;
	menu.style.left = `${Math.max(8, Math.min(left, room.width - wide - 8))}px`;
	menu.style.top = `${Math.max(8, Math.min(top, room.height - high - 8))}px`;
}

export function closeMenu(v: View, back = false) {
	const { menu, opener } = v;
	if (!menu) return;
	menu.remove();
	v.menu = undefined;
	if (back) ((opener?.isConnected ? opener : v.root) as HTMLElement).focus({ preventScroll: true });
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

function menuKey(v: View, menu: HTMLElement, event: KeyboardEvent) {
	const { key, shiftKey } = event,
		target = event.target as HTMLElement,
		all = [...menu.querySelectorAll<HTMLElement>("button, input, select")],
		by = STEPS[key];
	if (event.ctrlKey || event.metaKey || event.altKey || (key === "Enter" && shiftKey)) return;
	event.stopPropagation();
	const at = all.indexOf(target) + (key === "Tab" ? (shiftKey ? -1 : 1) : (by ?? 0));
	if (key === "Escape") closeMenu(v, true);
	else if (key === "Tab" || (by && target.matches("button"))) all.at(at % all.length)?.focus();
	else return;
	event.preventDefault();
}

// A number or a frame was chosen in the menu: its button is about that now.
function retyped(v: View, menu: HTMLElement, { name, value }: HTMLInputElement) {
	const button = menu.querySelector<HTMLButtonElement>(`[data-press=${name === "after" ? "reorder" : "delay"}]`);
	if (!button) return;
	if (name !== "after") button.dataset.no = whyPress(v.run, v.step, "delay", button.dataset.target, Number(value));
	button.setAttribute("aria-disabled", String(!!button.dataset.no));
	button.title = asSentence(button.dataset.no ?? "");
}

// Press what was clicked in a menu; a button that would change nothing says why, there and in the sentence.
export function choose(v: View, button: HTMLElement) {
	const { press: action = "", target = "", details = "{}", no = "" } = button.dataset,
		asked: Choice = JSON.parse(details),
		typed = (name: string) => v.menu?.querySelector<HTMLInputElement>(`[name=${name}]`)?.value ?? "";
	if (action === "delay") asked.delay_ms = Number(typed("delay_ms"));
	const other = faultOf(action)?.other;
	if (other) asked[other] = typed("after");
	const why = v.journey.klab.busy ? "Python is making the new run." : asSentence(no),
		status = v.menu?.querySelector("[role=status]");
	if (why && status) status.textContent = why;
	if (why) return;
	closeMenu(v, true);
	press(v.journey, action, target, asked);
}
