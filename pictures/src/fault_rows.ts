// Every fault as a button at the cursor's step, enabled where it would change something; and the tree of runs.

import "./fault_panel.css";
import { envelopePath } from "./basics";
import { type Markup, breaks, html, keyed, live, repeat, svg, type TemplateResult } from "./lit";
import { JourneyPanel, type Keys, type PanelValues } from "./panel";
import type { Frame, RunNode } from "./payload";
import { ADVANCE_MS, DELAY_MS, detailOf, FRAME_FAULTS, laterThan, whyPress } from "./presses";
import { roleSpans, rolesOf } from "./roles";
import { asSentence } from "./run";
import { treeOf } from "./runs_tree";
import type { Model, State } from "./types";

// Of each rule why switching it changes nothing, "" if it changes something; the rules that are off.
interface Reasons {
	place: number;
	off: string[];
	why: Record<string, string>;
}

export interface FaultValues extends PanelValues {
	reasons: Partial<Reasons>;
}

interface About {
	target?: string;
	detail?: string;
	label?: string;
}

const WORDS: Record<string, [string, string]> = {
	drop: ["× drop", "The frame is lost on its way"],
	duplicate: ["×2 duplicate", "The frame arrives twice"],
	delay: ["delay", "The frame arrives later, and is overtaken"],
	hold: ["hold", "The frame stays on its way until it is released"],
	release: ["release", "The held frame arrives now"],
	reorder: ["reorder", "The frame arrives right after another one"],
	crash: ["crash", "The process ends; a broker's logs stay. The frame that is being sent never leaves"],
	crash_sent: ["crash after sending", "The process ends; the frame that it has just sent arrives"],
	restart: ["restart", "The broker starts again, with its logs"],
	pause: ["pause", "It stops doing anything; what arrives waits"],
	resume: ["resume", "It goes on, first with all that has waited"],
	cut: ["isolate", "No frame gets from here to any other node or back"],
	heal: ["rejoin", "Frames fly to and from here again"],
	advance: ["advance", "All clocks jump forward"],
	upgrade: ["transaction.version 2", "The feature rises; a producer follows with its next transaction"],
	elect: ["elect", "The controller makes it the leader"],
	roll: ["roll", "A new segment begins"],
	compact: ["compact", "Each replica begins a new segment and cleans what is before it"],
	delete_segment: ["delete segment", "The leader deletes its oldest segment"],
};
const NODE_BUTTONS = {
	broker: ["crash", "crash_sent", "restart", "pause", "resume", "cut", "heal"],
	client: ["crash", "crash_sent", "pause", "resume", "cut", "heal"],
	controller: ["cut", "heal"],
};
const FRAME_BUTTONS = ["drop", "duplicate", "delay", "hold", "release"];
// The parts of the panel: side by side where there is room, else one at a time.
const PARTS = {
	frame: "frame",
	nodes: "nodes",
	network: "network",
	storage: "leaders",
	rules: "rules",
	runs: "futures",
};
const KEYS_HELP = [
	["d", "Drop the chosen frame"],
	["u", "Duplicate it"],
	["l", "Delay it"],
	["h", "Hold it"],
	["r", "Release it"],
	["1 2 3", "Crash a broker after this step (0: the first client)"],
	["a", "Advance the clocks"],
];
const ENVELOPE = html`<svg viewBox="-9 -7 18 14" aria-hidden="true">${svg`<path
	d=${envelopePath(8)} />`}</svg>`;

const row = (part: string, what: Markup, buttons: unknown) =>
	html`<div class="row" data-part=${part}><b>${what}</b><span>${buttons}</span></div>`;

export class FaultPanel extends JourneyPanel<FaultValues> {
	readonly name = "fault-panel";
	readonly title = "Faults";
	override readonly traits = ["reasons"] as const;
	override readonly keys: Keys = { d: "drop", u: "duplicate", l: "delay", h: "hold", r: "release", a: "advance" };
	private frame: Frame | undefined; // the chosen one
	private part = "frame";
	private asked: number | undefined;
	// What has been typed and chosen.
	private ms = { delay: DELAY_MS, advance: ADVANCE_MS };
	private after = { of: "", id: "" };
	private sides: string[] = [];

