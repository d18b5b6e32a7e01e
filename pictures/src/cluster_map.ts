// The cluster as a map: nodes as cards, walls between those that are cut off, frames in flight; below, who has what.

import "./cluster_map.css";
import { envelopePath, path } from "./basics";
import { type Markup, breaks, html, nothing, render, repeat, svg } from "./lit";
import { isTable, logOf } from "./log";
import { type Layout, type Point, type Way, angleOf, labelPlace, placesOf, pointOf, wayOf } from "./map_layout";
import type { Frame, RunNode } from "./payload";
import { isHeld } from "./presses";
import { apiOf } from "./run";
import { View, type ViewValues, besideOf, edgeOf, viewOf } from "./view";

interface Values extends ViewValues {
	node: string;
}

const lifeWord = (life: string) => (life === "down" ? "crashed" : life),
	SIGN = { up: "●", paused: "‖", down: "✕" },
	REPLICA: Record<string, string> = { leader: "★ ", "out of sync": "! " },
	MAX_LABELS = 3;

// ---- what is said ----

function coordinated({ run, state }: ClusterMap, node: string): string[] {
	const { ids, groups } = run.homes,
		asked = new Set([...Object.keys(state.txns), ...Object.values(state.producers).map((p) => p.tid)]),
		leads = ([, home]: [string, string]) => state.leader[home] === node;
	const ours = Object.entries(ids).filter((one) => leads(one) && asked.has(one[0])),
		theirs = Object.entries(groups).filter(
			(one) => leads(one) && (state.group[one[0]] || logOf(state, node, one[1]).count),
		);
	return [...ours.map(([tid]) => tid), ...theirs.map(([group]) => `group ${group}`)];
}

const ledBy = ({ run, state }: ClusterMap, node: string) => run.partitions.filter((p) => state.leader[p] === node);

// What is to be said of a client: its producer's state and ids, its last call.
function clientFacts({ state }: ClusterMap, id: string): string[] {
	const { state: producer, producer_id = -1, epoch, last } = state.client[id] ?? {},
		ids = producer_id >= 0 ? `producer ${producer_id}, epoch ${epoch}` : "";
	return [producer, ids, last].filter((fact) => !!fact) as string[];
}

function nodeWords(view: ClusterMap, { id, kind, label }: RunNode): string {
	const parts = [`${label}: ${lifeWord(view.state.node[id] ?? "up")}`],
		led = ledBy(view, id),
		ours = coordinated(view, id);
	if (kind === "broker" && led.length) parts.push(`leads ${led.join(", ")}`);
	if (kind === "broker" && ours.length) parts.push(`coordinates ${ours.join(", ")}`);
	return [...parts, ...clientFacts(view, id)].join("; ");
}

function replicaWord({ state }: ClusterMap, partition: string, node: string): string {
	if (state.leader[partition] === node) return "leader";
	const { replicas = [], isr = [] } = state.isr[partition] ?? {};
	return !replicas.includes(node) ? "–" : isr.includes(node) ? "in sync" : "out of sync";
}

function endOf({ state }: ClusterMap, partition: string, node: string): number {
	const log = logOf(state, node, partition),
		[last] = log.last(1);
	return Math.max(log.start, log.hw, last ? last.last + 1 : 0);
}

function partitionWords(view: ClusterMap, partition: string): string {
	const parts = view.brokers
		.map(({ id }) => [id, replicaWord(view, partition, id)])
		.filter(([, word]) => word !== "–")
		.map(([id, word]) => `${id} ${word}, end ${endOf(view, partition, id)}`);
	return `${partition}: ${view.state.leader[partition] ? "" : "no leader; "}${parts.join("; ")}`;
}

const flightWords = (view: ClusterMap, f: Frame) =>
	`${f.id}: ${view.run.label(f.from)} → ${view.run.label(f.to)}${isHeld(view.state, f) ? ", held" : ""}`;
const cutsOf = ({ state }: ClusterMap) =>
	Object.keys(state.cut)
		.filter((pair) => state.cut[pair])
		.sort()
		.map((pair) => pair.split(" "));

// ---- markup ----

const isGroup = (name: string) => name.startsWith("group ");
const named = (names: string[], roleOf: (name: string) => string) =>
	names.map((name, i) => html`${i ? ", " : ""}<q class=${roleOf(name)}>${name}</q>`);

