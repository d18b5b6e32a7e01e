// A view that stands alone: a bar that moves the cursor, the sentence of the step, keys, help.

import "./view.css";
import { keyName, nameOf, time } from "./basics";
import { aloud, hearAlways, journeyOf, listen, moveTo, press, runOf, sizeOf } from "./journey";
import { type Markup, html, nothing, render, type TemplateResult } from "./lit";
import { MOVES, type Move, Stepper, type Tool, isMove, placeOf, whyNoMove } from "./stepper";
import type { Journey, Model, Run, Size, State } from "./types";
import { walkStops } from "./walk";

export type Tools = Record<string, Tool>;

export interface ViewValues {
	journey?: string;
	size: Size;
}

const HELP: Tool = ["?", "Help", "?"],
	BAR: Move[] = ["home", "left", "play", "right", "end"];
let instances = 0;

// Of `count` things that ↑ and ↓ go through: why a step from the one at `at` is not possible, "" if it is; and where it
// goes, from none to the first or the last.
export function edgeOf(action: string, at: number, count: number, what: string): string {
	if (action === "up" && at === 0) return `This is the first ${what}.`;
	return action === "down" && at === count - 1 ? `This is the last ${what}.` : "";
}
export function besideOf(action: string, at: number, count: number): number {
	const by = action === "down" ? 1 : -1;
	return at < 0 ? (by > 0 ? 0 : count - 1) : at + by;
}

// To be written: `name`, `title`, `tools`, `first`, `body` and `legend`; where they are needed `buttons` (those of the
// tools that are in the bar), `traits`, `head`, `load` for another run, `show` before and `drawn` after each drawing,
// `why` a tool would do nothing, `act`, `choose`, `pressed`, and `close`.
export abstract class View<V extends ViewValues = ViewValues> {
	abstract readonly name: string;
	abstract readonly tools: Tools;
	// The keys that the help names first, besides → and ←.
	abstract readonly first: readonly string[];
	readonly buttons: readonly string[] = [];
	readonly traits: ReadonlyArray<keyof V & string> = [];
	readonly model: Model<V>;
	readonly el: HTMLElement;
	journey!: Journey;
	run!: Run;
	state!: State;
	groups: ReadonlySet<string> = new Set();
	hiding: ReadonlySet<string> = new Set();
	stops: number[] = [];
	turns?: number[];
	step = 0;
	// The step drawn before; Infinity when the run is another.
	before = 0;
	private readonly number = ++instances;
	private readonly closed = new AbortController();
	private readonly stepper = new Stepper(
		this,
		(step) => moveTo(this.journey, step),
		() => press(this.journey, "right"),
		() => this.render(),
	);
	private helps = false;
	private setting = false;
	private voice = () => {};

	constructor(model: Model<V>, el: HTMLElement) {
		this.model = model;
		this.el = el;
	}

	abstract title(): string;
	abstract body(): Markup;
	abstract legend(): TemplateResult;
	head(): Markup {
		return "";
	}
	load() {}
	show() {}
	drawn() {}
	close() {}
	why(_action: string): string {
		return "";
	}
	act(_action: string) {}
	choose(_what: string) {}
	pressed(_action: string): boolean | undefined {
		return undefined;
	}

	get<K extends keyof V & string>(name: K): V[K] {
		return this.model.get(name);
	}
	// Values of this view alone, which the kernel gets to know.
	set(values: Partial<V>) {
		this.setting = true;
		for (const name of Object.keys(values) as Array<keyof V & string>)
			this.model.set(name, values[name] as V[typeof name]);
		this.setting = false;
		this.model.save_changes();
		this.draw();
	}
	get root(): HTMLElement {
		return this.el.querySelector(".klab") as HTMLElement;
	}
	$<E extends Element = HTMLElement>(selector: string): E {
		return this.root.querySelector(selector) as E;
	}
	// An id that no other view of the page has.
	id(name: string) {
		return `klab-${this.name}${this.number}-${name}`;
	}
	private get all(): Tools {
		return { ...MOVES, ...this.tools, help: HELP };
	}

	async open(): Promise<() => void> {
		await hearAlways(this.model);
		this.journey = await journeyOf(this.model);
		this.take();
		this.render();
		this.voice = aloud(this.journey, this.root, this.$(".now"), this.closed.signal);
		this.draw();
		this.listen();
		return () => {
			this.closed.abort();
			this.stepper.pause();
			this.close();
			render(nothing, this.el);
		};
	}
	private listen() {
		const again = () => this.again(),
			drawn = () => this.setting || this.draw(),
			heard = { payload: again, groups: again, hidden: again, size: again, every: again, opened: again };
		const deaf = listen(this.journey, { ...heard, step: drawn }, ({ kind, text }) => {
			if (kind === "error") this.say(String(text), "said wrong");
		});
		this.closed.signal.addEventListener("abort", deaf);
		for (const [name, hear] of [["size", again] as const, ...this.traits.map((one) => [one, drawn] as const)]) {
			this.model.on(`change:${name}`, hear);
			this.closed.signal.addEventListener("abort", () => this.model.off(`change:${name}`, hear));
		}
	}