	protected override take() {
		super.take();
		this.frame = this.frameAt(this.step);
		const ids = (kind: string) => this.run.nodes.filter((node) => node.kind === kind).map(({ id }) => id);
		for (const [i, id] of [...ids("client").slice(0, 1), ...ids("broker")].slice(0, 10).entries())
			this.keys[String(i)] = ["crash", id];
	}
	// The frame of a step, or of the nearest cause that has one.
	private frameAt(step: number): Frame | undefined {
		const { events, frames } = this.run,
			event = events[step],
			frame = frames[event?.frame ?? ""];
		if (frame) return frame.copy_of ? frames[frame.copy_of] : frame;
		return event && event.cause >= 0 ? this.frameAt(event.cause) : undefined;
	}
	override change() {
		const { ending } = this.run,
			event = this.run.events[this.step];
		this.root.dataset.part = this.part;
		this.say(`${event?.text}${ending ? ` This run has no end: ${ending}.` : ""}`, event?.kind);
		if (this.rulesAreOpen && !this.reasons && !this.run.actions?.fixed && this.asked !== this.place) {
			this.model.send({ kind: "rules" });
			this.asked = this.place;
		}
	}
	override where() {
		return `step ${this.step} · t = ${this.run.events[this.step]?.at} ms · run ${this.place}`;
	}
	private get place() {
		return this.journey.get("place");
	}
	private get rulesAreOpen() {
		return this.el.querySelector<HTMLDetailsElement>(".rules")?.open;
	}
	// Of the rules, if the kernel has tried them on this run.
	private get reasons() {
		const told = this.get("reasons");
		return told?.place === this.place ? (told as Reasons) : undefined;
	}

	inside() {
		const { run } = this,
			state = run.at(Math.max(this.step, run.actions?.start ?? 0)),
			parts = Object.entries(PARTS).map(([part, name]) =>
				this.tool("part", name, { target: part, pressed: part === this.part }),
			);
		return html`<nav>${parts}</nav>
			<div class="faults"><div class="rows">${this.frameRow()}${repeat(
				run.nodes,
				({ id }) => id,
				(node) => this.nodeRow(node, state),
			)}${this.linkRow()}
			${row("network", "Clock", [this.fault("advance", "the clock"), this.field("advance", "Advance by ms")])}
			${row("network", "Cluster", this.fault("upgrade", "the cluster"))}</div>
			<details class="partitions"><summary>Leaders and storage</summary>
			<div class="rows2">${run.partitions.map((partition) => this.partitionRow(state, partition))}</div></details>
			<details class="rules" @toggle=${this.redraw}><summary>Rules of the protocol</summary>
			<div class="list">${this.rulesAreOpen ? this.rules() : ""}</div></details></div>
			<section class="runs" role="group" aria-label="Runs">${this.runs()}</section>`;
	}
	private readonly redraw = () => this.draw();

	// A button; `of` is what it is about, for those who hear its name without its row.
	private fault(action: string, of: string, about: About = {}) {
		const [words = "", title = ""] = WORDS[action] ?? [],
			{ label = words, ...more } = about,
			detail = action === "crash_sent" ? "sent" : "";
		return this.tool(action.replace("_sent", ""), label, { title, detail, ...more, name: `${label} ${of}` });
	}
	private field(which: "delay" | "advance", label: string) {
		const typed = ({ target }: Event) => {
			this.ms[which] = Number((target as HTMLInputElement).value);
			this.show();
		};
		return html`<label><input type="number" class="${which}_ms" min="1" .value=${live(String(this.ms[which]))}
			aria-label=${label} @input=${typed}>ms</label>`;
	}
	private choice(
		name: string,
		label: string,
		options: RunNode[] | Frame[],
		chosen: string,
		choose: (to: string) => void,
	) {
		const changed = ({ target }: Event) => {
			choose((target as HTMLSelectElement).value);
			this.show();
		};
		return html`<select class=${name} aria-label=${label} @input=${changed}>${options.map(
			(one) =>
				html`<option value=${one.id} ?selected=${one.id === chosen}>${"label" in one ? one.label : one.id}</option>`,
		)}</select>`;
	}