function cardMarkup(view: ClusterMap, node: RunNode) {
	const { id, kind, label } = node,
		life = view.state.node[id] ?? "up",
		[x, y] = view.places[id],
		words = nodeWords(view, node),
		chosen = view.get("node") === id,
		broker = kind === "broker",
		led = broker ? ledBy(view, id).filter((p) => !p.startsWith("__")) : [],
		ours = broker ? coordinated(view, id) : [];
	const facts = clientFacts(view, id).map((fact) => html`<span>${breaks(fact)}</span>`),
		leads = led.length ? html`<span><b>★</b> leads ${named(led, () => "leader")}</span>` : "",
		role = (name: string) => (isGroup(name) ? "group-coordinator" : "txn-coordinator"),
		coordinates = ours.length ? html`<span><b>◆</b> coordinates ${named(ours, role)}</span>` : "";
	return html`<div class="node ${kind} ${life}${chosen ? " chosen" : ""}" style="left:${x * 100}%;top:${y * 100}%"
		data-node=${id} data-choose=${id} data-words=${words} data-life=${life} role="img" aria-label=${words}
		aria-current=${chosen ? "true" : nothing}><b class="name"><i>${SIGN[life]}</i> ${label}${
			life === "up" ? "" : html` <em>${lifeWord(life)}</em>`
		}</b>${facts}${leads}${coordinates}</div>`;
}

function wallMarkup({ run, layout: { at, u } }: ClusterMap, [a, b]: string[]) {
	const [x1, y1] = at[a],
		[x2, y2] = at[b],
		[x, y] = [(x1 + x2) / 2, (y1 + y2) / 2],
		r = u * 0.55;
	const rows = [-3, -1, 1, 3].map((k) => path`M${-r},${k * r * 1.1}h${2 * r}`).join(""),
		posts = [-4, 0, 4].map((k) => path`M0,${k * r * 1.1 - r * 1.1}v${2.2 * r}`).join(""),
		bricks = path`M${-r},${-r * 5.5}h${2 * r}v${r * 11}h${-2 * r}z${rows}${posts}`;
	return svg`<g class="wall" data-wall="${run.label(a)} | ${run.label(b)}">
		<path class="gap" d=${path`M${x1},${y1}L${x2},${y2}`}/>
		<g transform=${path`translate(${x},${y}) rotate(${angleOf({ x1, y1, x2, y2 })})`}><path class="bricks"
		d=${bricks}/></g>
		<text x=${x} y=${y - u * 3.4}>cut</text></g>`;
}

// Frames that fly the same way; what is told of the step's own one stands in `fate`.
interface Flight {
	readonly frames: Frame[];
	readonly current?: Frame;
	readonly fate: string;
}

const labelOf = ([x, y]: Point, lines: string[], u: number) =>
	svg`<text x=${x} y=${y}>${lines.map((line, i) => svg`<tspan x=${x} dy=${i ? u * 1.05 : 0}>${line}</tspan>`)}</text>`;

// Their envelopes, each with its place, stand one behind the other, the oldest in front.
function tokens({ run, step, layout: { u } }: ClusterMap, way: Way, { frames, current, fate }: Flight) {
	return frames.slice(0, MAX_LABELS).map((f, i): [Point, Markup] => {
		const span = (f.received_at ?? f.at + 4) - f.at || 1,
			own = f === current,
			along = Math.max(0.2, Math.min(0.75, (run.events[step].at - f.at) / span)) - i * 0.1,
			lost = own && /dropped|lost/.test(fate),
			[x, y] = pointOf(way, lost ? 0.5 : own && fate === "delivered" ? 0.97 : along),
			r = u * 0.6;
		return [
			[x, y],
			lost
				? svg`<path class="cross" d=${path`M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}`}/>`
				: svg`<g class="token" data-frame=${f.id} transform=${path`translate(${x},${y})`}><path
				d=${envelopePath(r)}/></g>`,
		];
	});
}

function linesOf(view: ClusterMap, { frames, current, fate }: Flight): string[] {
	const lines = frames
		.slice(0, MAX_LABELS)
		.map((f) => f.id + (isHeld(view.state, f) ? " · held" : "") + (f === current && fate ? ` · ${fate}` : ""));
	return frames.length > MAX_LABELS ? [...lines, `and ${frames.length - MAX_LABELS} more`] : lines;
}

