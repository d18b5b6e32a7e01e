// A run of a Kafka cluster as a sequence diagram with logs and states, stepped through in the browser.
//
// What is shown is a fold over the events' patches (openRun), laid out for the visible groups (Plan). The parts draw
// themselves from the view, `v`: diagram, sequence_states, sequence_logs, sequence_verdict, controls, chapters,
// what_if, inspector; links lets the notebook's text move it; faults by hand: envelopes, fault_menu, drawer.

import "./sequence.css";
import { WAY, drawWay, growWalk, hearContents, jumpOf, layWalk, openContents, openFold } from "./chapters";
import { CONTROLS, HELP, drawFilter, drawTools, hearKeys, whyNot } from "./controls";
import { drawDiagram, drawLanes, glide, measure, placeSheet, sizePicture } from "./diagram";
import { Drawer, enlarge } from "./drawer";
import { type Drag, forget, hearHands, openLane, openNewest } from "./envelopes";
import { type Flight, Plan } from "./flights";
import { foldOf, inspectorOf } from "./inspector";
import { hearLinks } from "./links";
import { html, nothing, render } from "./lit";
import type { Chapter, Frame } from "./payload";
import { aloud, hearAlways, journeyOf, listen, moveTo, press, runOf, sizeOf, still, time } from "./run";
import { barsOf, drawLogs, dropAndSlide, keyedOf, layLogs, levelsOf, writesOf } from "./sequence_logs";
import { drawStates, railOf } from "./sequence_states";
import { askVerdict, drawVerdict, takeFindings } from "./sequence_verdict";
import type { Entry, Found, Levels, LogsShown, Rail, Row, SequenceValues, Writes } from "./sequence_view";
import { Stepper, isMove, placeOf } from "./stepper";
import type { Journey, Message, Model, Run, State } from "./types";
import { foldAt } from "./walk";
import { STRIPS, WONDERS, drawStrips, hearStrips } from "./what_if";

const GLIDE_MS = 280;
let instances = 0;

const SKELETON = html`${CONTROLS}${STRIPS}${WAY}<div class="told"><p class="chapter" role="status"></p><p class="now"
	role="status" aria-live="polite"></p><button type="button" class="folded" data-action="open"></button>
	<div class="judged"><div class="found"></div><div class="chips"></div></div></div>
<div class="findings" role="group" aria-label="What the checks found" hidden></div>
<div class="main"><section class="diagram"><div class="lanes"></div><div class="scroll" tabindex="0"><div
	class="sheet"><svg><g aria-hidden="true"></g><g aria-hidden="true"></g><g aria-hidden="true"></g><g
	aria-hidden="true"></g><g role="group" aria-label="Frames in flight"></g></svg></div></div><p class="invitation"
	role="status" hidden>Press → to begin.</p></section>
	<section class="frame" role="group" aria-label="The chosen frame"></section><div class="beside"></div></div>
<div class="states"></div>
<div class="logs"></div>${HELP}`;

const extentOf = ({ nodes, partitions }: Run) => `${nodes.length} ${partitions.length}`;

