// A state machine as dot laid it out, and where a transactional id, a producer or a group stands in it.
//
// The arrow that fired is drawn bold, and a table says what every question would get in the present state.

import "./states.css";
import "./state_chart.css";
import { still, upTo } from "./basics";
import { sizeOf } from "./journey";
import { breaks, html, live, nothing, unsafeHTML } from "./lit";
import type { Client, Group, RunEvent, Transaction } from "./payload";
import { placeOf } from "./stepper";
import type { Run } from "./types";
import { View, type ViewValues, besideOf, edgeOf, viewOf } from "./view";

// What a question gets in a state: state, question, kind of answer, next state, answer, why.
type Answer = [
	state: string,
	ask: string,
	kind: "go" | "same" | "wait" | "refuse",
	to: string,
	answer: string,
	why: string,
];

interface Machine {
	name: "coordinator" | "producer" | "group";
	title: string;
	note: string;
	states: Record<string, string>;
	cells: Answer[];
}

interface Values extends ViewValues {
	machine: Machine;
	picture: string;
	subject: string;
	what_if: boolean;
	question: string;
}

// What a subject is from a step on; `via` is the state it came from, "" where no arrow led here.
interface Place {
	step: number;
	subject: string;
	state: string;
	pending: string;
	via: string;
	node: string;
	known: Transaction | Client | Group;
}

const OPS = { coordinator: "txn", producer: "client", group: "group" },
	NOTHING = { coordinator: "no transactional id yet", producer: "no producer yet", group: "no group yet" },
	SIGN = { go: "→", same: "=", wait: "…", refuse: "✕" },
	FEW = 2, // of so many questions that lead to a state each is named
	FLY_MS = 420,
	STATIONS = 16,
	NARROW = 600;

// ---- where the subjects stand ----

// What an event says of subjects of a machine: [subject, node, what is known].
function toldBy({ patch }: RunEvent, name: Machine["name"]): Array<[string, string, Place["known"]]> {
	return patch.flatMap((op): Array<[string, string, Place["known"]]> => {
		if (op[0] !== OPS[name]) return [];
		if (op[0] === "client") return "tid" in op[2] ? [[`${op[1]} ${op[2].tid}`.trim(), op[1], op[2]]] : [];
		return op[0] === "txn" || op[0] === "group" ? [[op[1], op[2].node, op[2]]] : [];
	});
}

function viaOf(before: Place | undefined, now: Pick<Place, "state" | "pending" | "node">, arrows: Set<string>): string {
	const { state, pending, node } = now;
	if (before?.node !== node) return "";
	if (before.state !== state) return before.state;
	if (arrows.has(`${state} ${state}`) && !pending && !before.pending) return state;
	return pending ? before.via : "";
}

// Every change of every subject, in the order of steps.
function placesOf(run: Run, { name, cells }: Machine): Place[] {
	const found: Place[] = [],
		last: Record<string, Place> = {},
		arrows = new Set(cells.filter(([, , , to]) => to).map(([state, , , to]) => `${state} ${to}`));
	for (const event of run.events) {
		for (const [subject, node, known] of toldBy(event, name)) {
			const { state = "", pending = "" } = known as { state?: string; pending?: string },
				via = viaOf(last[subject], { state, pending, node }, arrows),
				place = { step: event.step, subject, state, pending, via, node, known };
			last[subject] = place;
			found.push(place);
		}
	}
	return found;
}

// The stops at which the chart of a subject, or with "" of the one that changed last, shows something else.
export function turnsOf(places: Place[], subject: string, stops: number[]): number[] {
	const told = ({ subject, state, pending, known }: Place) => JSON.stringify([subject, state, pending, known]),
		shown = places.filter((one) => !subject || one.subject === subject),
		changes = shown.filter((one, i) => !i || told(one) !== told(shown[i - 1])),
		at = changes.map(({ step }) => stops[upTo(stops.length, (i) => stops[i] < step) + 1]);
	return [...new Set(at)].filter((stop) => stop !== undefined);
}

function factsOf(run: Run, { known, node }: Place): string[] {
	const label = run.label(node);
	if ("generation" in known) {
		const members = Object.entries(known.members).map(
			([member, partitions]) => `${member}: ${partitions.join(", ") || "nothing"}`,
		);
		const leader = known.leader ? [`led by ${known.leader}`] : [];
		return [`on ${label}`, `generation ${known.generation}`, ...leader, ...(members.length ? members : ["no members"])];
	}
	const { producer_id: id = -1, epoch } = known as Client,
		ids = id >= 0 ? `producer ${id}, epoch ${epoch}` : "no producer id";
	return "partitions" in known ? [`on ${label}`, ids, ...known.partitions] : [`in ${label}`, ids];
}

