// The menu of an envelope, and that of a lane's head: every fault that can strike it, each with its reason why not.

import { DELAY_MS, detailOf, inFlight, laterThan, whyNext, whyNotFlying, whyPress } from "./presses";
import { asSentence, esc, parse, press } from "./run";

// A button of a menu. `details` go with the press; `no` is why it would change nothing.
const choice = (action, target, label, title, no = "", details = {}) =>
	`<button type="button" data-press="${action}" data-target="${esc(target)}"` +
	` data-details="${esc(JSON.stringify(details))}" data-no="${esc(no)}" aria-disabled="${!!no}"` +
	`${no ? ` aria-description="${esc(asSentence(no))}"` : ""}` +
	` title="${esc(no ? asSentence(no) : title)}">${esc(label)}</button>`;
const line = (name, ...parts) => `<div class="line"><small>${name}</small><span>${parts.join("")}</span></div>`;
const shownHere = ({ journey }) => [new Set(journey.get("groups")), new Set(journey.get("hidden"))];
const flyingHere = (v) => inFlight(v.run, v.step, ...shownHere(v));

// Why a fault on a frame would change nothing here: it must be in flight.
const whyStrike = (v, action, f, detail) =>
	whyNotFlying(v.run, v.step, f) || whyPress(v.run, v.step, action, f.id, detail);

export function envelopeMenu(v, f) {
	const { run, step } = v,
		of = (action, label, title, details = {}, no = whyStrike(v, action, f, detailOf(details))) =>
			choice(action, f.id, label, title, no, details);
	const [groups] = shownHere(v),
		later = laterThan(run, f).filter((o) => groups.has(o.category)),
		options = later.map((o) => `<option>${esc(o.id)}</option>`),
		held = !whyPress(run, step, "release", f.id);
	const wait =
		`<label><input type="number" name="delay_ms" min="1" value="${DELAY_MS}" aria-label="Delay in ms">ms</label>` +
		of("delay", "delay", "It arrives later, and is overtaken", { delay_ms: DELAY_MS });
	const until = options.length
		? `<label><select name="after" aria-label="Hold until this frame has arrived">${options.join("")}</select>` +
			` has arrived</label>${of("reorder", "hold", "It arrives right after that frame", { after: "" })}`
		: "";
	return [
		line(
			"frame",
			of("drop", "× drop", "It is lost on its way"),
			of("duplicate", "×2 duplicate", "It arrives twice"),
			held
				? of("release", "release", "It arrives now")
				: of("hold", "hold", "It stays on its way until it is released"),
		),
		line("delay", wait),
		until && line("hold until", until),
		line("crash", ...[crashOfSender(v, f), crashOfReceiver(v, f)]),
		line("arrives next", ...flyingHere(v).map((o) => nextChoice(v, o))),
	].join("");
}

const nextChoice = (v, f) =>
	choice("next", f.id, f.id, `Of the frames in flight, ${f.id} arrives next`, whyNext(v.run, v.step, f, flyingHere(v)));

// The sender crashes here: what it has sent before arrives, and so does the frame that it sends at this step.
function crashOfSender({ run, step }, f) {
	const details = step === f.sent ? { sent: true } : {};
	const no = whyPress(run, step, "crash", f.from, detailOf(details));
	return choice("crash", f.from, `${run.label(f.from)}, after sending`, "The frame arrives all the same", no, details);
}

// The receiver crashes when it has the frame, before it does anything about it.
function crashOfReceiver({ run }, f) {
	const never = f.received === null ? `${f.id} never arrives in this run` : "",
		no = never || whyPress(run, f.received, "crash", f.to);
	const label = `${run.label(f.to)}, on arrival`,
		title = "It receives the frame, and does nothing about it";
	return choice("crash", f.to, label, title, no, never ? {} : { step: f.received });
}