	private frameRow() {
		const { run, step, frame: f } = this,
			target = f?.id ?? "",
			of = target || "no frame",
			buttons = FRAME_BUTTONS.map((action) => [
				this.fault(action, of, { target }),
				action === "delay" ? this.field("delay", "Delay in ms") : "",
			]);
		if (!f) return row("frame", "No frame", buttons);
		const fate = run.fate(f, step),
			what = html`<span class=${f.category}>${ENVELOPE}${breaks(f.id, /(?=Response)/)}</span><small>${run.label(
				f.from,
			)} → ${run.label(f.to)} <i class="fate ${fate.replace(" ", "-")}">${fate}</i></small>`;
		return row("frame", what, [buttons, this.reorder(f)]);
	}
	private reorder(f: Frame) {
		const later = laterThan(this.run, f),
			after = (this.after.of === f.id && this.after.id) || later[0]?.id || "";
		this.after = { of: f.id, id: after };
		if (!later.length) return "";
		const choose = (id: string) => (this.after = { of: f.id, id });
		return html`<span class="late"><label>after ${keyed(
			f.id,
			this.choice("after", "Arrives after", later, after, choose),
		)}</label>${this.fault("reorder", f.id, { target: f.id })}</span>`;
	}
	private nodeRow({ id, kind, label }: RunNode, state: State) {
		const life = state.node[id] ?? "up",
			roles = roleSpans(rolesOf(state.roles[id], state.client[id], () => false)),
			what = html`<span class="${kind} ${life}">${label}</span>${life === "up" ? "" : html`<em>${life}</em>`}<span
				class="roles">${roles}</span>`;
		return row(
			"nodes",
			what,
			NODE_BUTTONS[kind].map((action) => this.fault(action, label, { target: id })),
		);
	}
	private linkRow() {
		const { nodes } = this.run,
			select = (side: string, i: number) =>
				this.choice(
					`side-${side}`,
					`Side ${side} of the cut`,
					nodes,
					this.sides[i] ?? "",
					(id) => (this.sides[i] = id),
				),
			button = (action: string) => this.fault(action, "the link", { target: "pair", label: action });
		this.sides[0] ??= nodes[0]?.id ?? "";
		this.sides[1] ??= nodes[1]?.id ?? "";
		return row("network", "Link", [select("a", 0), " — ", select("b", 1), " ", button("cut"), button("heal")]);
	}
	// Of a partition whose replicas may be elected: none without an election among the enabled actions.
	private partitionRow(state: State, partition: string) {
		const { replicas = [], isr = [] } = state.isr[partition] ?? {},
			leader = state.leader[partition];
		if (!(`elect ${partition} ${replicas[0]}` in (this.run.actions?.reasons ?? {}))) return "";
		const election = (broker: string) => {
			const detail = String(detailOf({ broker, unclean: !isr.includes(broker) }));
			return this.fault("elect", `for ${partition}`, { target: partition, detail, label: `elect ${detail}` });
		};
		return row(
			"storage",
			html`<span class="partition">${breaks(partition)}</span><small>${
				leader ? `led by ${this.run.label(leader)}` : "no leader"
			}</small>`,
			[
				replicas.map(election),
				["roll", "compact", "delete_segment"].map((action) => this.fault(action, partition, { target: partition })),
			],
		);
	}
	private rules() {
		const { reasons } = this;
		if (!reasons) return html`<p>${asSentence(this.run.actions?.fixed ?? "") || "Trying every rule on this run …"}</p>`;
		const isOff = (name: string) => reasons.off.includes(name),
			rank = ([name, why]: [string, string]) => (isOff(name) ? 0 : why ? 2 : 1);
		return Object.entries(reasons.why)
			.sort((a, b) => rank(a) - rank(b))
			.map(([name, why]) => this.rule(name, why, isOff(name)));
	}
	private rule(name: string, why: string, off: boolean) {
		const now = off ? "on" : "off",
			title = `A new run from the start ${off ? "with" : "without"} this rule`,
			button = this.tool(`rule_${now}`, `switch ${now}`, { target: name, name: `switch ${now}: ${name}`, title });
		return html`<div class="rule ${why ? "idle" : ""}">${button}
			<span>${name}${off ? html` <b>is off</b>` : ""}</span></div>`;
	}
	private runs() {
		const { place } = this,
			tree = this.journey.get("tree"),
			size = parseFloat(getComputedStyle(this.root ?? this.el).fontSize) || 13,
			naming = this.el.querySelector<HTMLInputElement>(".naming"),
			name = tree.find(({ id }) => id === place)?.name ?? "",
			typed = naming && document.activeElement === naming ? naming.value : name;
		return html`<h4 role="none">Runs ${this.tool("undo", "↶ undo")}${this.tool("redo", "↷ redo")}<label>name <input
			type="text" class="naming" maxlength="60" size="12" aria-label="Name of the run shown" .value=${live(typed)}
			@change=${this.nameRun}></label></h4>
			<div class="tree">${treeOf(tree, place, Math.round(size * 1.95), ({ id }, label, title) =>
				this.tool("goto", label, { target: id, title, name: `Run ${title}` }),
			)}</div>`;
	}
	private readonly nameRun = ({ target }: Event) => this.ask("name", (target as HTMLInputElement).value);

