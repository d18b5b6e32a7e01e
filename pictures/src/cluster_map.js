// The cluster as a map: nodes as cards, walls between those that are cut off, frames in flight; below, who has what.

import "./cluster_map.css";
import { apiOf, breakable, envelope, esc, logOf, rounded, svg, sync } from "./run";
import { openView } from "./view";

const LIFE = { up: "up", paused: "paused", down: "crashed" },
	SIGN = { up: "●", paused: "‖", down: "✕" },
	MAX_LABELS = 3;

function coordinated({ run, state }, node) {
	const { ids, groups } = run.homes,
		asked = new Set([...Object.keys(state.txns), ...Object.values(state.producers).map((p) => p.tid)]),
		found = [];
	for (const [tid, home] of Object.entries(ids)) if (state.leader[home] === node && asked.has(tid)) found.push(tid);
	for (const [group, home] of Object.entries(groups))
		if (state.leader[home] === node && (state.group[group] || logOf(state, node, home).count))
			found.push(`group ${group}`);
	return found;
}

const ledBy = ({ run, state }, node) => run.partitions.filter((p) => state.leader[p] === node);

// What is to be said of a client: its producer's state and ids, its last call.
function clientFacts({ state }, id) {
	const known = state.client[id] ?? {};
	return [
		known.state,
		known.producer_id >= 0 && `producer ${known.producer_id}, epoch ${known.epoch}`,
		known.last,
	].filter(Boolean);
}

function nodeWords(view, { id, kind, label }) {
	const parts = [`${label}: ${LIFE[view.state.node[id] ?? "up"]}`],
		led = ledBy(view, id),
		ours = coordinated(view, id);
	if (kind === "broker" && led.length) parts.push(`leads ${led.join(", ")}`);
	if (kind === "broker" && ours.length) parts.push(`coordinates ${ours.join(", ")}`);
	return [...parts, ...clientFacts(view, id)].join("; ");
}

function replicaWord({ state }, partition, node) {
	if (state.leader[partition] === node) return "leader";
	const { replicas = [], isr = [] } = state.isr[partition] ?? {};
	return !replicas.includes(node) ? "–" : isr.includes(node) ? "in sync" : "out of sync";
}

function endOf({ state }, partition, node) {
	const log = logOf(state, node, partition),
		[last] = log.last(1);
	return Math.max(log.start, log.hw, last ? last.last + 1 : 0);
}

function partitionWords(view, partition) {
	const parts = view.brokers
		.map(({ id }) => [id, replicaWord(view, partition, id)])
		.filter(([, word]) => word !== "–")
		.map(([id, word]) => `${id} ${word}, end ${endOf(view, partition, id)}`);
	return `${partition}: ${view.state.leader[partition] ? "" : "no leader; "}${parts.join("; ")}`;
}

const flightWords = ({ run, state }, f) =>
	`${f.id}: ${run.label(f.from)} → ${run.label(f.to)}${state.held[f.copy_of || f.id] ? ", held" : ""}`;
const cutsOf = ({ state }) =>
	Object.keys(state.cut)
		.filter((pair) => state.cut[pair])
		.sort()
		.map((pair) => pair.split(" "));

// ---- where things are: clients left, brokers on an ellipse, the controller right ----

function placesOf(nodes) {
	const clients = nodes.filter((n) => n.kind === "client"),
		brokers = nodes.filter((n) => n.kind === "broker"),
		places = {};
	clients.forEach(({ id }, i) => (places[id] = [0.09, (i + 0.5) / clients.length]));
	const angles = brokers.map((_, i) => (2 * Math.PI * i) / brokers.length - Math.PI / 2),
		heights = angles.map(Math.sin),
		low = Math.min(...heights),
		high = Math.max(...heights);
	brokers.forEach(
		({ id }, i) =>
			(places[id] = [
				brokers.length > 1 ? 0.56 + 0.27 * Math.cos(angles[i]) : 0.56,
				high > low ? 0.17 + (0.66 * (heights[i] - low)) / (high - low) : 0.5,
			]),
	);
	for (const { id, kind } of nodes) if (kind === "controller") places[id] = [0.91, 0.15];
	return places;
}

// Where a way from one card's centre to another's leaves the first card (its half size: w, h).
function leave([x1, y1], [x2, y2], [w, h], more = 4) {
	const dx = x2 - x1,
		dy = y2 - y1,
		t = Math.min((w + more) / Math.abs(dx || 1e-9), (h + more) / Math.abs(dy || 1e-9), 0.5);
	return [x1 + dx * t, y1 + dy * t];
}