function flightMarkup(view: ClusterMap, flight: Flight) {
	const { frames, current } = flight,
		{ kind, category, from, to } = frames[0],
		{ layout } = view,
		{ u } = layout,
		node = view.get("node"),
		bold = frames.some((f) => f === current) || (node && (node === from || node === to)),
		lines = linesOf(view, flight);
	const shell = (inside: Markup[]) =>
		svg`<g class="flight ${kind} ${category}${bold ? " bold" : ""}"><title
			>${flightWords(view, frames[0])}</title>${inside}</g>`;
	if (from === to) {
		const [x, y] = layout.at[from],
			[w, h] = layout.half[from],
			curve = path`M${x + w - u * 2},${y - h}c0,${-u * 2.4} ${u * 3.4},${-u * 2.4} ${u * 3.2},${u * 1.4}`,
			place: Point = [x + w, y - h - u * (1.9 + 1.05 * (lines.length - 1))];
		return shell([svg`<path class="line" d=${curve}/>`, labelOf(place, lines, u)]);
	}
	const way = wayOf(layout, from, to),
		{ x1, y1, x2, y2 } = way,
		drawn = tokens(view, way, flight),
		head = path`M${-u * 0.8},${-u * 0.35}L0,0L${-u * 0.8},${u * 0.35}z`,
		turned = path`translate(${x2},${y2}) rotate(${angleOf(way)})`;
	return shell([
		svg`<path class="line" d=${path`M${x1},${y1}L${x2},${y2}`}/><path class="head" d=${head} transform=${turned}/>`,
		...drawn.map(([, token]) => token),
		labelOf(
			labelPlace(
				layout,
				way,
				lines,
				drawn.map(([at]) => at),
			),
			lines,
			u,
		),
	]);
}

function tableMarkup(view: ClusterMap) {
	const { run, brokers, state } = view,
		homes = Object.entries({ ...run.homes.ids, ...run.homes.groups });
	const cell = (partition: string, node: string) => {
		const word = replicaWord(view, partition, node),
			end = word === "–" ? "" : html` <small>end ${endOf(view, partition, node)}</small>`;
		return html`<td class=${word.replaceAll(" ", "-")}>${REPLICA[word] ?? ""}${word}${end}</td>`;
	};
	const rows = run.partitions
		.filter((p) => !isTable(p))
		.map((p) => {
			const home = homes
				.filter(([, at]) => at === p)
				.map(([name]) => name)
				.join(", ");
			return html`<tr data-partition=${p} data-words=${partitionWords(view, p)}><th scope="row">${breaks(p)}${
				home ? html` <small>${home}</small>` : ""
			}${state.leader[p] ? "" : html` <em>no leader</em>`}</th>${brokers.map(({ id }) => cell(p, id))}</tr>`;
		});
	return html`<table><thead><tr><th>replicas</th>${brokers.map(({ label }) => html`<th scope="col">${label}</th>`)}</tr
		></thead><tbody>${rows}</tbody></table>`;
}

// ---- the view ----

class ClusterMap extends View<Values> {
	readonly name = "cluster-map";
	readonly tools = {
		up: ["↑", "Node before", "ArrowUp"],
		down: ["↓", "Node after", "ArrowDown"],
		none: ["all", "No node chosen", "a"],
	} satisfies View["tools"];
	readonly first = ["down", "up", "play"];
	override readonly buttons = ["none"];
	override readonly traits = ["node"] as const;
	places: Record<string, Point> = {};
	brokers: RunNode[] = [];
	layout: Layout = { at: {}, half: {}, u: 13 };
	private current?: Frame;
	private fate = "";
	private flying: Frame[] = [];
	private readonly watch = new ResizeObserver(() => this.draw());