	private take() {
		const { journey } = this;
		this.run = runOf(journey);
		this.groups = new Set(journey.get("groups"));
		this.hiding = new Set(journey.get("hidden"));
		this.stops = walkStops(this.run, journey);
		this.before = Infinity;
		this.load();
		this.stand();
	}
	private stand() {
		this.step = Math.max(0, Math.min(this.journey.get("step"), this.run.last));
		this.state = this.run.at(this.step);
	}
	private again() {
		this.take();
		this.draw();
	}
	draw() {
		const focused = this.root.contains(document.activeElement);
		this.stand();
		this.voice();
		this.render();
		const { text = "", kind = "" } = this.run.events[this.step] ?? {};
		this.say(text, kind);
		this.drawn();
		if (focused && !this.root.contains(document.activeElement)) this.focus();
		this.before = this.step;
	}
	private focus() {
		this.root.focus({ preventScroll: true });
	}
	say(text: string, how = "said") {
		const now = this.$(".now");
		now.textContent = text;
		now.className = `now ${how}`;
	}

	private render() {
		this.show();
		const { run, step, stops, name } = this,
			at = html`<b>${placeOf(this) + 1}</b> of ${stops.length} · t = <b>${time(run.events[step]?.at ?? 0)}</b>`;
		render(
			html`<div class="klab ${name}" tabindex="0" role="application" data-step=${step}
				data-stop-index=${placeOf(this) + 1} data-stop-count=${stops.length} data-size=${sizeOf(this.model, this.journey)}
				aria-label="${this.title()}: ${run.title}. Arrow keys step, question mark for help."
				@keydown=${this.press} @click=${this.click}>
				<div class="bar"><div>${BAR.map((action) => this.tool(action))}</div><b class="title">${this.title()}</b>
				<span class="where">step ${at}</span>${this.head()}
				<div>${[...this.buttons, "help"].map((action) => this.tool(action))}</div></div>
				<p class="now" role="status" aria-live="polite"></p>${this.body()}${this.help()}</div>`,
			this.el,
		);
	}
	private tool(action: string, word?: string) {
		const [sign, title, key] = this.all[action],
			no = isMove(action) ? whyNoMove(this, action) : this.why(action),
			label = word ?? (action === "play" ? this.stepper.sign : sign),
			told = `${title} (${keyName(key)})`;
		return html`<button type="button" data-action=${action} title=${no || told} aria-label=${nameOf(label, told)}
			aria-disabled=${!!no} aria-description=${no || nothing}
			aria-pressed=${this.pressed(action) ?? nothing}>${label}</button>`;
	}
	private help() {
		const first = ["right", "left", ...this.first],
			others = Object.keys(this.all).filter((action) => !first.includes(action)),
			row = ([, title, key]: Tool) => html`<p><small>${keyName(key)}</small>${title}</p>`,
			rows = (actions: string[]) => actions.map((action) => row(this.all[action]));
		return html`<div class="help" role="dialog" aria-label="Help" ?hidden=${!this.helps}>
			<div class="keys first">${rows(first)}</div><div class="keys">${rows(others)}</div>
			<ul>${this.legend()}</ul>${this.tool("help", "Close")}</div>`;
	}

	private do(action: string) {
		if (isMove(action)) {
			const no = this.stepper.do(action);
			if (no) this.say(no);
			return;
		}
		this.stepper.pause();
		const no = this.why(action);
		if (action === "help") this.turnHelp();
		else if (no) this.say(no);
		else this.act(action);
	}
	private turnHelp() {
		this.helps = !this.helps;
		this.render();
		(this.helps ? this.$(".help button") : this.root).focus({ preventScroll: true });
	}
	// Plain keys stay here; those with Ctrl, and Shift+Enter, are the notebook's.
	private readonly press = (event: KeyboardEvent) => {
		const { key, repeat } = event,
			target = event.target as HTMLElement;
		if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (key === "Escape" && this.helps) return this.turnHelp();
		if (target.matches("select")) return;
		if ((key === " " || key === "Enter") && target.matches("button, [data-choose]")) {
			if (target.matches("button")) return;
			event.preventDefault();
			return target.click();
		}
		const pressed = key.length === 1 ? key.toLowerCase() : key,
			action = Object.keys(this.all).find((one) => this.all[one][2] === pressed);
		if (!action) return;
		event.preventDefault();
		if (!repeat || /left|right|up|down/.test(action)) this.do(action);
	};
	private readonly click = ({ target, detail }: MouseEvent) => {
		const found = (target as Element).closest<HTMLElement>("[data-action], [data-choose]");
		if (!found) return;
		if (detail) this.focus();
		const { action, choose = "" } = found.dataset;
		if (action) this.do(action);
		else this.choose(choose);
	};
}

// What anywidget calls to show a view of this kind.
export const viewOf = <V extends ViewValues>(Kind: new (model: Model<V>, el: HTMLElement) => View<V>) => ({
	render: ({ model, el }: { model: Model<V>; el: HTMLElement }) => new Kind(model, el).open(),
});