	override why(action: string, target: string, detail: string) {
		if (action === "part") return "";
		if (this.journey.klab.busy) return "Python is making the new run";
		if (action === "undo") return this.journey.get("can_undo") ? "" : "there is no fault to undo";
		if (action === "redo") return this.journey.get("can_redo") ? "" : "nothing has been undone";
		if (action === "goto") return Number(target) === this.place ? "this run is shown already" : "";
		if (action.startsWith("rule_")) return this.reasons?.why[target] ?? "";
		if (!(action in WORDS)) return "";
		const about = detailOf(this.detailsOf(action, detail));
		return whyPress(this.run, this.step, action, this.targetOf(action, target), about);
	}
	override act(action: string, target: string, detail: string) {
		if (action === "part") return this.turnTo(target);
		if (!(action in WORDS) && !/^(rule_off|rule_on|goto)$/.test(action)) return false;
		this.ask(action, this.targetOf(action, target), this.detailsOf(action, detail));
		return true;
	}
	// What a button is about besides its target.
	private detailsOf(action: string, detail: string): Parameters<typeof detailOf>[0] {
		if (action === "delay") return { delay_ms: this.ms.delay };
		if (action === "advance") return { ms: this.ms.advance };
		if (action === "reorder") return { after: this.after.id };
		if (action === "crash") return detail ? { sent: true } : {};
		const [broker, unclean] = detail.split(" ");
		return action === "elect" ? { broker, unclean: !!unclean } : {};
	}
	private targetOf(action: string, target: string) {
		if (target === "pair") return this.sides.join("|");
		return FRAME_FAULTS.includes(action) || action === "release" ? (this.frame?.id ?? "") : target;
	}
	// Shows one part of a narrow panel.
	private turnTo(part: string) {
		const folded = { storage: ".partitions", rules: ".rules" }[part];
		this.part = part;
		if (folded) this.$<HTMLDetailsElement>(folded).open = true;
		this.draw();
		return true;
	}

	help(): TemplateResult {
		return html`${KEYS_HELP.map(([key, what]) => html`<p><small>${key}</small>${what}</p>`)}
			<p>Each fault makes a new run: the same up to this step, another future. The tree keeps them all; click one to go
			there.</p>
			<p>A dotted button would change nothing; point at it, or press it, to read why.</p>`;
	}
}

export const openFaults = (model: Model<FaultValues>, el: HTMLElement) => new FaultPanel(model, el).open();