const wordsOf = ([state, ask, , to, answer, because]: Answer) =>
	`${to ? `${state} → ${to}` : state}: ${ask}${answer ? ` — ${answer}` : ""}${because ? `. ${because}` : ""}`;
// With places to break between the words of the name of a state or a request.
const camel = (text: string) => breaks(text, /(?<=_)|(?<=[a-z])(?=[A-Z](?!xn))/);

// Scrolls the part, not the page, until the state is in it.
function reveal(part: HTMLElement, box: Element | null) {
	if (!box || part.scrollHeight <= part.clientHeight) return;
	const room = part.getBoundingClientRect(),
		{ top, bottom } = box.getBoundingClientRect();
	if (top < room.top || bottom > room.bottom) part.scrollTop += (top + bottom - room.top - room.bottom) / 2;
}

// ---- the diagram ----

type Way = [a: string, b: string, from: number, to: number];

// The picture as dot made it, in which the present state and arrows are marked, and a token that runs along them.
class Diagram {
	private readonly id: (name: string) => string;
	private readonly part: HTMLElement;
	private readonly token = document.createElementNS("http://www.w3.org/2000/svg", "g");
	private flying?: Animation;

	constructor(part: HTMLElement, id: (name: string) => string) {
		this.part = part;
		this.id = id;
		this.token.setAttribute("class", "token");
		this.token.setAttribute("aria-hidden", "true");
		this.token.innerHTML = '<circle r="7"/><circle r="3"/>';
	}
	private find(name: string): SVGGElement | null {
		return this.part.querySelector(`#${CSS.escape(this.id(name))}`);
	}
	// The arrow between two states: its own, or the one that stands for all that end in a fatal error.
	private arrow = (a: string, b: string) => this.find(`e_${a}__${b}`) ?? this.find(`e_any__${b}`);
	box(state: string) {
		return this.find(`s_${state}`);
	}

	// Names what is in the picture, which has just been put into the page.
	name({ title, states, cells }: Machine, scale: number) {
		const picture = this.part.querySelector("svg") as SVGSVGElement,
			{ width } = picture.viewBox.baseVal;
		picture.setAttribute("aria-label", title);
		picture.style.maxWidth = `${Math.round(width * scale)}px`;
		this.part.classList.toggle("narrow", width < NARROW);
		for (const edge of this.part.querySelectorAll(".edge")) {
			const [a, b] = edge.id.slice(this.id("e_").length).split("__"),
				here = cells.filter(([state, , , to]) => to === b && state === a),
				told = a === "any" ? `any state → ${b}: an error that nothing cures` : here.map(wordsOf).join(" · ");
			for (const [attribute, value] of Object.entries({ tabindex: "0", role: "img", "aria-label": told }))
				edge.setAttribute(attribute, value);
		}
		for (const box of this.part.querySelectorAll(".state title")) {
			const [name] = (box.textContent ?? "").split(":");
			box.textContent = `${name}: ${states[name] ?? "each state"}`;
		}
	}
	mark(place: Place | undefined, asked: Answer | undefined) {
		for (const node of this.part.querySelectorAll(".active, .pending, .fired, .asked"))
			node.classList.remove("active", "pending", "fired", "asked");
		if (place) this.box(place.state)?.classList.add("active");
		if (place?.pending) {
			this.box(place.pending)?.classList.add("pending");
			this.arrow(place.state, place.pending)?.classList.add("pending");
		} else if (place?.via) this.arrow(place.via, place.state)?.classList.add("fired");
		if (asked?.[3]) this.arrow(asked[0], asked[3])?.classList.add("asked");
	}