const NODE_MENU = [
	["crash", "crash", "The process ends. The frame that it is about to send never leaves"],
	["crash", "crash after sending", "The process ends. The frame that it has just sent arrives", { sent: true }],
	["restart", "restart", "The broker starts again, with its logs"],
	["pause", "pause", "It does nothing; what arrives waits"],
	["resume", "resume", "It continues, first with all that has waited"],
	["cut", "isolate", "No frame gets from here to any other node or back"],
	["heal", "rejoin", "Frames fly to and from here again"],
];

export const nodeMenu = ({ run, step }, { id }) =>
	line(
		"",
		...NODE_MENU.map(([action, label, title, details = {}]) =>
			choice(action, id, label, title, whyPress(run, step, action, id, detailOf(details)), details),
		),
	);

// Open a menu beside an element: `title` is markup, `body` that of its lines.
export function openMenu(v, opener, title, body) {
	closeMenu(v);
	const menu = parse(
		v.root,
		`<div class="menu" role="dialog" aria-label="Faults"><header>${title}</header>${body}
		<p role="status"></p></div>`,
	);
	v.root.append(menu);
	Object.assign(v, { menu, opener });
	const [room, at] = [v.root, opener].map((e) => e.getBoundingClientRect()),
		{ offsetWidth: wide, offsetHeight: high } = menu;
	const below = opener.matches("button"), // else at its side
		side = at.right + 8 + wide > room.right ? at.left - wide - 8 : at.right + 8,
		left = (below ? at.left : side) - room.left,
		top = (below ? at.bottom + 4 : (at.top + at.bottom - high) / 2) - room.top;
	menu.style.left = `${Math.max(8, Math.min(left, room.width - wide - 8))}px`;
	menu.style.top = `${Math.max(8, Math.min(top, room.height - high - 8))}px`;
	menu.addEventListener("keydown", (event) => menuKey(v, event));
	menu.addEventListener("input", ({ target }) => retyped(v, target));
	menu.querySelector("button:not([aria-disabled=true])")?.focus({ preventScroll: true });
}

export function closeMenu(v, back = false) {
	if (!v.menu) return;
	const { opener } = v;
	v.menu.remove();
	v.menu = null;
	if (back) (opener.isConnected ? opener : v.root).focus({ preventScroll: true });
}

function menuKey(v, event) {
	const { key, target, shiftKey } = event,
		all = [...v.menu.querySelectorAll("button, input, select")];
	if (event.ctrlKey || event.metaKey || event.altKey || (key === "Enter" && shiftKey)) return;
	event.stopPropagation();
	const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
	const at = all.indexOf(target) + (key === "Tab" ? (shiftKey ? -1 : 1) : (by ?? 0));
	if (key === "Escape") closeMenu(v, true);
	else if (key === "Tab" || (by && target.matches("button"))) all.at(at % all.length).focus();
	else return;
	event.preventDefault();
}

// A number or a frame was chosen in the menu: its button is about that now.
function retyped(v, { name, value }) {
	const button = v.menu.querySelector(`[data-press=${name === "after" ? "reorder" : "delay"}]`),
		no = name === "after" ? "" : whyPress(v.run, v.step, "delay", button.dataset.target, Number(value));
	button.dataset.no ||= no;
	if (name !== "after") button.dataset.no = no;
	button.setAttribute("aria-disabled", String(!!button.dataset.no));
	button.title = asSentence(button.dataset.no);
}

// Press what was clicked in a menu; a button that would change nothing says why, there and in the sentence.
export function choose(v, button) {
	const { press: action, target, details, no } = button.dataset,
		asked = JSON.parse(details);
	if (action === "delay") asked.delay_ms = Number(v.menu.querySelector("[name=delay_ms]").value);
	if (action === "reorder") asked.after = v.menu.querySelector("[name=after]").value;
	const why = v.journey.klab.busy ? "The kernel is making the new run." : asSentence(no);
	if (why) v.menu.querySelector("[role=status]").textContent = why;
	else closeMenu(v, true), press(v.journey, action, target, asked);
}
