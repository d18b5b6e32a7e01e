// What the panels share: a journey, the line that is read aloud, the help on "?", the keys that step and undo.

import "./panel.css";
import { asSentence, nameOf } from "./basics";
import { aloud, hearAlways, hearSize, journeyOf, listen, moveTo, press, runOf, sizeOf } from "./journey";
import { type Markup, html, nothing, render, type TemplateResult } from "./lit";
import { isMove, targetOf } from "./stepper";
import type { Journey, Message, Model, Run, Size } from "./types";
import { walkStops } from "./walk";

export type Keys = Record<string, string | [string, string]>;

export interface PanelValues {
	journey?: string;
	size: Size;
}

// What a button has beside its action: what it is about, what it says and tells, whether it is on.
interface ToolOptions {
	target?: string | number;
	detail?: string;
	name?: string;
	title?: string;
	pressed?: boolean;
	current?: boolean;
}

const PANEL_KEYS: Keys = {
	Home: "home",
	ArrowLeft: "left",
	ArrowRight: "right",
	End: "end",
	z: "undo",
	y: "redo",
	"?": "help",
};
const isTyping = (target: Element) => target.matches("input, select, textarea");
const isPlain = (event: KeyboardEvent) => !(event.ctrlKey || event.metaKey || event.altKey);

// A panel in `el`. To be written: `name`, `title`, `inside`, `help`; where needed `keys`, `traits`, `where`; `change`,
// which comes before each drawing; `why` a button would do nothing; `act`, which says whether it has done something.
export abstract class Panel<V extends PanelValues = PanelValues> {
	abstract readonly name: string;
	abstract readonly title: string;
	readonly keys: Keys = {};
	readonly traits: ReadonlyArray<keyof V & string> = [];
	readonly model: Model<V>;
	readonly el: HTMLElement;
	protected readonly closed = new AbortController();
	protected helps = false;

	constructor(model: Model<V>, el: HTMLElement) {
		this.model = model;
		this.el = el;
	}

	abstract inside(): Markup;
	abstract help(): TemplateResult;
	change() {}
	where(): Markup {
		return "";
	}
	why(_action: string, _target: string, _detail: string): string {
		return "";
	}
	act(_action: string, _target: string, _detail: string): boolean {
		return false;
	}
	// What the kernel says to this picture alone.
	hear({ kind, text }: Message) {
		if (kind === "error") this.say(String(text), "said wrong");
	}

	get<K extends keyof V & string>(name: K): V[K] {
		return this.model.get(name);
	}
	set<K extends keyof V & string>(name: K, value: V[K]) {
		this.model.set(name, value);
		this.model.save_changes();
	}
	get root(): HTMLElement {
		return this.el.querySelector(".klab") as HTMLElement;
	}
	$<E extends HTMLElement = HTMLElement>(selector: string): E {
		return this.root.querySelector(selector) as E;
	}

	async open(): Promise<() => void> {
		await hearAlways(this.model);
		this.show();
		this.listen();
		this.draw();
		return () => {
			this.closed.abort();
			render(nothing, this.el); // not replaceChildren: lit-html would draw the next picture into what is gone
		};
	}
	protected listen() {
		const drawn = () => this.draw();
		this.on(hearSize(this.model));
		for (const name of [...this.traits, "size"]) this.hearFrom(this.model, `change:${name}`, drawn);
		this.hearFrom(this.model, "msg:custom", (message) => this.hear(message));
	}
	protected hearFrom<W>(model: Model<W>, name: string, hear: (message: Message) => void) {
		model.on(name, hear);
		this.on(() => model.off(name, hear));
	}
	// Calls `close` when the panel is closed.
	protected on(close: () => void) {
		this.closed.signal.addEventListener("abort", close);
	}

	say(text: string, how = "said") {
		const now = this.$(".now");
		now.textContent = text;
		now.className = `now ${how}`;
	}
	draw() {
		const focused = this.root.contains(document.activeElement);
		this.change();
		this.show();
		if (focused && !this.root.contains(document.activeElement)) this.focus();
	}
	focus() {
		this.root.focus({ preventScroll: true });
	}
	size(): Size {
		return sizeOf(this.model);
	}
	// Brings the markup up to date: also what becomes of a button whose reason has changed.
	show() {
		render(this.shell(), this.el);
	}
	protected shell() {
		return html`<div class="klab panel ${this.name}" tabindex="0" role="group" data-size=${this.size()}
			aria-label="${this.title}. Question mark for help." @keydown=${this.press} @click=${this.click}>
			<div class="bar"><h3 role="none">${this.title}</h3><span class="where">${this.where()}</span>
			${this.tool("help", "?", { name: "Help" })}</div>
			<p class="now" role="status" aria-live="polite"></p><div class="inside">${this.inside()}</div>
			<div class="help" role="dialog" aria-label="Help" ?hidden=${!this.helps}><div>${this.help()}</div>
			<div><p><small>← →</small>Back, forward, in all pictures of this journey</p>
			<p><small>Home End</small>First and last step</p><p><small>z y</small>Undo, redo</p>
			<p><small>?</small>This help</p>${this.tool("help", "Close")}</div></div></div>`;
	}
	tool(action: string, label: Markup, options: ToolOptions = {}): TemplateResult {
		const { target = "", detail = "", name, title, pressed, current } = options,
			no = asSentence(action === "help" ? "" : this.why(action, String(target), detail)),
			told = name && typeof label === "string" ? nameOf(label, name) : name;
		return html`<button type="button" data-action=${action} data-target=${target === "" ? nothing : target}
			data-detail=${detail || nothing} aria-label=${told ?? nothing} title=${no || title || ""}
			aria-pressed=${pressed ?? nothing} aria-current=${current ?? nothing}
			aria-disabled=${!!no} aria-description=${no || nothing}>${label}</button>`;
	}

