// A run of a Kafka cluster as a sequence diagram with logs and states, stepped through in the browser.
//
// What is shown is a fold over the events' patches (openRun), laid out for the visible groups (plan).

const CELLS = 16,
	PLAY_MS = 900;
const BUTTONS = {
	home: ["|◂", "First step", "Home"],
	left: ["◂", "Back", "ArrowLeft"],
	play: ["play", "Play or pause", " "],
	right: ["▸", "Forward", "ArrowRight"],
	end: ["▸|", "Last step", "End"],
	drop: ["× Drop", "Drop the frame sent at this step", "d"],
	duplicate: ["×2 Duplicate", "Duplicate the frame sent at this step", "u"],
	undo: ["↶ Undo", "Undo the last fault", "z"],
	redo: ["↷ Redo", "Redo the undone fault", "y"],
	crash: ["crash", "Crash a broker (0: the app) after this step", "1 2 3"],
	time: ["time", "Time downwards or across", "t"],
	inspect: ["fields", "Give the frame's fields the room of the states, or give it back", "i"],
	filter: ["filter", "Choose nodes, APIs and transactions", "f"],
	help: ["?", "Help", "?"],
};
const KEYS = Object.fromEntries(Object.entries(BUTTONS).map(([action, [, , key]]) => [key, action]));
let instances = 0;

// The cells of a log, with the bars of its high watermark and last stable offset between them.
function cells(log, partition, isNew) {
	const { hw, lso } = log,
		from = Math.max(0, log.count - CELLS),
		ended = {},
		items = [],
		shown = [];
	for (const b of log.last(CELLS).reverse()) {
		if (b.kind !== "data") ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
		shown.unshift([b, b.kind === "data" && b.txn ? (ended[b.pid] ?? "open") : ""]);
	}
	const bars = [
		["lso", lso],
		["hw", hw],
	].sort((a, b) => a[1] - b[1]);
	const flush = (offset) => {
		while (bars[0]?.[1] <= offset) {
			const [which, at] = bars.shift();
			items.push([
				which,
				`<span class="${which}${hw === lso ? " same" : ""}${isNew(which) ? " new" : ""}">${which.toUpperCase()} ` +
					`<b data-${which}="${esc(partition)}">${at}</b></span>`,
			]);
		}
	};
	if (from) items.push(["more", `<span class="more">${from} earlier …</span>`]);
	for (const [b, fate] of shown) {
		flush(b.base);
		items.push([b.base, cell(b, fate, (isNew(b.base) ? " new" : "") + (b.base >= hw ? " ahead" : ""))]);
	}
	flush(Infinity);
	return items;
}

function cell(b, fate, more) {
	const sign = b.kind === "data" ? fate : b.kind;
	const glyph = { COMMIT: "✓ ", committed: "✓ ", ABORT: "✕ ", aborted: "✕ " }[sign] ?? "";
	const text = b.kind === "data" ? esc(b.decoded || b.records.map(([k, v]) => (k ? `${k}=${v}` : v)).join("  ")) : "";
	const who =
		b.pid < 0 ? "" : `<span class="who">pid ${b.pid} · e${b.epoch}${b.seq < 0 ? "" : ` · seq ${b.seq}`}</span>`;
	return (
		`<div class="batch ${b.kind === "data" ? fate : `marker ${b.kind}`}${more}" data-batch="${b.base}"` +
		` data-last="${b.last}" data-kind="${b.kind}" data-fate="${fate}" title="${text}">
		<span class="off">${b.base}${b.last > b.base ? `–${b.last}` : ""}</span> ` +
		`<b class="sign">${glyph}${sign}</b><span class="text">${text}</span>${who}</div>`
	);
}

function captions(roles = [], client) {
	if (client)
		return [client.state ?? "", client.producer_id >= 0 ? `producer ${client.producer_id}, epoch ${client.epoch}` : ""];
	const led = roles
		.filter((role) => /^leader of /.test(role))
		.map((role) => role.slice(10))
		.join(", ");
	return [...roles.filter((role) => !/^leader of /.test(role)), led && `leads ${led}`];
}