export class Sequence implements LogsShown {
	readonly model: Model<SequenceValues>;
	readonly journey: Journey;
	readonly root: HTMLElement;
	readonly prefix = `klab${++instances}-`;
	readonly pen = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
	readonly fitted = new Map<string, [string, number]>();
	readonly stripsDrawn: Map<string, { shows: unknown[]; end: string }> = new Map();
	readonly drawer: Drawer;
	readonly stepper = new Stepper(
		this,
		(step) => this.go(step),
		() => press(this.journey, "right"),
		() => drawTools(this),
	);
	run!: Run;
	plan!: Plan;
	rail!: Rail;
	writes!: Writes;
	state = { node: {} } as State;
	chosen: Frame | undefined;
	step = 0;
	drawn = 0;
	internal = false;
	opened = "";
	// The findings, and what is new in the logs.
	found: Found[] | null = null;
	shown: Found[] = [];
	first: string | undefined;
	wrong = new Map<string, Found>();
	missing: LogsShown["missing"] = {};
	fresh = new Set<string>();
	levels: Levels = {};
	keyed: Record<string, boolean> = {};
	// How the picture is laid.
	across = false;
	u = 13;
	width = 0;
	height = 0;
	breadth = 0;
	gutter = 0;
	lane = 0;
	x: Record<string, number> = {};
	long = 0;
	longest = 0;
	bottom = 0;
	row = -1;
	flights: Flight[] = [];
	// The walk.
	stops: number[] = [];
	folds = new Map<number, number[]>();
	foldStops: number[] = [];
	chapters: Array<Chapter & { at: number }> = [];
	changes: number[] = [];
	looked = 0;
	targets: Record<string, number[]> = {};
	ticks: Array<{ name: string; part: number }> = [];
	wayWidth = 0;
	shownChapter: number | undefined;
	ticking: ReturnType<typeof setTimeout> | undefined;
	filtered = 0;
	strips: { told: Row[] | undefined; stops: number[]; rows: Array<Row & { cells: Entry[] }> } | undefined;
	wondered: number | undefined;
	txnId: string | undefined;
	recent: string[] = [];
	tokens: Record<string, string> = {};
	drag: Drag | undefined;
	deaf = false;
	menu: HTMLElement | undefined;
	opener: Element | undefined;

	private readonly pair = document.createElement("div");
	private readonly closing = new AbortController();
	private readonly moving: Animation[] = [];
	private readonly voice: () => void;
	private extent = "";

	constructor(model: Model<SequenceValues>, journey: Journey, el: HTMLElement) {
		this.model = model;
		this.journey = journey;
		this.pair.className = "klab-pair";
		render(html`<div class="klab sequence" tabindex="0" role="application">${SKELETON}</div>`, this.pair);
		this.root = this.pair.firstElementChild as HTMLElement;
		el.append(this.pair);
		this.voice = aloud(journey, this.root, this.$("now"));
		this.drawer = new Drawer(this, this.pair);
		hearHands(this);
		hearContents(this);
		hearStrips(this);
		hearKeys(this, (action, target) => this.act(action, target));
		this.listen();
		this.load();
	}

	get closed(): AbortSignal {
		return this.closing.signal;
	}

	$<E extends HTMLElement = HTMLElement>(name: string): E {
		return this.root.querySelector(`.${name}`) as E;
	}

	private listen() {
		const { model, journey } = this,
			load = () => this.load(),
			relay = () => this.relay(),
			draw = () => this.redraw(),
			tools = () => drawTools(this),
			step = () => this.show(journey.get("step")),
			heard = { payload: load, groups: relay, hidden: relay, size: relay, every: relay, opened: relay, verdict: draw },
			told = (message: Message) => this.hear(message);
		this.on(hearLinks(this, (name, to) => this.follow(name, to)));
		this.on(listen(journey, { ...heard, step, can_undo: tools, can_redo: tools }, told, () => this.grow()));
		for (const [names, hear] of [
			[["size", "time"], relay],
			[WONDERS, draw],
		] as Array<[string[], () => void]>)
			for (const name of names) {
				model.on(`change:${name}`, hear);
				this.on(() => model.off(`change:${name}`, hear));
			}
		const watch = new ResizeObserver(() => this.resized());
		watch.observe(this.$("scroll"));
		this.on(() => watch.disconnect());
	}

	// Calls `close` when the view is closed.
	private on(close: () => void) {
		this.closed.addEventListener("abort", close);
	}

	close() {
		this.closing.abort();
		this.stepper.pause();
		clearTimeout(this.ticking);
		this.drawer.close();
		this.pair.remove();
	}

	// Moves an element for a moment, unless less motion is asked for. The next step ends it.
	move(element: Element, frames: Keyframe[], ended?: () => void, duration = GLIDE_MS) {
		if (still()) return ended?.();
		const one = element.animate(frames, { duration, easing: "ease-out" });
		one.onfinish = one.oncancel = () => ended?.();
		this.moving.push(one);
	}