	// The token runs along the arrows `fired` and ends at `place`; on a pending arrow it waits half-way.
	move(fired: Way[], place: Place | undefined, lively: boolean) {
		this.stop();
		this.token.remove();
		const ways: Way[] = place?.pending ? [...fired, [place.state, place.pending, 0, 0.5]] : fired;
		const stations = ways.slice(-3).flatMap(([a, b, from, to]) => {
			const arrow = this.arrow(a, b);
			return arrow ? [(t: number) => pointOn(arrow, from + (to - from) * t)] : [];
		});
		const last = stations.at(-1);
		if (!place || !last) return;
		const rest = () => {
			if (place.pending) this.token.setAttribute("transform", `translate(${last(1)})`);
			else this.token.remove();
		};
		this.part.querySelector("svg > g")?.append(this.token);
		if (!lively || still()) return rest();
		const frames = stations.flatMap((at) =>
			Array.from({ length: STATIONS }, (_, i) => {
				const [x, y] = at(1 - (1 - i / (STATIONS - 1)) ** 2);
				return { transform: `translate(${x}px, ${y}px)` };
			}),
		);
		this.flying = this.token.animate(frames, FLY_MS * stations.length);
		this.flying.onfinish = rest;
		this.box(place.state)?.animate([{ opacity: 0.3 }, { opacity: 1 }], FLY_MS * stations.length);
	}
	stop() {
		this.flying?.cancel();
	}
}

function pointOn(arrow: SVGGElement, part: number): [number, number] {
	const path = arrow.querySelector("path") as SVGPathElement,
		along = arrow.classList.contains("back") ? 1 - part : part,
		{ x, y } = path.getPointAtLength(path.getTotalLength() * along);
	return [x, y];
}

// ---- the view ----

class StateChart extends View<Values> {
	readonly name = "state-chart";
	readonly tools = {
		what_if: ["what if", "Show or hide what every question would get", "w"],
		up: ["↑", "Question above", "ArrowUp"],
		down: ["↓", "Question below", "ArrowDown"],
		subject: ["which", "The next transactional id, producer or group", "s"],
	} satisfies View["tools"];
	readonly first = ["down", "what_if", "subject"];
	override readonly buttons = ["what_if"];
	override readonly traits = ["machine", "picture", "subject", "what_if", "question"] as const;
	private places: Place[] = [];
	private place?: Place;
	private old?: Place;
	private diagram?: Diagram;
	private picture = "";
	private named = "";
	private turned?: string;

	private get machine() {
		return this.get("machine");
	}
	title() {
		return this.machine.title;
	}
	override load() {
		this.places = placesOf(this.run, this.machine);
		this.picture = this.get("picture").replaceAll('id="', `id="${this.id("")}`);
		this.turned = undefined;
	}
	override show() {
		const { run, stops, places } = this,
			subject = this.get("subject"),
			end = run.live ? stops.slice(-1) : []; // there → lets a frame go
		if (this.turned !== subject) this.turns = [...new Set([...turnsOf(places, subject, stops), ...end])];
		this.turned = subject;
		this.place = places.findLast((p) => p.step <= this.step && (!subject || p.subject === subject));
	}
	private get subjects() {
		return [...new Set(this.places.map((p) => p.subject))];
	}
	private get answers(): Answer[] {
		const { place } = this;
		return place ? this.machine.cells.filter(([state]) => state === place.state) : [];
	}
	private get asked() {
		return this.answers.find(([, ask]) => ask === this.get("question"));
	}

	override head() {
		const chosen = this.get("subject"),
			options = [["", "the last to change"], ...this.subjects.map((one) => [one, one])].map(
				([value, text]) => html`<option value=${value} .selected=${live(value === chosen)}>${text}</option>`,
			);
		return html`<label class="whose">show <select class="which" aria-label="Which one is shown"
			@change=${this.pick}>${options}</select></label>`;
	}
	private readonly pick = ({ target }: Event) =>
		this.set({ subject: (target as HTMLSelectElement).value, question: "" });