// A frame's way: where it is drawn from and to, a little to the right of the straight line, so that answers have
// their own.
function wayOf(view, from, to) {
	const { at, half } = view,
		[ax, ay] = leave(at[from], at[to], half[from]),
		[bx, by] = leave(at[to], at[from], half[to]),
		length = Math.hypot(bx - ax, by - ay) || 1,
		side = view.u * 0.75;
	const [dx, dy] = [(-(by - ay) / length) * side, ((bx - ax) / length) * side];
	return { x1: ax + dx, y1: ay + dy, x2: bx + dx, y2: by + dy };
}

// ---- markup ----

const whole = (name, role) => `<q class="${role}">${esc(name)}</q>`,
	coordinatorOf = (name) => (name.startsWith("group ") ? "group-coordinator" : "txn-coordinator");

function cardMarkup(view, node) {
	const { id, kind, label } = node,
		life = view.state.node[id] ?? "up",
		[x, y] = view.places[id],
		words = nodeWords(view, node),
		chosen = view.model.get("node") === id;
	const led = ledBy(view, id).filter((p) => !p.startsWith("__")),
		ours = coordinated(view, id),
		facts = clientFacts(view, id).map((fact) => `<span>${breakable(fact)}</span>`);
	if (kind === "broker" && led.length)
		facts.push(`<span><b>★</b> leads ${led.map((name) => whole(name, "leader")).join(", ")}</span>`);
	if (kind === "broker" && ours.length)
		facts.push(`<span><b>◆</b> coordinates ${ours.map((name) => whole(name, coordinatorOf(name))).join(", ")}</span>`);
	const place = `style="left:${x * 100}%;top:${y * 100}%"`,
		data = `data-node="${id}" data-choose="${id}" data-words="${esc(words)}" data-life="${life}"`,
		aria = `role="img" aria-label="${esc(words)}"${chosen ? ' aria-current="true"' : ""}`,
		name = `<i>${SIGN[life]}</i> ${esc(label)}${life === "up" ? "" : ` <em>${LIFE[life]}</em>`}`;
	return `<div class="node ${kind} ${life}${chosen ? " chosen" : ""}" ${place} ${data} ${aria}>
		<b class="name">${name}</b>${facts.join("")}</div>`;
}

function wallMarkup(view, [a, b]) {
	const [x1, y1] = view.at[a],
		[x2, y2] = view.at[b],
		turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI,
		r = view.u * 0.55;
	const rows = [-3, -1, 1, 3].map((k) => svg`M${-r},${k * r * 1.1}h${2 * r}`).join(""),
		posts = [-4, 0, 4].map((k) => svg`M0,${k * r * 1.1 - r * 1.1}v${2.2 * r}`).join("");
	return (
		`<g class="wall" data-wall="${esc(`${view.run.label(a)} | ${view.run.label(b)}`)}"><path class="gap"` +
		` d="${svg`M${x1},${y1}L${x2},${y2}`}"/>` +
		`<g transform="${svg`translate(${(x1 + x2) / 2},${(y1 + y2) / 2}) rotate(${turn})`}">` +
		`<path class="bricks" d="${svg`M${-r},${-r * 5.5}h${2 * r}v${r * 11}h${-2 * r}z`}${rows}${posts}"/>` +
		`</g><text x="${rounded((x1 + x2) / 2)}" y="${rounded((y1 + y2) / 2 - view.u * 3.4)}">cut</text></g>`
	);
}

const ALONG = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8];

// Where the lines of a label stand beside a way: in its middle, on the side wanted; elsewhere if a card is there.
function labelPlace({ at, half, u }, { x1, y1, x2, y2 }, lines, down) {
	const high = (lines.length - 1) * u * 1.05,
		[w, h] = [Math.max(...lines.map((line) => line.length)) * u * 0.34, high / 2 + u * 0.5];
	const placeAt = (t, below) => [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t + (below ? u * 1.7 : -u * 0.9 - high)];
	const free = ([x, y]) =>
		Object.keys(at).every(
			(id) =>
				Math.abs(x - at[id][0]) > half[id][0] + w || Math.abs(y - u * 0.3 + high / 2 - at[id][1]) > half[id][1] + h,
		);
	const places = ALONG.flatMap((t) => [placeAt(t, down), placeAt(t, !down)]);
	return places.find(free) ?? places[0];
}