	// Show a step without telling other views.
	private show(to: number) {
		if (to === this.step) return;
		this.step = Math.max(0, Math.min(to, this.run.last));
		this.redraw();
	}

	// Move the cursor of all views.
	go(to: number | undefined) {
		if (to === undefined || to === this.step) return;
		this.step = Math.max(0, Math.min(to, this.run.last));
		moveTo(this.journey, this.step);
		this.redraw();
	}

	say(text: string, how = "said") {
		const now = this.$("now");
		now.textContent = now.title = text;
		now.className = `now ${how}`;
	}

	private act(action: string, target?: string) {
		if (isMove(action)) return void this.stepper.do(action);
		this.stepper.pause();
		if (/^(next|previous)_|^open$/.test(action)) {
			const no = whyNot(this, action);
			return no ? this.say(no) : action === "open" ? openFold(this) : this.go(jumpOf(this, action));
		}
		if (action in this.actions) return this.actions[action](target);
		this.ask(action, target);
	}

	// What a button does to this view, or to a trait of it.
	private readonly actions: Record<string, (target?: string) => void> = {
		chapters: () => openContents(this, !!this.$("contents").hidden),
		every: () => {
			this.journey.set("every", !this.journey.get("every"));
			this.journey.save_changes();
		},
		finding: (target) => {
			const name = target ?? this.shown[0]?.name ?? "";
			this.opened = this.opened === name ? "" : name;
			if (name) this.redraw();
			else this.say("The checks have found nothing up to this step.");
		},
		inspect: () => {
			if (this.root.classList.contains("faulting")) this.drawer.toggle();
			this.root.classList.toggle("inspecting");
			this.redraw();
		},
		internal: () => {
			if (!this.run.internal.length) return this.say(whyNot(this, "internal"));
			this.internal = !this.internal;
			this.redraw();
		},
		filter: () => {
			this.$("filter").hidden = !this.$("filter").hidden;
		},
		menu: () => openNewest(this),
		node: (target) => openLane(this, target),
		size: () => enlarge(this),
		faults: () => this.drawer.toggle(),
		what_if: () => this.set("what_if", !this.model.get("what_if")),
		time: () => this.set("time", this.across ? "down" : "across"),
		help: () => {
			const help = this.$("help");
			help.hidden = !help.hidden;
			(help.hidden ? this.root : (help.querySelector("button") as HTMLElement)).focus({ preventScroll: true });
		},
	};

	private set<K extends keyof SequenceValues>(name: K, value: SequenceValues[K]) {
		this.model.set(name, value);
		this.model.save_changes();
	}

	private ask(action: string, target = "") {
		const no = whyNot(this, action, target);
		if (no) return this.say(no);
		press(this.journey, action, /drop|dup/.test(action) ? this.run.events[this.step].frame : target);
	}

	private hear({ kind, text }: Message) {
		drawTools(this);
		if (kind === "error") this.say(String(text), "said wrong");
	}

	private load() {
		const run: Run = runOf(this.journey);
		forget(this);
		Object.assign(this, { run, tokens: {}, recent: [], opened: "", writes: writesOf(run), extent: extentOf(run) });
		this.step = this.drawn = Math.max(0, Math.min(this.journey.get("step"), run.last));
		layLogs(this);
		this.root.setAttribute("aria-label", `${run.title}. Arrow keys step, question mark for help.`);
		this.drawRun();
		this.relay();
	}

	private drawRun() {
		const { run } = this;
		this.levels = levelsOf(run, this.writes);
		this.keyed = keyedOf(run, this.writes);
		render(
			run.faults.map((fault) => html`<code>${fault}</code>`),
			this.$("chips"),
		);
		Object.assign(this.root.dataset, { events: run.events.length, place: this.journey.get("place") });
	}