	private subject() {
		const { place, machine } = this;
		if (!place) return html`<div><p class="big">${this.get("subject") || NOTHING[machine.name]}</p></div>`;
		const { subject, state, via } = place,
			pending = place.pending ? html` <i data-pending=${place.pending}>→ ${place.pending}, pending</i>` : "",
			led = machine.cells.filter(([a, , , b]) => a === via && b === state).map(([, ask]) => ask),
			because = led.length <= FEW ? `: ${led.join(" or ")}` : "";
		return html`<div data-subject=${subject} data-state=${state}><p class="big">${subject} <b>${state}</b>${pending}</p
			><p>${machine.states[state] ?? ""}</p><p><small class="facts">${factsOf(this.run, place).join(" · ")}</small></p
			>${via ? html`<p class="via">came by <b>${via} → ${state}</b>${because}</p>` : ""}</div>`;
	}
	private changes() {
		const { step, turns = [] } = this,
			at = placeOf({ stops: turns, step }) + 1;
		return `change ${at} of ${turns.length} in this chart: ← and → go from one to the next`;
	}
	private table() {
		const rows = this.answers.map(
			([, ask, kind, to, answer, because], i) =>
				html`<tr class=${kind} data-choose=${i} tabindex="0" data-ask=${ask} title=${because || nothing}
					aria-selected=${ask === this.get("question")}><td>${SIGN[kind]}</td><th scope="row">${camel(ask)}</th
					><td class="answer">${camel(answer || "–")}</td><td class="to">${camel(to || "stays")}</td></tr>`,
		);
		return html`<table>${rows}</table>`;
	}
	body() {
		const { place, machine } = this,
			wonders = this.get("what_if");
		return html`<div class="main"><section class="chart"><div class="subject">${this.subject()}</div>
			<p class="changes"><small>${this.changes()}</small></p>
			<div class="states" @mouseover=${this.point} @focusin=${this.point}>${unsafeHTML(this.picture)}</div>
			<p class="told" role="status" aria-live="polite"></p></section>
			<section class="what-if" ?hidden=${!wonders}><h3 class="heading" role="none">${
				place ? `What if, in ${place.state}` : ""
			}</h3>
			<div class="cells">${wonders ? this.table() : ""}</div>
			<p><small class="note">${place ? machine.note : ""}</small></p></section></div>`;
	}
	private readonly point = ({ target }: Event) => {
		const edge = (target as Element).closest(".edge");
		if (edge) this.tell(edge.getAttribute("aria-label") ?? "");
	};
	private tell(text: string) {
		this.$(".told").textContent = text || "Point at an arrow, or choose a question.";
	}

	override drawn() {
		const { place, old, step, before, machine } = this,
			size = sizeOf(this.model, this.journey),
			shows = `${size} ${this.picture}`;
		this.diagram ??= new Diagram(this.$(".states"), (name) => this.id(name));
		if (this.named !== shows) this.diagram.name(machine, size === "projector" ? 1.78 : 1.4);
		this.named = shows;
		this.root.dataset.machine = machine.name;
		this.diagram.mark(place, this.asked);
		this.tell(this.asked ? wordsOf(this.asked) : "");
		const onward = step > before && old && place,
			since = onward ? this.places.filter((p) => p.step > before && p.step <= step && p.subject === place.subject) : [];
		this.diagram.move(
			since.flatMap((p): Way[] => (p.via && !p.pending ? [[p.via, p.state, 0, 1]] : [])),
			place,
			step > before,
		);
		if (place && old?.state !== place.state) reveal(this.$(".main"), this.diagram.box(place.state));
		this.old = place;
	}
	override close() {
		this.diagram?.stop();
	}

	override pressed(action: string) {
		return action === "what_if" ? this.get("what_if") : undefined;
	}
	private get row() {
		return this.answers.findIndex(([, ask]) => ask === this.get("question"));
	}
	override why(action: string) {
		const { length } = this.answers;
		if (/up|down/.test(action) && !length) return "Nothing is known yet at this step: go forward.";
		if (action === "subject") return this.subjects.length < 2 ? "There is no other one in this run." : "";
		return edgeOf(action, this.row, length, "question");
	}
	override act(action: string) {
		if (action === "what_if") return this.set({ what_if: !this.get("what_if") });
		if (action === "subject") {
			const values = ["", ...this.subjects];
			return this.set({ subject: values[(values.indexOf(this.get("subject")) + 1) % values.length], question: "" });
		}
		const next = besideOf(action, this.row, this.answers.length);
		this.set({ question: this.answers[next][1], what_if: true });
		this.root.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
	}
	override choose(i: string) {
		this.set({ question: this.answers[Number(i)][1] });
	}

	legend() {
		return html`<li>← and → go to the steps at which this chart changes, Home and End to the first and the last
			step.</li>
			<li>Thick box: the present state. Dotted: decided, and being written; the token waits half-way. Thick arrow: how it
			came here.</li>
			<li>Point at an arrow, or go to it with Tab: question, answer and error. ↑ and ↓ go through the questions of the
			present state.</li>
			<li>→ goes to another state, = nothing changes, … is answered later, ✕ is refused.</li>`;
	}
}

export default viewOf(StateChart);
