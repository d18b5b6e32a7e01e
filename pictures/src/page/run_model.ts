// The model of a picture or a journey in an article: it keeps its values in the page, and asks Python only for what
// nobody else knows.

import { PageModel, type Values } from "./page_model";
import type { Data, Message } from "./python";

const REFERENCE = "IPY_MODEL_",
	PYTHON = new URL("pictures/python", import.meta.url).href,
	NEEDS_NO_ANSWER = /^(step|check|more)$/; // Python is told, but never started for it

// What a lab's notebook kept of a model: its `part` ("" for a journey), and the codes of a journey's runs.
export interface KeptModel {
	values: Values;
	part: string;
	codes?: string[];
	run?: string;
}

type Python = typeof import("./python");
let python: Python | undefined, loading: Promise<Python> | undefined;

function loadPython(): Promise<Python> {
	const style = document.createElement("link");
	Object.assign(style, { rel: "stylesheet", href: `${PYTHON}.css` });
	document.head.append(style);
	return import(`${PYTHON}.js`).then((module) => (python = module));
}

export class RunModel extends PageModel {
	readonly id: string;
	readonly part: string;
	readonly codes: string[];
	readonly presses: Message[] = []; // that have made the run shown of the recorded one
	klab?: { waiting?: ReturnType<typeof setTimeout> };
	readonly widget_manager = { get_model: async (name: string) => this.named(name) };
	private readonly models: ReadonlyMap<string, RunModel>;
	private dirty: Values = {};
	private pressed: Message | undefined;

	constructor(id: string, { values, part, codes = [] }: KeptModel, models: ReadonlyMap<string, RunModel>) {
		super(values);
		this.id = id;
		this.part = part;
		this.codes = codes;
		this.models = models;
	}
	private named(name: unknown) {
		return this.models.get(String(name).replace(REFERENCE, ""));
	}
	// The journey that it is, or is a picture of.
	get journey(): RunModel | undefined {
		return this.part ? this.named(this.values.journey) : this;
	}
	get views(): RunModel[] {
		return [...this.models.values()].filter((model) => model !== this && model.journey === this);
	}

	override set(name: string, value: unknown) {
		this.dirty[name] = value;
		super.set(name, value);
	}
	override save_changes() {
		const state = this.dirty;
		this.dirty = {};
		if (python?.isThere(this) && Object.keys(state).length) python.ask(this, { method: "update", state });
	}
	send(content: Message) {
		setTimeout(() => clearTimeout(this.klab?.waiting)); // there is no kernel to lose, and a button to stop Python
		if (content.kind === "press") this.pressed = content;
		if (!NEEDS_NO_ANSWER.test(content.kind)) this.ask({ method: "custom", content });
		else if (python?.isThere(this)) python.ask(this, { method: "custom", content });
	}
	private async ask(data: Data) {
		try {
			loading ??= loadPython();
			(await loading).ask(this, data);
		} catch (error) {
			loading = undefined;
			this.refuse(`Python cannot be loaded (${(error as Error).message}). The picture goes on stepping.`);
		}
	}

	// What Python tells.
	update(state: Values) {
		const changed = Object.keys(state).filter((name) => this.values[name] !== state[name]);
		Object.assign(this.values, state);
		for (const name of changed) this.fire(`change:${name}`);
	}
	hear(content: Message) {
		if (content.kind === "done" && this.pressed) this.presses.push(this.pressed);
		this.pressed = undefined;
		this.fire("msg:custom", content, []);
	}
	refuse(text: string) {
		this.hear({ kind: "error", text });
		if (this.journey && this.journey !== this) this.journey.hear({ kind: "error", text });
		if (this.get("what_if")) this.set("strips", { place: this.journey?.get("place"), why: text });
	}
}
