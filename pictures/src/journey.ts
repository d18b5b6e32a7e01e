// A journey, which all views of it share: its run, its cursor, presses, and what the kernel answers.

import { openRun } from "./run";
import type { Journey, JourneyValues, Message, Model, Run, Size } from "./types";

// Longer than between two presses of one who walks fast: the kernel's answer costs a frame or two.
export const SAVE_MS = 300,
	PATIENCE_MS = 20000;

type Hear = (message: Message) => void;

// What the views of a journey have computed of it, and who hears of it.
export interface Shared {
	busy: boolean;
	growing: boolean;
	readonly heard: Set<Hear>;
	readonly grows: Set<() => void>;
	tell: Hear;
	checking?: number; // the run whose verdict the kernel was asked for
	payload?: string;
	run?: Run;
	saving?: ReturnType<typeof setTimeout>;
	waiting?: ReturnType<typeof setTimeout>;
}

// The model that all views of a journey share, with what they compute of it kept on it.
export async function journeyOf(model: Model<{ journey?: string }>): Promise<Journey> {
	const journey = (await model.widget_manager.get_model(
		String(model.get("journey")).slice("IPY_MODEL_".length),
	)) as Journey;
	journey.klab ??= { busy: false, growing: false, heard: new Set(), grows: new Set(), tell: () => {} };
	return journey;
}

// What Jupyter's widgets have beside what anywidget promises.
interface WidgetModel {
	comm?: { on_msg?: (hear: unknown) => void };
	_handle_comm_msg?: (message: unknown) => unknown;
}

// Lets a view's model hear the kernel whatever happens: anywidget's drops all that the kernel says, for good, if the
// page was too busy to load the view's module within two seconds, as it may be while all cells of a lab run.
export async function hearAlways(model: Pick<Model<object>, "widget_manager">) {
	const id = (model as Model<{ _own_id?: string }>).get("_own_id"),
		own = id ? ((await model.widget_manager.get_model(id)) as WidgetModel) : undefined;
	if (!own?.comm?.on_msg) return;
	let patient: WidgetModel = own;
	while (!Object.hasOwn(patient, "_handle_comm_msg")) patient = Object.getPrototypeOf(patient);
	const hear = Object.getPrototypeOf(patient)._handle_comm_msg;
	if (hear) own.comm.on_msg(hear.bind(own));
}

// A part of a run that goes on: its first step, and where the kernel's cursor was and is.
type Part = Message & { from: number; text: string; step: number; was?: number };

// Adds a part to a run that goes on; asks for what lies between if it does not follow what is known. Views grow when
// run and cursor are those of the part.
function grown(journey: Journey, { from, text, step, was }: Part) {
	const { klab } = journey;
	if (!klab.run) return;
	if (from > klab.run.events.length) return askMore(journey, klab.run);
	if (from < klab.run.events.length) return;
	klab.run.grow(text);
	klab.growing = true;
	// unless the kernel did not know yet where the cursor had gone
	if (klab.busy || (was ?? journey.get("step")) === journey.get("step")) journey.set("step", step);
	klab.growing = false;
	for (const grow of klab.grows) grow();
}

const askMore = (journey: Journey, run: Run) => journey.send({ kind: "more", have: run.events.length });

// Whether → lets a frame go: the cursor is at the end of a run that goes on.
export const isAtTheEnd = ({ run, stops, step }: { run: Run; stops: number[]; step: number }) =>
	!!run.live && !((stops.at(-1) ?? -1) > step);

// The run that a journey shows, opened once for all its views.
export function runOf(journey: Journey): Run {
	const payload = journey.get("payload"),
		{ klab } = journey;
	if (!klab.run || klab.payload !== payload) Object.assign(klab, { payload, run: openRun(payload) });
	return klab.run as Run;
}

// Moves the cursor of all views; the kernel is told when it has stood still for a moment.
export function moveTo(journey: Journey, step: number) {
	const { klab } = journey;
	journey.set("step", step);
	clearTimeout(klab.saving);
	klab.saving = setTimeout(() => journey.send({ kind: "step", step }), SAVE_MS); // a save is echoed, late
}

// Asks the kernel for a press. Until it answers, `journey.klab.busy` holds, and no other view may ask.
export function press(journey: Journey, action: string, target = "", details: object = {}) {
	const { klab } = journey;
	if (klab.busy) return;
	clearTimeout(klab.saving);
	journey.send({ kind: "press", action, target, step: journey.get("step"), ...details });
	klab.busy = true;
	klab.waiting = setTimeout(answered, journey.patience_ms ?? PATIENCE_MS, journey, {
		kind: "error",
		text: "The kernel does not answer. Run the cell again.",
	});
	for (const hear of klab.heard) hear({ kind: "asked" });
}

function answered(journey: Journey, message: Message) {
	if (!/^(done|error)$/.test(message?.kind)) return;
	journey.klab.busy = false;
	clearTimeout(journey.klab.waiting);
	for (const hear of journey.klab.heard) hear(message);
}

type Handlers = { step: () => void } & Partial<Record<keyof JourneyValues | "verdict", () => void>>;

// Calls `handlers[trait]` when that trait of the journey changes, `hear` with {kind: "asked" | "done" | "error", text},
// and `grow` when a run that goes on has grown and the cursor has followed; gives back how to stop that.
export function listen(journey: Journey, { step, ...others }: Handlers, hear: Hear, grow = others.payload ?? step) {
	const { klab } = journey,
		{ heard, grows } = klab,
		handlers = Object.entries({ ...others, step: () => klab.growing || step() });
	if (!heard.size) {
		klab.tell = (message) => (message?.kind === "more" ? grown(journey, message as Part) : answered(journey, message));
		journey.on("msg:custom", klab.tell);
		if (klab.run?.live) askMore(journey, klab.run); // what has come since the payload was sent
	}
	heard.add(hear);
	grows.add(grow);
	const deaf = hearSize(journey);
	for (const [name, handle] of handlers) journey.on(`change:${name}`, handle);
	return () => {
		for (const [name, handle] of handlers) journey.off(`change:${name}`, handle);
		heard.delete(hear);
		grows.delete(grow);
		deaf();
		if (!heard.size) journey.off("msg:custom", klab.tell);
	};
}

// Of several views of a journey only the one with the keyboard reads its line aloud. Gives what has to be called before
// the line changes.
export function aloud(journey: Journey, root: Element, line: Element, signal?: AbortSignal) {
	const tell = () => {
		const heard = root.contains(document.activeElement) || journey.klab.heard.size < 2;
		line.setAttribute("aria-live", heard ? "polite" : "off");
	};
	root.addEventListener("focusin", tell, { signal });
	return tell;
}

type Sized = Pick<Model<{ size: Size | "" }>, "get">;

// The size of a view: the journey's if it has one, else its own.
export const sizeOf = (model: Sized, journey?: Sized): Size => (journey?.get("size") || model.get("size")) as Size;

// The page remembers the size that was switched on in one of its pictures; `one`, a journey or a view without a
// journey, takes it over, also if it is opened later. Gives back how to stop that.
export function hearSize(one: Pick<Journey, "get" | "set" | "save_changes"> & Partial<Journey>) {
	const { dataset } = document.documentElement;
	const take = () => {
		if (!dataset.klabSize || one.get("size") === dataset.klabSize) return;
		one.set("size", dataset.klabSize as Size);
		if (one.klab) one.save_changes();
	};
	document.addEventListener("klab-size", take);
	take();
	return () => document.removeEventListener("klab-size", take);
}