	// Does what a button does, or says why not.
	do(action: string, target = "", detail = "") {
		if (action === "help") return this.turnHelp();
		const no = this.why(action, target, detail);
		if (no) this.say(asSentence(no));
		else if (!this.act(action, target, detail)) this.otherwise(action, target);
	}
	protected otherwise(_action: string, _target: string) {}
	private turnHelp() {
		this.helps = !this.helps;
		this.show();
		(this.helps ? this.$(".help button") : this.root).focus({ preventScroll: true });
	}
	protected readonly press = (event: KeyboardEvent) => {
		const { key } = event,
			target = event.target as Element;
		if (!isPlain(event) || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (key === "Escape" && this.helps) return this.turnHelp();
		if (isTyping(target) || (target.matches("button, summary") && (key === " " || key === "Enter"))) return;
		const action = { ...PANEL_KEYS, ...this.keys }[key.length === 1 ? key.toLowerCase() : key];
		if (!action) return;
		event.preventDefault();
		const [name, of = ""] = [action].flat();
		if (!event.repeat || isMove(name)) this.do(name, of);
	};
	protected readonly click = ({ target, detail }: MouseEvent) => {
		const found = (target as Element).closest<HTMLElement>("[data-action]");
		if (!found) return;
		const { action = "", target: of, detail: about } = found.dataset;
		this.do(action, of, about);
		if (detail && !this.root.contains(document.activeElement)) this.focus();
	};
}

// A panel of a journey: it has the run shown and the cursor's step.
export abstract class JourneyPanel<V extends PanelValues = PanelValues> extends Panel<V> {
	journey!: Journey;
	run!: Run;
	step = 0;
	private voice = () => {};

	override async open(): Promise<() => void> {
		this.journey = await journeyOf(this.model);
		this.take();
		return super.open();
	}
	protected override listen() {
		super.listen();
		const drawn = () => this.draw(),
			shown = () => this.show(),
			told = (message: Message) => {
				this.show();
				if (message.kind === "error") this.say(String(message.text), "said wrong");
			};
		const heard = { payload: drawn, step: drawn, tree: drawn, place: drawn, groups: drawn, size: drawn };
		this.on(listen(this.journey, { ...heard, can_undo: shown, can_redo: shown }, told, drawn));
		this.voice = aloud(this.journey, this.root, this.$(".now"));
	}
	protected take() {
		this.run = runOf(this.journey);
		this.step = Math.max(0, Math.min(this.journey.get("step"), this.run.last));
	}
	override draw() {
		this.take();
		this.root.dataset.step = String(this.step);
		this.voice();
		super.draw();
	}
	override size(): Size {
		return sizeOf(this.model, this.journey);
	}
	go(step: number) {
		moveTo(this.journey, Math.max(0, Math.min(step, this.run.last)));
	}
	ask(action: string, target = "", details: object = {}) {
		press(this.journey, action, target, details);
	}
	protected override otherwise(action: string, target: string) {
		if (isMove(action)) return this.walk(action);
		if (action === "undo" && !this.journey.get("can_undo")) return this.say("There is no fault to undo.");
		if (action === "redo" && !this.journey.get("can_redo")) return this.say("Nothing has been undone.");
		this.ask(action, target);
	}
	private walk(action: string) {
		const to = targetOf({ run: this.run, stops: walkStops(this.run, this.journey), step: this.step }, action);
		if (to !== undefined) this.go(to);
		else if (action === "right" && this.run.live) this.ask(action);
	}
}

// What anywidget calls to show a panel of this kind.
export const shows = <V extends PanelValues>(Kind: new (model: Model<V>, el: HTMLElement) => Panel<V>) => ({
	render: ({ model, el }: { model: Model<V>; el: HTMLElement }) => new Kind(model, el).open(),
});
