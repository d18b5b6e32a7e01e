// What presses make of a recorded run, as far as the book has it beside the page: it answers at once, without Python.
//
// kafkalab/site/book/futures.py says which presses these are. The runs that the page knows can be gone back to, too.

import type { Run } from "../types";
import type { Values } from "./page_model";
import type { Message, RunModel } from "./run_model";
import { futureNamed } from "./stored";

// A text as parts of another one: see `Difference` in futures.py.
export type Parts = Array<string | number>;

interface Shown {
	payload: string;
	verdict: Values;
	shared: Values; // of Share: the code at least
}

export interface Future extends Omit<Shown, "payload"> {
	payload: Parts;
	step: number;
	row: Values;
}

interface Fork {
	id: number;
	parent: number;
	at: number;
	landed: number;
}

export function patched(before: string, parts: Parts): string {
	let after = "",
		ahead = 0; // goes through `before`
	for (let i = 0; i < parts.length; i += 3) {
		const [text, distance, length] = parts.slice(i) as [string, number?, number?];
		after += text;
		if (distance === undefined || length === undefined) break;
		ahead += text.length + distance;
		after += before.slice(ahead, ahead + length);
		ahead += length;
	}
	return after;
}

// What a press is looked up by: `Press.key` in Python.
export function keyOf({ kind, action, target = "", step, ...details }: Message): string {
	const named = Object.entries(details)
			.filter(([, value]) => value !== undefined)
			.sort(),
		where = String(target).includes("#") ? "" : ` @${step}`;
	return `${action} ${target}${where} ${named.length ? JSON.stringify(Object.fromEntries(named)) : ""}`.trim();
}

const wayTo = (tree: Fork[], id: number): number[] => (id < 0 ? [] : [...wayTo(tree, tree[id].parent), id]);

// The runs of a journey that the page has, and where undo and redo lead.
export class Foretold {
	private readonly journey: RunModel;
	private readonly files: Record<string, string>;
	private readonly fetch: (name: string) => Promise<Future>;
	private readonly recorded: string;
	private readonly begun: number;
	private readonly runs = new Map<number, Shown>();
	private readonly visited = new Map<number, number>();

	constructor(journey: RunModel, files: Record<string, string>, fetch = futureNamed) {
		const { payload, verdict, place } = journey.values;
		this.journey = journey;
		this.files = files;
		this.fetch = fetch;
		this.recorded = String(payload);
		this.begun = Number(place);
		this.runs.set(this.begun, { payload: this.recorded, verdict: verdict as Values, shared: {} });
		for (const { id } of this.tree) this.enter(id);
		this.enter(this.begun);
		journey.on("change:step", () => this.expect());
	}
	// Loads what the bar's buttons would make of the frame at the cursor.
	private expect() {
		const run = (this.journey.klab as { run?: Pick<Run, "events"> } | undefined)?.run,
			frame = run?.events[Number(this.journey.values.step)]?.frame;
		for (const action of ["drop", "duplicate"]) this.load(`${action} ${frame}`).catch(() => {}); // a press tells why
	}
	private get tree() {
		return this.journey.values.tree as Fork[];
	}
	private get place() {
		return Number(this.journey.values.place);
	}
	private enter(id: number) {
		for (const child of wayTo(this.tree, id).slice(1)) this.visited.set(this.tree[child].parent, child);
	}
	private async load(key: string): Promise<Future | undefined> {
		const name = Object.hasOwn(this.files, key) ? this.files[key] : undefined;
		return name === undefined ? undefined : this.fetch(name);
	}

	// Does what a message asks for, if the page knows enough.
	async answer(message: Message): Promise<boolean> {
		if (message.kind !== "press") return false;
		const { action, target, step } = message as Message & { action: string; target: string; step: number },
			to = { undo: this.tree[this.place].parent, redo: this.visited.get(this.place), goto: Number(target) }[action],
			done = to === undefined ? await this.press(keyOf(message)) : await this.travel(to, step);
		if (done) this.journey.hear({ kind: "done" });
		return done;
	}
	private async press(key: string): Promise<boolean> {
		const future = this.place === this.begun ? await this.load(key) : undefined,
			{ journey, tree } = this,
			id = tree.length;
		if (!future) return false;
		const { payload, step, row, ...run } = future;
		this.runs.set(id, { ...run, payload: patched(this.recorded, payload) });
		journey.codes = [...journey.codes, String(run.shared.code)];
		this.show(id, step, [...tree, { id, parent: this.place, name: "", ...row } as unknown as Fork]);
		return true;
	}
	private async travel(to: number, step: number): Promise<boolean> {
		const { tree, place } = this,
			way = wayTo(tree, place),
			later = tree[way[way.indexOf(to) + 1]];
		if (!tree[to]) return false;
		if (!this.runs.has(to)) {
			const future = await this.load(`run ${to}`);
			if (!future) return false;
			this.runs.set(to, { ...future, payload: patched(this.recorded, future.payload) });
		}
		this.show(to, way.includes(to) ? Math.min(step, later?.at ?? step) : tree[to].landed);
		return true;
	}
	private show(place: number, step: number, tree = this.tree) {
		this.keepShared();
		const { payload, verdict } = this.runs.get(place) as Shown,
			goesBack = wayTo(tree, this.place).includes(place);
		this.journey.values.tree = tree;
		if (!goesBack) this.enter(place);
		const can = { can_undo: tree[place].parent >= 0, can_redo: this.visited.has(place) };
		this.journey.update({ payload, opened: [], step, tree: [...tree], place, ...can, verdict: { ...verdict, place } });
		for (const view of this.journey.views) this.tell(view);
	}
	private keepShared() {
		const run = this.runs.get(this.place),
			share = this.journey.views.find(({ part }) => part === "share");
		if (run && share) run.shared = share.values.shared as Values;
	}
	// Lets a picture follow that has values of its own for each run.
	tell(view: RunModel) {
		const { place } = this,
			{ shared = {}, verdict = {} } = this.runs.get(place) ?? {};
		if (view.part === "share" && "code" in shared) view.update({ shared: { ...shared, place } });
		if (view.part === "verdict") view.update({ told: { ...verdict, place } });
	}
}