	// The run has grown. Lay only out what is new, unless there are new lanes or strips.
	private grow() {
		const { run, plan } = this;
		if (!this.width || extentOf(run) !== this.extent) return this.load();
		writesOf(run, this.writes);
		this.drawRun();
		plan.grow();
		if (plan.longest > this.longest) sizePicture(this);
		if (run.apis.size + run.transactions.length !== this.filtered) drawFilter(this);
		growWalk(this);
		this.step = Math.max(0, Math.min(this.journey.get("step"), run.last));
		this.redraw();
	}

	private relay() {
		const { model, journey, root } = this;
		this.across = model.get("time") === "across";
		Object.assign(root.dataset, { size: sizeOf(model, journey), time: model.get("time") });
		this.u = Number.parseFloat(getComputedStyle(root).fontSize) || 13;
		this.plan = new Plan(this.run, new Set(journey.get("groups")), new Set(journey.get("hidden")), this.u, this.across);
		layWalk(this);
		drawFilter(this);
		root.style.setProperty("--lanes", String(this.plan.lanes.length));
		this.width = 0;
		this.resized();
	}

	private resized() {
		const { width } = this;
		if (!measure(this)) return;
		if (this.width === width && !this.across) return this.scrollTo(placeSheet(this)[2]); // only a strip has become higher
		this.rail = railOf(this);
		this.redraw();
	}

	private scrollTo(shift: number) {
		this.$("scroll")[this.across ? "scrollLeft" : "scrollTop"] = shift;
	}

	redraw() {
		if (!this.width) return;
		if (this.step !== this.drawn) forget(this);
		const { root, step } = this,
			focused = root.contains(document.activeElement),
			lively = step > this.drawn && !still(),
			bars = lively ? barsOf(this) : undefined; // before anything is written
		for (const one of this.moving.splice(0)) one.cancel();
		this.state = this.run.at(step);
		this.chosen = this.run.frameAt(step);
		takeFindings(this);
		this.drawPlace();
		drawLanes(this);
		const shift = drawDiagram(this);
		drawStates(this);
		drawVerdict(this);
		this.drawFrame();
		drawTools(this);
		const moved = drawLogs(this);
		if (lively) glide(this);
		this.scrollTo(shift); // all is written before anything is measured: one layout
		for (const grid of moved) {
			grid.scrollLeft = 1e6;
			if (grid.scrollLeft)
				grid.tabIndex = 0; // who has no mouse scrolls it, too
			else grid.removeAttribute("tabindex");
		}
		if (bars) dropAndSlide(this, bars);
		if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
		this.drawn = step;
		askVerdict(this);
	}

	// Where the cursor is: in the sentence, on the slider, in the strips over it.
	private drawPlace() {
		const { run, step, stops } = this,
			event = run.events[step],
			count = stops.length,
			index = placeOf(this) + 1;
		Object.assign(this.root.dataset, { step, stopIndex: index, stopCount: count });
		render(
			html`<span class="word">step </span><b>${index}</b><span class="word"> of </span><i>/</i>${count} · <span
				class="word">t = </span><b>${time(event?.at ?? 0)}</b>`,
			this.$("where"),
		);
		this.voice();
		this.say(foldAt(run, step, stops) || event?.text || "", event?.kind);
		drawWay(this, index);
		drawStrips(this, index);
	}

	private drawFrame() {
		const { run, step, chosen: f } = this,
			full = this.root.classList.contains("inspecting"),
			own = run.events[step]?.frame === f?.id;
		render(html`${foldOf(this, full, own)}${f && full ? inspectorOf(run, f, step, own) : nothing}`, this.$("frame"));
	}

	private follow(name: string, to: number | undefined) {
		this.stepper.pause();
		if (to === undefined) this.say(`This run has no ${name.replace("chapter:", "chapter ")}.`, "said wrong");
		else this.go(to);
		this.root.scrollIntoView({ block: "nearest" });
		this.root.focus({ preventScroll: true });
	}
}

interface Given {
	model: Model<SequenceValues>;
	el: HTMLElement;
}

export default {
	render: async ({ model, el }: Given) => {
		await hearAlways(model);
		const view = new Sequence(model, await journeyOf(model), el);
		return () => view.close();
	},
};