// Frames that fly the same way share a line; their envelopes stand one behind the other, the oldest in front.
function flightsMarkup(view, from, to, frames) {
	const { u, step, run } = view,
		node = view.model.get("node"),
		bold = frames.some((f) => f === view.current) || (node && (node === from || node === to));
	const words = frames.map((f) => `<title>${esc(flightWords(view, f))}</title>`)[0],
		lines = frames
			.slice(0, MAX_LABELS)
			.map(
				(f) =>
					f.id +
					(view.state.held[f.copy_of || f.id] ? " · held" : "") +
					(f === view.current && view.fate ? ` · ${view.fate}` : ""),
			);
	if (frames.length > MAX_LABELS) lines.push(`and ${frames.length - MAX_LABELS} more`);
	const label = (x, y) =>
		`<text x="${rounded(x)}" y="${rounded(y)}">` +
		`${lines.map((line, i) => svg`<tspan x="${x}" dy="${i ? u * 1.05 : 0}">${esc(line)}</tspan>`).join("")}</text>`;
	const { kind, category } = frames[0],
		open = `<g class="flight ${kind} ${category}${bold ? " bold" : ""}" data-way="${from} ${to}">${words}`;
	if (from === to) {
		const [x, y] = view.at[from],
			[w, h] = view.half[from];
		const curve = svg`c0,${-u * 2.4} ${u * 3.4},${-u * 2.4} ${u * 3.2},${u * 1.4}`,
			line = `<path class="line" d="${svg`M${x + w - u * 2},${y - h}`}${curve}"/>`;
		return `${open}${line}${label(x + w, y - h - u * (1.9 + 1.05 * (lines.length - 1)))}</g>`;
	}
	const { x1, y1, x2, y2 } = wayOf(view, from, to),
		now = run.events[step].at,
		turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
	const tokens = frames.slice(0, MAX_LABELS).map((f, i) => {
		const span = (f.received_at ?? f.at + 4) - f.at || 1,
			lost = f === view.current && /dropped|lost/.test(view.fate),
			done = f === view.current && view.fate === "delivered";
		const t = lost ? 0.5 : done ? 0.97 : Math.max(0.2, Math.min(0.75, (now - f.at) / span)) - i * 0.1,
			r = u * 0.6,
			[x, y] = [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t];
		if (lost) return svg`<path class="cross" d="M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}"/>`;
		return `<g class="token" data-frame="${esc(f.id)}" transform="${svg`translate(${x},${y})`}">${envelope(r)}</g>`;
	});
	const head =
		svg`<path class="head" d="M${-u * 0.8},${-u * 0.35}L0,0L${-u * 0.8},${u * 0.35}z"` +
		svg` transform="translate(${x2},${y2}) rotate(${turn})"/>`;
	const down = y2 - y1 > Math.abs(x2 - x1) * 0.3 || x2 < x1,
		[mx, my] = labelPlace(view, { x1, y1, x2, y2 }, lines, down);
	return `${open}${svg`<path class="line" d="M${x1},${y1}L${x2},${y2}"/>`}${head}${tokens.join("")}${label(mx, my)}</g>`;
}

function tableMarkup(view) {
	const { run, brokers, state } = view,
		home = (p) =>
			Object.entries({ ...run.homes.ids, ...run.homes.groups })
				.filter(([, at]) => at === p)
				.map(([name]) => name)
				.join(", ");
	const rows = run.partitions.map(
		(p) =>
			`<tr data-partition="${esc(p)}" data-words="${esc(partitionWords(view, p))}"><th scope="row">${breakable(p)}` +
			`${home(p) ? ` <small>${esc(home(p))}</small>` : ""}${state.leader[p] ? "" : " <em>no leader</em>"}</th>${brokers
				.map(({ id }) => {
					const word = replicaWord(view, p, id),
						sign = { leader: "★ ", "out of sync": "! " }[word] ?? "",
						end = word === "–" ? "" : ` <small>end ${endOf(view, p, id)}</small>`;
					return `<td class="${word.replaceAll(" ", "-")}">${sign}${word}${end}</td>`;
				})
				.join("")}</tr>`,
	);
	return (
		`<table><thead><tr><th>replicas</th>${brokers.map(({ label }) => `<th scope="col">${esc(label)}</th>`).join("")}` +
		`</tr></thead><tbody>${rows.join("")}</tbody></table>`
	);
}

// ---- the view ----

const TOOLS = {
	up: ["↑", "Node before", "ArrowUp"],
	down: ["↓", "Node after", "ArrowDown"],
	none: ["all", "No node chosen", "a"],
};
const LEGEND = `<li>● up, ‖ paused (dashed), ✕ crashed (dotted). ★ leads a partition,
	◆ coordinates transactional ids or groups.</li>
	<li>An envelope is a frame in flight; solid line: request, dashed: response.
	A wall: no frame gets through; nobody is told.</li>
	<li>In the table: in sync replicas have all that was acknowledged; one that is out of sync may lack the end.
	Which frames are shown follows from the journey's groups.</li>`;