const button = (action, text = BUTTONS[action][0]) => `<button type="button" data-action="${action}">${text}</button>`;
const buttons = (...actions) => `<div>${actions.map((action) => button(action)).join("")}</div>`;
const SKELETON =
	`
<div class="bar">${buttons("home", "left", "play", "right", "end")}<span class="where">` +
	`</span>${buttons("drop", "duplicate")}${buttons("undo", "redo", "help")}</div>
<div class="bar"><input class="seek" type="range" min="1" aria-label="Step"` +
	` tabindex="-1"><div class="groups" role="group" aria-label="Frames shown">
	` +
	["transaction", "verification", "replication", "metadata"]
		.map((g) => `<label class="${g}"><input type="checkbox" value="${g}"><span>${g}</span></label>`)
		.join("") +
	`</div>${buttons("time", "inspect", "filter")}</div>
<div class="filter" role="group" aria-label="Nodes, APIs and transactions shown" hidden></div>
<div class="chips"></div>
<p class="now" role="status" aria-live="polite"></p>
<div class="main">
	<section class="diagram"><div class="lanes"></div>
		<div class="scroll"><div class="sheet"><svg aria-hidden="true">` +
	`<g></g><g></g><g></g><g></g></svg></div></div></section>
	<div class="side"><section class="chart"><div class="txn"></div><div class="states"></div></section>
		<section class="frame" aria-label="The chosen frame"></section></div>
</div>
<div class="logs"></div>
<div class="help" role="dialog" aria-label="Help" hidden>
	<div>${Object.values(BUTTONS)
		.map(([, title, key]) => `<p><small>${keyName(key)}</small>${title}</p>`)
		.join("")}</div>
	<ul><li>Click an arrow or a row to go there. A fault makes a new run: the same up to this step, another future.</li>
	<li>Solid arrow: request; dashed: response; envelope: in flight; cross: dropped, or lost as nobody was there.</li>
	<li>Dashed box: not decided; pointed box: marker.</li>
	<li>HW, high watermark: all in-sync replicas have what is before it.` +
	` LSO, last stable offset: read_committed reads up to here.</li></ul>
	${button("help", "Close")}</div>`;

// ---- the widget ----

