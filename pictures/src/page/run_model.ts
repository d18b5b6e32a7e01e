// The models of the pictures of an article: what is recorded of them, and of a journey what its views share.

import { askPython, tellPython } from "./asking";
import type { Foretold } from "./foretold";
import { type Hear, PageModel, type Values } from "./page_model";

const REFERENCE = "IPY_MODEL_",
	OWN = ["step", "groups", "hidden", "every", "opened"] as const;

// A model as a picture gets it.
export interface Found {
	get(name: string): unknown;
}

export interface Message {
	kind: string;
	[field: string]: unknown;
}
// What the page does with a message that a kernel would get.
export type Answer = (model: RunModel, message: Message) => void;

// What a notebook kept of a model: its `part` ("" for a journey), and the codes that make a journey's runs again.
export interface Recorded {
	values: Values;
	part: string;
	codes?: string[];
}

// The page of the book that opens a run by its code.
const RUN_PAGE = new URL("../run.html", import.meta.url).href;
export const linkToRun = (code: string) => `${RUN_PAGE}#run=${code}`;

// The model that another one names.
export const modelNamed = <M>(models: ReadonlyMap<string, M>, name: string) => models.get(name.replace(REFERENCE, ""));

const FOREVER_MS = 2 ** 31 - 1;
let count = 0;

export class RunModel extends PageModel {
	readonly id = `p${++count}`; // in the page
	readonly part: string;
	codes: string[];
	readonly views: RunModel[] = []; // of a journey
	readonly widget_manager: { get_model(name: string): Promise<Found | undefined> };
	answer: Answer = askPython;
	journey: SharedJourney | undefined;
	foretold: Foretold | undefined; // of a journey
	readonly linkTo = linkToRun;
	readonly patience_ms = FOREVER_MS; // a bar tells that Python is at it, and a button stops it
	klab: unknown;
	private dirty: Values = {};

	constructor({ values, part, codes = [] }: Recorded, models: ReadonlyMap<string, Found> = new Map()) {
		super(values);
		this.part = part;
		this.codes = codes;
		this.widget_manager = { get_model: async (name) => modelNamed(models, name) };
	}
	send(message: Message) {
		this.answer(this, message);
	}
	override set(name: string, value: unknown) {
		this.dirty[name] = value;
		super.set(name, value);
	}
	override save_changes() {
		const state = this.dirty;
		this.dirty = {};
		tellPython(this, state);
	}
	// What Python, or who stands in for it, says.
	update(state: Values) {
		const changed = Object.keys(state).filter((name) => this.values[name] !== state[name]);
		Object.assign(this.values, state);
		for (const name of changed) this.fire(`change:${name}`);
	}
	hear(message: Message) {
		this.fire("msg:custom", message, []);
	}
	refuse(text: string) {
		for (const model of new Set([this, this.journey])) model?.hear({ kind: "error", text });
		if (this.get("what_if")) super.set("strips", { place: this.journey?.get("place"), why: text });
	}
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

// A journey of an article, once for all its pictures: a run that Python makes of it reaches all of them, and so they
// share one model and not only their steps.
export class SharedJourney extends RunModel {
	private moved = false;
	private readonly recorded: Values[] = [];
	private readonly begun = this.values.place; // the run that was recorded

	// The code of a run that a press has made; "" for the recorded one.
	get code() {
		const place = Number(this.get("place"));
		return place === this.begun ? "" : (this.codes[place] ?? "");
	}

	// A picture's way to the journey. Until a reader moves one of them, each shows the step that its text speaks of.
	viewOf(recorded: Values): JourneyView {
		const own = Object.fromEntries(OWN.map((name) => [name, recorded[name]]));
		this.recorded.push(own);
		return new JourneyView(this, own);
	}
	valueFor(own: Values, name: string) {
		return !this.moved && name in own ? own[name] : this.get(name);
	}
	// A reader moves the picture whose recorded values are `own`; the others follow from then on.
	move(own: Values, changed: Values = {}) {
		if (this.moved) return;
		this.moved = true;
		Object.assign(this.values, own, changed);
		for (const name of OWN)
			if (this.recorded.some((one) => !same(one[name], this.values[name]))) this.fire(`change:${name}`);
	}
}

// What a picture has for its journey's model.
export class JourneyView {
	readonly shared: SharedJourney;
	private readonly own: Values;
	constructor(shared: SharedJourney, own: Values) {
		this.shared = shared;
		this.own = own;
	}
	get patience_ms() {
		return this.shared.patience_ms;
	}
	get klab() {
		return this.shared.klab;
	}
	set klab(known) {
		this.shared.klab = known;
	}
	get(name: string) {
		return this.shared.valueFor(this.own, name);
	}
	set(name: string, value: unknown) {
		if (name in this.own && !same(this.get(name), value)) this.shared.move(this.own, { [name]: value });
		this.shared.set(name, value);
	}
	on(name: string, hear: Hear) {
		this.shared.on(name, hear);
	}
	off(name: string, hear: Hear) {
		this.shared.off(name, hear);
	}
	save_changes() {
		this.shared.save_changes();
	}
	send(message: Message) {
		if (message.kind === "press") this.shared.move(this.own);
		this.shared.send(message);
	}
}