function load(view) {
	const { run, $ } = view;
	view.places = placesOf(run.nodes);
	view.brokers = run.nodes.filter((n) => n.kind === "broker");
	$("map").style.setProperty("--rows", Math.max(3, run.nodes.filter((n) => n.kind === "client").length));
}

function draw(view) {
	const { run, step, $, model, root } = view,
		cards = $("cards"),
		event = run.events[step],
		shown = (f) =>
			view.groups.has(f.category) && f.sent <= step && ![apiOf(f), f.from, f.to].some((name) => view.hiding.has(name));
	view.u = parseFloat(getComputedStyle(root).fontSize) || 13;
	sync(
		cards,
		run.nodes.map((node) => [node.id, cardMarkup(view, node)]),
	);
	const box = cards.getBoundingClientRect();
	view.at = {};
	view.half = {};
	for (const [id, card] of cards.kept) {
		view.half[id] = [card.offsetWidth / 2, card.offsetHeight / 2];
		const [x, y] = view.places[id],
			side = Math.max(Math.min(x * box.width, box.width - view.half[id][0]), view.half[id][0]);
		view.at[id] = [side, y * box.height];
		card.style.left = `${side}px`;
	}
	const flying = run.flown.filter((f) => shown(f) && step < run.end(f)),
		own = run.frames[event?.frame];
	view.current = own;
	view.fate = own && step >= run.end(own) ? run.fate(own, step) : event?.kind === "fault" && own ? "dropped" : "";
	if (view.fate && own && step >= run.end(own) && shown(own) && !flying.includes(own)) flying.push(own);
	else if (event?.kind === "fault") view.fate = "";
	root.dataset.flying = flying
		.filter((f) => step < run.end(f))
		.map((f) => flightWords(view, f))
		.join("\n");
	const ways = new Map();
	for (const f of flying) ways.set(`${f.from} ${f.to}`, [...(ways.get(`${f.from} ${f.to}`) ?? []), f]);
	const sheet = $("sheet");
	sheet.setAttribute("viewBox", svg`0 0 ${box.width || 1} ${box.height || 1}`);
	sync(
		sheet.children[0],
		cutsOf(view)
			.filter(([a, b]) => view.at[a] && view.at[b])
			.map((pair) => [pair.join(), wallMarkup(view, pair)]),
	);
	sync(
		sheet.children[1],
		[...ways].map(([way, frames]) => [way, flightsMarkup(view, frames[0].from, frames[0].to, frames)]),
	);
	sync($("who-has"), [["", tableMarkup(view)]]);
	const node = run.nodes.find((n) => n.id === model.get("node")),
		about = flying.filter((f) => node && (f.from === node.id || f.to === node.id)).map((f) => flightWords(view, f));
	$("told").textContent = node ? [nodeWords(view, node), ...about].join(" · ") : "Choose a node: a click, or ↑ and ↓.";
}

function why(view, action) {
	const ids = view.run.nodes.map((n) => n.id),
		at = ids.indexOf(view.model.get("node"));
	if (action === "up") return at === 0 ? "This is the first node." : "";
	if (action === "down") return at === ids.length - 1 ? "This is the last node." : "";
	return action === "none" && at < 0 ? "No node is chosen." : "";
}

function act(view, action) {
	const ids = view.run.nodes.map((n) => n.id),
		at = ids.indexOf(view.model.get("node"));
	if (action === "none") return view.set({ node: "" });
	view.set({ node: ids[at < 0 ? (action === "down" ? 0 : ids.length - 1) : at + (action === "down" ? 1 : -1)] });
}

export default {
	render: ({ model, el }) =>
		openView(model, el, {
			name: "cluster-map",
			title: () => "Cluster",
			tools: TOOLS,
			hidden: ["up", "down"],
			legend: LEGEND,
			body:
				'<div class="main"><section class="map"><svg class="sheet" aria-hidden="true"><g></g><g></g></svg>' +
				'<div class="cards"></div></section><section class="who-has"></section></div>' +
				'<p class="told" role="status" aria-live="polite"></p>',
			traits: ["node"],
			load,
			draw,
			act,
			why,
			choose: (view, id) => view.set({ node: view.model.get("node") === id ? "" : id }),
			open: (view, redraw) => {
				view.watch = new ResizeObserver(() => redraw());
				queueMicrotask(() => view.watch.observe(view.$("map")));
			},
			close: (view) => view.watch.disconnect(),
		}),
};