	title() {
		return "Cluster";
	}
	override load() {
		const { nodes } = this.run;
		this.places = placesOf(nodes);
		this.brokers = nodes.filter((n) => n.kind === "broker");
	}
	private isShown(f: Frame) {
		const names = [apiOf(f), f.from, f.to];
		return this.groups.has(f.category) && f.sent <= this.step && !names.some((name) => this.hiding.has(name));
	}
	// The frames that are in flight; the step's own frame also when it has just arrived or been lost.
	override show() {
		const { run, step } = this,
			event = run.events[step],
			own: Frame | undefined = run.frames[event?.frame],
			ended = own && step >= run.end(own),
			flying = run.flown.filter((f) => step < run.end(f) && this.isShown(f));
		this.current = own;
		this.fate = ended ? run.fate(own, step) : "";
		this.flying = ended && this.isShown(own) ? [...flying, own] : flying;
	}
	body() {
		const { run, flying } = this,
			node = run.nodes.find((n) => n.id === this.get("node")),
			about = flying.filter((f) => f.from === node?.id || f.to === node?.id).map((f) => flightWords(this, f)),
			rows = Math.max(3, run.nodes.filter((n) => n.kind === "client").length);
		return html`<div class="main"><section class="map" style="--rows:${rows}"><svg class="sheet" aria-hidden="true"></svg>
			<div class="cards">${repeat(
				run.nodes,
				({ id }) => id,
				(one) => cardMarkup(this, one),
			)}</div></section><section class="who-has">${tableMarkup(this)}</section></div>
			<p class="told" role="status" aria-live="polite">${
				node ? [nodeWords(this, node), ...about].join(" · ") : "Choose a node: a click, or ↑ and ↓."
			}</p>`;
	}
	// The cards have to be there before it is known where the ways between them begin.
	override drawn() {
		const { run, step, flying, current, fate, root } = this,
			ways = Map.groupBy(flying, (f) => `${f.from} ${f.to}`),
			sheet = this.$<SVGSVGElement>(".sheet");
		const { width, height } = this.measure();
		sheet.setAttribute("viewBox", path`0 0 ${width || 1} ${height || 1}`);
		const walls = cutsOf(this).filter(([a, b]) => this.layout.at[a] && this.layout.at[b]),
			flights = [...ways.values()].map((frames) => flightMarkup(this, { frames, current, fate }));
		render(svg`${walls.map((pair) => wallMarkup(this, pair))}${flights}`, sheet as unknown as HTMLElement);
		root.dataset.flying = flying
			.filter((f) => step < run.end(f))
			.map((f) => flightWords(this, f))
			.join("\n");
	}
	override async open() {
		const close = await super.open();
		this.watch.observe(this.$(".map"));
		return close;
	}
	// Measures the cards, and keeps them inside the map.
	private measure(): DOMRect {
		const box = this.$(".cards").getBoundingClientRect(),
			at: Record<string, Point> = {},
			half: Record<string, Point> = {},
			cards = [...this.root.querySelectorAll<HTMLElement>(".node")];
		for (const card of cards) {
			const { node = "" } = card.dataset,
				[x, y] = this.places[node];
			half[node] = [card.offsetWidth / 2, card.offsetHeight / 2];
			at[node] = [Math.max(Math.min(x * box.width, box.width - half[node][0]), half[node][0]), y * box.height];
		}
		for (const card of cards) card.style.left = `${at[card.dataset.node ?? ""][0]}px`;
		this.layout = { at, half, u: parseFloat(getComputedStyle(this.root).fontSize) || 13 };
		return box;
	}
	override close() {
		this.watch.disconnect();
	}

	private get chosen() {
		return this.run.nodes.findIndex((n) => n.id === this.get("node"));
	}
	override why(action: string) {
		if (action === "none") return this.chosen < 0 ? "No node is chosen." : "";
		return edgeOf(action, this.chosen, this.run.nodes.length, "node");
	}
	override act(action: string) {
		const { nodes } = this.run,
			next = besideOf(action, this.chosen, nodes.length);
		this.set({ node: action === "none" ? "" : nodes[next].id });
	}
	override choose(id: string) {
		this.set({ node: this.get("node") === id ? "" : id });
	}

	legend() {
		return html`<li>● up, ‖ paused (dashed), ✕ crashed (dotted). ★ leads a partition, ◆ coordinates transactional
			ids or groups.</li>
			<li>An envelope is a frame in flight; solid line: request, dashed: response. A wall: no frame gets through; nobody
			is told.</li>
			<li>In the table: in sync replicas have all that was acknowledged; one that is out of sync may lack the end. Which
			frames are shown follows from the journey's groups.</li>`;
	}
}

export default viewOf(ClusterMap);