async function open(model, el) {
	const journey = await journeyOf(model);
	const prefix = `klab${++instances}-`,
		root = parse(el, `<div class="klab sequence" tabindex="0" role="application">${SKELETON}</div>`);
	el.append(root);
	const $ = (name) => root.querySelector(`.${name}`);
	const [where, seek, boxes, now, lanes, scroll, sheet, logs, help, filter] =
		"where seek groups now lanes scroll sheet logs help filter".split(" ").map($);
	const picture = sheet.firstChild,
		pen = document.createElement("canvas").getContext("2d");
	let run,
		view,
		state,
		chosen,
		txnId,
		u,
		width,
		height,
		across,
		breadth,
		gutter,
		lane,
		x,
		row,
		bottom,
		flights,
		shift,
		playing;
	const fitted = new Map(),
		voice = aloud(journey, root, now);
	let step = 0,
		drawn = 0;

	const place = () => upTo(view.stops.length, (i) => view.stops[i] <= step);

	function go(to, tell = true) {
		if (to === undefined || to === step) return;
		step = Math.max(0, Math.min(to, run.last));
		if (tell) moveTo(journey, step);
		draw();
	}

	function say(text, how = "said") {
		now.textContent = text;
		now.className = `now ${how}`;
	}

	function pause() {
		clearInterval(playing);
		playing = 0;
		drawTools();
	}

	function play() {
		if (playing) return pause();
		if (step >= view.stops.at(-1)) go(view.stops[0]);
		playing = setInterval(() => (step < view.stops.at(-1) ? go(view.stops[place() + 1]) : pause()), PLAY_MS);
		drawTools();
	}

	function act(action, target) {
		const { stops } = view,
			at = place();
		if (action === "play") return play();
		pause();
		const moves = {
			right: stops[at + 1],
			left: stops[stops[at] === step ? at - 1 : at],
			home: stops[0],
			end: stops.at(-1),
		};
		if (action in moves) return go(moves[action]);
		if (action === "inspect") {
			const large = root.classList.toggle("inspecting");
			return root.querySelector("[data-action=inspect]").setAttribute("aria-pressed", large);
		}
		if (action === "filter") return void (filter.hidden = !filter.hidden);
		if (action === "time") return (model.set("time", across ? "down" : "across"), model.save_changes());
		if (action !== "help") return ask(action, target);
		help.hidden = !help.hidden;
		(help.hidden ? root : help.querySelector("button")).focus({ preventScroll: true });
	}

	// Why a press would change nothing; "" if it would.
	function why(action, target) {
		const { stops } = view,
			{ kind, frame } = run.events[step] ?? {};
		if (/play|help|filter|inspect|time/.test(action)) return "";
		if (/left|home/.test(action)) return stops[0] < step ? "" : "This is the first step.";
		if (/right|end/.test(action)) return stops.at(-1) > step ? "" : "This is the last step.";
		if (journey.klab.busy) return "The kernel is making the new run.";
		if (action === "undo") return journey.get("can_undo") ? "" : "There is no fault to undo.";
		if (action === "redo") return journey.get("can_redo") ? "" : "Nothing has been undone.";
		if (action === "crash") return asSentence(whyPress(run, step, action, target));
		return kind === "send" ? asSentence(whyPress(run, step, action, frame)) : "No frame is sent at this step.";
	}

	function ask(action, target = "") {
		const no = why(action, target);
		if (no) return say(no);
		press(journey, action, /drop|dup/.test(action) ? run.events[step].frame : target);
	}

	function told({ kind, text }) {
		drawTools();
		if (kind === "error") say(text, "said wrong");
	}

	function load() {
		run = runOf(journey);
		step = drawn = Math.max(0, Math.min(journey.get("step"), run.last));
		root.classList.toggle("chartless", !run.transactions.length);
		$("states").innerHTML = (journey.get("chart") ?? "").replaceAll('id="', `id="${prefix}`);
		sync(
			$("chips"),
			run.faults.map((fault, i) => [i, `<code>${esc(fault)}</code>`]),
		);
		sync(
			logs,
			run.partitions.map((p) => [
				p,
				`<section class="strip${run.internal.includes(p) ? " internal" : ""}"` +
					` data-partition="${esc(p)}"><header></header><div class="batches"></div></section>`,
			]),
		);
		Object.assign(root.dataset, { events: run.events.length, place: journey.get("place") });
		root.setAttribute("aria-label", `${run.title}. Arrow keys step, question mark for help.`);
		relay();
	}

	function relay() {
		across = model.get("time") === "across";
		Object.assign(root.dataset, { size: model.get("size"), time: model.get("time") });
		u = parseFloat(getComputedStyle(root).fontSize) || 13;
		view = plan(run, new Set(journey.get("groups")), new Set(journey.get("hidden")), u, across);
		for (const box of boxes.querySelectorAll("input")) box.checked = view.groups.has(box.value);
		drawFilter();
		root.style.setProperty("--lanes", view.lanes.length);
		width = 0;
		resized();
	}

	function resized() {
		if (!scroll.clientWidth || (scroll.clientWidth === width && scroll.clientHeight === height)) return;
		[width, height] = [scroll.clientWidth, scroll.clientHeight];
		[breadth, gutter] = across ? [height, u * 3.4] : [width, u * 4.8];
		lane = (breadth - gutter) / view.lanes.length;
		x = Object.fromEntries(view.lanes.map((n, i) => [n.id, gutter + lane * (i + 0.5)]));
		const tracks = `${gutter}px repeat(${view.lanes.length}, ${lane}px)`;
		lanes.style.gridTemplate = across ? `${tracks} / 1fr` : `auto / ${tracks}`;
		const { fontFamily, fontSize } = getComputedStyle($("txn"));
		pen.font = `600 ${fontSize} ${fontFamily}`;
		fitted.clear();
		draw();
	}

	function draw() {
		if (!width) return;
		const focused = root.contains(document.activeElement),
			event = run.events[step] ?? {},
			count = view.stops.length,
			index = place() + 1;
		state = run.at(step);
		chosen = run.frameAt(step);
		Object.assign(root.dataset, { step, stopIndex: index, stopCount: count });
		where.innerHTML = `step <b>${index}</b> of ${count} · t = <b>${event.at} ms</b>`;
		[seek.max, seek.value] = [count, index];
		voice();
		say(event.text, event.kind);
		drawLanes();
		drawTools();
		drawDiagram();
		drawChart();
		drawFrame();
		const moved = drawLogs();
		scroll[across ? "scrollLeft" : "scrollTop"] = shift; // all is written before anything is measured: one layout
		for (const batches of moved) batches.scrollLeft = 1e6;
		fly();
		if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
		drawn = step;
	}

	function drawTools() {
		root.querySelector("[data-action=play]").textContent = playing ? "pause" : "play";
		root.querySelector("[data-action=time]").textContent = across ? "time →" : "time ↓";
		for (const b of root.querySelectorAll("[data-action]")) {
			const { action, target } = b.dataset,
				no = why(action, target),
				[, title, key] = BUTTONS[action];
			const label = target ? `Crash ${run.label(target)} after this step` : `${title} (${keyName(key)})`;
			b.title = no || label;
			for (const [name, value] of [
				["label", label],
				["disabled", !!no],
				["description", no],
			])
				b.setAttribute(`aria-${name}`, value);
		}
	}

	function drawLanes() {
		sync(
			lanes,
			view.lanes.map(({ id, kind, label }) => {
				const life = state.node[id] ?? "up",
					roles = captions(state.roles[id], state.client[id]).map((role) => `<span>${breakable(role)}</span>`);
				const crash =
					kind === "controller" || life === "down" ? "" : button("crash").replace(">", ` data-target="${id}">`);
				return [
					id,
					`<div class="lane ${life}" data-node="${id}" data-life="${life}"><b>${esc(label)}` +
						`</b> ${life === "up" ? "" : `<em>${life}</em>`} ${crash}<div class="roles">${roles.join("")}</div></div>`,
				];
			}),
		);
	}

	// Only the last rows up to the cursor are in the page; the newest stand at the bottom.
	function drawDiagram() {
		const { rows } = view;
		row = view.row(step);
		const first = Math.max(0, row - ROWS),
			top = first ? rows[first].y : 0;
		bottom = (row < 0 ? 0 : rows[row].end) + u * 2.6;
		const long = across ? width : height,
			hidden = bottom - long,
			start = hidden > top ? rows[upTo(row, (i) => rows[i].y < hidden) + 1].y : top;
		const end = Math.max(bottom, start + long);
		picture.setAttribute("viewBox", [...turned(across, 0, top), ...turned(across, breadth, end - top)].join(" "));
		[sheet.style.width, sheet.style.height] = turned(across, "", `${end - top}px`);
		const bands = [],
			chips = [],
			arrows = [];
		for (let i = first; i <= row; i++) {
			bands.push([i, rowMarkup(rows[i], i)]);
			if (run.marks[rows[i].event.step] && rows[i].stop) chips.push([i, chipMarkup(rows[i], i)]);
		}
		flights = view.flying(first, row);
		for (const flight of flights) arrows.push([flight.f.id, arrowMarkup(flight)]);
		const layers = [bands, view.lanes.map(({ id }) => [id, lifeMarkup(id, top, end)]), arrows, chips];
		layers.forEach((items, i) => sync(picture.children[i], items));
		shift = start - top;
	}

	function box(name, at, from, wide, long) {
		const [left, top] = turned(across, at, from),
			[w, h] = turned(across, wide, Math.max(0, long));
		return svg`<rect class="${name}" x="${left}" y="${top}" width="${w}" height="${h}"/>`;
	}

	function rowMarkup({ event, stop, y, height, wait, clock }, i) {
		const bar = (name, wide) => box(name, 0, y, wide, height);
		const text = (name, at, base, words) =>
			svg`<text class="${name}" x="${across ? y + u * (name === "wait" ? -7.4 : 0.2) : u * at}"` +
			svg` y="${across ? u * 1.2 : base}">${words}</text>`;
		return (
			`<g${stop ? ` data-go="${event.step}"` : ""}>${bar("hit", breadth)}` +
			`${i === row ? bar("band", breadth) + bar("caret", 4) : ""}${
				clock ? text("time", 4.3, y + height * (stop ? 0.62 : 0.75), time(event.at)) : ""
			}${wait ? text("wait", 5.2, y - u * 0.6, `⋮ ${time(wait)} later`) : ""}</g>`
		);
	}

	function lifeMarkup(id, top, end) {
		const lives = run.life[id].filter(([from]) => from <= step);
		const from = ([at]) => Math.max(top, view.row(at) < 0 ? 0 : view.rows[view.row(at)].y + u);
		const until = (i) => (lives[i + 1] ? from(lives[i + 1]) : end);
		const line = (life, i) =>
			`<path class="life ${life[1]}" d="${way({ x1: x[id], y1: from(life), x2: x[id], y2: until(i), across }, 1)}"/>`;
		const shade = (life, i) =>
			life[1] === "down" ? box("shade", x[id] - lane / 2, from(life), lane, until(i) - from(life)) : "";
		return `<g>${lives.map((life, i) => shade(life, i) + line(life, i)).join("")}</g>`;
	}

	function chipMarkup({ event, y, height }, i) {
		const { step: at, kind, node } = event,
			centre = x[node],
			room = across ? height - u : (centre ? lane * 2.5 : width - u * 5) - u;
		const [text, wide] = fit(centre ? run.marks[at] : event.text, room),
			w = wide + u;
		const left = across ? y : Math.max(u * 4.8, Math.min(width - w - 2, (centre ?? width / 2) - w / 2)),
			top = across ? (centre ?? u * 2.4) - u * 0.77 : y + height * 0.14;
		return (
			svg`<g class="mark ${kind}${i === row ? " current" : ""}" data-event="${at}" data-go="${at}">` +
			svg`<title>${esc(event.text)}</title><rect x="${left}" y="${top}" width="${w}" height="${
				u * 1.55
			}" rx="${kind === "append" ? 2 : u * 0.7}"/><text x="${left + w / 2}" y="${top + u * 1.1}">${esc(text)}</text></g>`
		);
	}

	// The text, cut to the room, and its width; measured once.
	function fit(text, room) {
		const key = `${room} ${text}`,
			wide = (t) => pen.measureText(t).width;
		if (!fitted.has(key)) {
			const cut =
				wide(text) <= room
					? text
					: `${text.slice(
							0,
							upTo(text.length, (i) => wide(`${text.slice(0, i)}…`) <= room),
						)}…`;
			fitted.set(key, [cut, wide(cut)]);
		}
		return fitted.get(key);
	}

	// From the sender's row to the arrival's; a little below the cursor while the frame is in flight.
	function geometry({ f, from, to }) {
		const { y, height } = view.rows[from],
			y1 = y + (across ? u : height) * 0.8,
			fate = run.fate(f, step),
			arrival = view.rows[to];
		let y2 = y1 + u;
		if (fate === "delivered") y2 = Math.max(arrival.y + (across ? u : arrival.height) * (f.copy_of ? 0.8 : 0.55), y2);
		else if (fate === "in flight" && row > from) y2 = bottom - u * 1.7;
		const side = view.lanes.at(-1).id === f.from ? -2.2 : 2.2;
		return { x1: x[f.from], y1, x2: x[f.to], y2, loop: f.from === f.to ? side * u : 0, fate, across };
	}

	function arrowMarkup(flight) {
		const { f } = flight,
			g = geometry(flight),
			{ fate, loop } = g,
			side = loop > 0 || g.x2 > g.x1 ? 1 : -1;
		const upto = fate === "dropped" ? 0.55 : 1,
			[ex, ey] = point(g, upto);
		const text = (at, base, dir, words, how = "") =>
			svg`<text class="name ${how}" text-anchor="${dir > 0 ? "start" : "end"}" x="${at}" y="${base}">${words}</text>`;
		const tag = (yes, text, how = "tag") => (yes ? ` <tspan class="${how}">${text}</tspan>` : "");
		const words =
			esc(f.name) +
			tag(f.attempt > 1 && !f.of, `retry ${f.attempt - 1}`) +
			tag(f.copy_of, "copy") +
			tag(f.error !== "NONE" && f.error, esc(f.error), "bad");
		const beside = (at, base) => text(at + u * 0.5, base + u * (side > 0 ? -1.05 : 1.75), 1, words);
		let label = across
				? beside(g.y1, g.x1)
				: text(g.x1 + side * (Math.abs(loop) + u * 0.6), g.y1 + u * (loop ? 0.75 : -0.32), side, words),
			end;
		if (f.copy_of)
			label =
				fate !== "delivered"
					? ""
					: across
						? beside(ex, ey - side * u)
						: text(ex - side * u, ey - u * 0.5, -side, words);
		if (fate === "delivered") end = head(g, u * 0.75, f.kind === "response" ? "" : "Z");
		else if (fate === "in flight")
			end = `<g class="token" transform="translate(${point(g, 0.6).map(rounded)})">${envelope(u * 0.6)}</g>`;
		else {
			const r = u * 0.5,
				dir = !across && ex > width - u * 6 ? -1 : 1;
			end =
				svg`<path class="cross" d="M${ex - r},${ey - r}l${2 * r},${2 * r}m0,${-2 * r}l` +
				svg`${-2 * r},${2 * r}"/>${text(ex + dir * u, ey + u * 0.4, dir, fate, "bad")}`;
		}
		return (
			`<g class="arrow ${f.kind} ${f.category} ${fate.replace(" ", "-")}` +
			`${chosen === f ? " current" : ""}" data-frame="${esc(f.id)}"` +
			` data-fate="${fate}" data-go="${f.sent}"><path class="hit" d="${way(g, 1)}"/>` +
			`<path class="line" d="${way(g, upto)}"/>${end}${label}</g>`
		);
	}

	// A frame just sent flies to where it waits; one that has just arrived flies the rest of its way.
	function fly() {
		if (step <= drawn || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
		for (const flight of flights) {
			const { f } = flight,
				group = picture.children[2].kept.get(f.id),
				sent = f.sent > drawn;
			const landed = run.end(f) > drawn && run.fate(f, step) === "delivered";
			if (!group || !(sent || landed)) continue;
			if (landed) group.append(parse(group, `<g class="token">${envelope(u * 0.6)}</g>`));
			const token = group.querySelector(".token"),
				g = geometry(flight);
			const stations = (landed ? [sent ? 0 : 0.6, 0.8, 1] : [0, 0.3, 0.6]).map((t) => ({
				transform: `translate(${point(g, t).map((n) => `${n}px`)})`,
			}));
			const flying = token?.animate(stations, { duration: 280, easing: "ease-out" });
			if (landed) flying.onfinish = flying.oncancel = () => token.remove();
		}
	}

	function drawChart() {
		const { txns } = state,
			touched = run.events[step]?.patch.findLast(([op]) => op === "txn");
		txnId = touched?.[1] ?? (txnId in txns ? txnId : Object.keys(txns).at(-1));
		const t = txns[txnId],
			chart = $("states"),
			pending = t?.pending ? ` <i data-txn-pending="${t.pending}">→ ${t.pending}, pending</i>` : "";
		sync($("txn"), [
			[
				"",
				t
					? `<div data-txn="${esc(txnId)}" title="${esc(t.partitions.join(", "))}">${esc(txnId)} ` +
						`<b data-txn-state="${t.state}">${t.state}</b>${pending}` +
						`<small>producer <b>${t.producer_id}</b>, epoch <b>${t.epoch}</b>${
							t.partitions.length ? ` · in ${esc(t.partitions.join(", "))}` : ""
						}</small></div>`
					: "<div>no transactional id yet</div>",
			],
		]);
		for (const node of chart.querySelectorAll("g g")) node.classList.remove("active", "pending", "fired");
		const show = (id, how) => chart.querySelector(`#${prefix}${id}`)?.classList.add(how);
		if (!t) return;
		show(`s_${t.state}`, "active");
		show(`s_${t.pending}`, "pending");
		if (t.pending) show(`e_${t.state}__${t.pending}`, "pending");
		else if (t.via) show(`e_${t.via.join("__")}`, "fired");
	}

	function drawFrame() {
		const f = chosen;
		if (!f) return sync($("frame"), [["", "<p>No frame led to this step.</p>"]]);
		sync($("frame"), [[f.id, inspectorMarkup(run, f, step, run.events[step].frame === f.id)]]);
	}

	// A box for each node, API and transactional id; those that are hidden are not ticked.
	function drawFilter() {
		const hidden = new Set(journey.get("hidden")),
			apis = [...new Set(run.flown.filter((f) => view.groups.has(f.category)).map(apiOf))].sort();
		const kinds = {
			nodes: run.nodes.map((n) => n.id),
			APIs: [...apis, ...[...hidden].filter((name) => run.apis.has(name) && !apis.includes(name))],
			transactions: run.transactions,
		};
		const box = (name) => `<label><input type="checkbox" value="${esc(name)}"><span>${esc(name)}</span></label>`;
		sync(
			filter,
			Object.entries(kinds).map(([kind, names]) => [
				kind,
				`<fieldset><legend>${kind}</legend>${names.map(box).join("")}</fieldset>`,
			]),
		);
		for (const one of filter.querySelectorAll("input")) one.checked = !hidden.has(one.value);
		root.querySelector("[data-action=filter]").textContent = hidden.size ? `filter (${hidden.size} hidden)` : "filter";
	}

	function drawLogs() {
		const moved = [],
			fresh = new Set(),
			at = place(),
			{ stops } = view;
		for (let i = (stops[stops[at] === step ? at - 1 : at] ?? -1) + 1; i <= step; i++) {
			for (const [op, a, b, c] of run.events[i].patch) fresh.add(`${a} ${b} ${op === "batch" ? c.base : op}`);
		}
		for (const [
			partition,
			{
				children: [header, batches],
			},
		] of logs.kept) {
			const leader = state.leader[partition];
			sync(header, [
				[
					"",
					`<div><b>${breakable(partition)}</b><small>${leader ? `on ${esc(run.label(leader))}` : "no leader"}</small></div>`,
				],
			]);
			const items = cells(logOf(state, leader, partition), partition, (what) =>
					fresh.has(`${leader} ${partition} ${what}`),
				),
				end = items.map(([key]) => key).join();
			sync(batches, items);
			if (batches.end !== end) moved.push(batches);
			batches.end = end;
		}
		return moved;
	}

	// Plain keys stay here; those with Ctrl, and Shift+Enter, are the notebook's.

	root.addEventListener("keydown", (event) => {
		const { key, target, repeat } = event;
		if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
		event.stopPropagation();
		if (key === "Escape" && !help.hidden) return act("help");
		if (target.matches("button, input:not(.seek)") && (key === " " || key === "Enter")) return;
		const action = KEYS[key.length === 1 ? key.toLowerCase() : key];
		const node =
			key >= "0" &&
			key <= "9" &&
			run.nodes.filter((n) => n.kind === (key === "0" ? "client" : "broker"))[Math.max(0, key - 1)];
		if (action || node) event.preventDefault();
		if (node && !repeat) act("crash", node.id);
		else if (action && (!repeat || /left|right/.test(action))) act(action);
	});
	root.addEventListener("click", ({ target, detail }) => {
		const found = target.closest("[data-action], [data-go]");
		if (!found) return;
		if (detail) root.focus({ preventScroll: true });
		if (found.dataset.go) go(Number(found.dataset.go));
		else act(found.dataset.action, found.dataset.target);
	});
	seek.addEventListener("input", () => go(view.stops[seek.value - 1]));
	filter.addEventListener("change", () => {
		journey.set(
			"hidden",
			[...filter.querySelectorAll("input:not(:checked)")].map((box) => box.value),
		);
		journey.save_changes();
	});
	boxes.addEventListener("change", () => {
		journey.set(
			"groups",
			[...boxes.querySelectorAll(":checked")].map((box) => box.value),
		);
		journey.save_changes();
	});
	const deaf = listen(
		journey,
		{
			payload: load,
			groups: relay,
			hidden: relay,
			step: () => go(journey.get("step"), false),
			can_undo: drawTools,
			can_redo: drawTools,
		},
		told,
	);
	for (const name of ["size", "time"]) model.on(`change:${name}`, relay);
	const watch = new ResizeObserver(resized);
	watch.observe(scroll);
	state = { node: {} };
	load();
	return () => {
		deaf();
		for (const name of ["size", "time"]) model.off(`change:${name}`, relay);
		watch.disconnect();
		clearInterval(playing);
		root.remove();
	};
}

export default { render: ({ model, el }) => open(model, el) };
