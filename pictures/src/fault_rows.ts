// Every fault as a button at the cursor's step, enabled where it would change something; and the tree of runs.

import "./fault_panel.css";
import { envelopePath } from "./basics";
import { type Markup, breaks, html, keyed, live, repeat, svg, type TemplateResult } from "./lit";
import { JourneyPanel, type Keys, type PanelValues } from "./panel";
import type { Frame, RunNode } from "./payload";
import {
	type Details,
	detailOf,
	FAULTS,
	type Fault,
	faultOf,
	faultsOn,
	isFault,
	laterThan,
	ofNode,
	whyPress,
} from "./presses";
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
	usual?: boolean; // its number is typed elsewhere
}

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
	private typed: Record<string, number> = Object.fromEntries(
		FAULTS.map(({ press, number }) => [press, number[1] ?? 0]),
	);
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
			${row(
				"network",
				"Clock",
				faultsOn("clock").map((fault) => this.fault(fault, "the clock")),
			)}
			${row(
				"network",
				"Cluster",
				faultsOn("cluster").map((fault) => this.fault(fault, "the cluster")),
			)}</div>
			<details class="partitions"><summary>Leaders and storage</summary>
			<div class="rows2">${run.partitions.map((partition) => this.partitionRow(state, partition))}</div></details>
			<details class="rules" @toggle=${this.redraw}><summary>Rules of the protocol</summary>
			<div class="list">${this.rulesAreOpen ? this.rules() : ""}</div></details></div>
			<section class="runs" role="group" aria-label="Runs">${this.runs()}</section>`;
	}
	private readonly redraw = () => this.draw();

	// The buttons of a fault, with a field for its number; `of` is what they are about, for those who hear their names
	// without the row.
	private fault(fault: Fault, of: string, about: About = {}) {
		const { press, label, title, number, variants } = fault,
			button = ({ label, title }: { label: string; title: string }, detail = "") => {
				const words = about.label ?? label;
				return this.tool(press, words, { title, detail, ...about, name: `${words} ${of}` });
			};
		return [
			button({ label, title }),
			variants.map((one) => button(one, String(detailOf(one.details)))),
			number.length && !about.usual ? this.field(fault) : "",
		];
	}
	private field({ press }: Fault) {
		const typed = ({ target }: Event) => {
			this.typed[press] = Number((target as HTMLInputElement).value);
			this.show();
		};
		return html`<label><input type="number" class="${press}_ms" min="1" .value=${live(String(this.typed[press]))}
			aria-label="Milliseconds to ${press}" @input=${typed}>ms</label>`;
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
			buttons = faultsOn("frame")
				.filter(({ other }) => !other)
				.map((fault) => this.fault(fault, of, { target }));
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
		)}</label>${faultsOn("frame")
			.filter(({ other }) => other)
			.map((fault) => this.fault(fault, f.id, { target: f.id }))}</span>`;
	}
	private nodeRow({ id, kind, label }: RunNode, state: State) {
		const life = state.node[id] ?? "up",
			roles = roleSpans(rolesOf(state.roles[id], state.client[id], () => false)),
			what = html`<span class="${kind} ${life}">${label}</span>${life === "up" ? "" : html`<em>${life}</em>`}<span
				class="roles">${roles}</span>`;
		return row(
			"nodes",
			what,
			ofNode(kind).map((fault) => this.fault(fault, label, { target: id, usual: true })),
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
			buttons = faultsOn("link").map((fault) => this.fault(fault, "the link", { target: "pair", label: fault.press }));
		this.sides[0] ??= nodes[0]?.id ?? "";
		this.sides[1] ??= nodes[1]?.id ?? "";
		return row("network", "Link", [select("a", 0), " — ", select("b", 1), " ", buttons]);
	}
	// Of a partition whose replicas may be elected: none without an election among the enabled actions.
	private partitionRow(state: State, partition: string) {
		const { replicas = [], isr = [] } = state.isr[partition] ?? {},
			leader = state.leader[partition];
		if (!(`elect ${partition} ${replicas[0]}` in (this.run.actions?.reasons ?? {}))) return "";
		const election = (broker: string) => {
			const detail = String(detailOf({ broker, unclean: !isr.includes(broker) }));
			return faultsOn("leader").map((fault) =>
				this.fault(fault, `for ${partition}`, { target: partition, detail, label: `${fault.press} ${detail}` }),
			);
		};
		return row(
			"storage",
			html`<span class="partition">${breaks(partition)}</span><small>${
				leader ? `led by ${this.run.label(leader)}` : "no leader"
			}</small>`,
			[replicas.map(election), faultsOn("log").map((fault) => this.fault(fault, partition, { target: partition }))],
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
		if (!isFault(action)) return "";
		const about = detailOf(this.detailsOf(action, detail));
		return whyPress(this.run, this.step, action, this.targetOf(action, target), about);
	}
	override act(action: string, target: string, detail: string) {
		if (action === "part") return this.turnTo(target);
		if (!isFault(action) && !/^(rule_off|rule_on|goto)$/.test(action)) return false;
		this.ask(action, this.targetOf(action, target), this.detailsOf(action, detail));
		return true;
	}
	// What a button is about besides its target.
	private detailsOf(action: string, detail: string): Details {
		const { number = [], details = [], other, variants = [] } = faultOf(action) ?? {},
			[broker, unclean] = detail.split(" ");
		if (number.length) return { [number[0]]: this.typed[action] };
		if (other) return { [other]: this.after.id };
		const variant = variants.find((one) => String(detailOf(one.details)) === detail);
		if (variant) return variant.details;
		return details.includes("broker") ? { broker, unclean: !!unclean } : {};
	}
	private targetOf(action: string, target: string) {
		if (target === "pair") return this.sides.join("|");
		return faultOf(action)?.on === "frame" ? (this.frame?.id ?? "") : target;
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
