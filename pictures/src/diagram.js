// The sequence diagram: lanes, each with one line of heading, rows along the time, arrows of frames, chips of events.
// Each function takes the view, `v`: the run, the step, and where `measure` has put the lanes.

import { grips } from "./envelopes";
import { RESTS, firstRow, head, point, rests, turned, way } from "./flights";
import { ROLES, roleSpans, rolesOf } from "./roles";
import { envelope, esc, parse, rounded, svg, sync, time, upTo } from "./run";

const WORDY = 240, // a lane that is wider has the word on its button for a crash: sequence.css
	PREVIEWED = 10,
	BELOW = 1.9, // room below the newest row: what is in flight ends there
	CUT = 0.3; // how far a dropped frame's arrow sinks: its word ends above the chip of the next row

function laneMarkup(v, { id, kind, label }) {
	const { state, u } = v,
		life = state.node[id] ?? "up",
		coordinates = state.roles[id]?.some((role) => role in ROLES),
		taken = u * (label.length * 0.62 + (coordinates ? 6 : 4) + (v.lane > WORDY ? 2.8 : 0)),
		roles = rolesOf(state.roles[id], state.client[id], (text) => v.pen.measureText(text).width < v.lane - taken);
	const crash =
		kind === "controller" || life === "down"
			? ""
			: `<button type="button" data-action="crash" data-target="${id}">↯<span class="word"> crash</span></button>`;
	const about = `data-action="node" data-target="${id}" aria-haspopup="dialog" title="${kind} ${esc(id)}"`,
		head = `<button type="button" ${about}>${esc(label)}</button>`;
	return (
		`<div class="lane ${life} ${kind}" data-node="${id}" data-life="${life}"><b>${head}</b>` +
		`${life === "up" ? "" : `<em>${life}</em>`}<span class="roles">${roleSpans(roles)}</span>${crash}</div>`
	);
}

export const drawLanes = (v) =>
	sync(
		v.$("lanes"),
		v.plan.lanes.map((node) => [node.id, laneMarkup(v, node)]),
	);

// The places of the lanes in the room that there is; false if nothing has changed since.
export function measure(v) {
	const scroll = v.$("scroll"),
		{ clientWidth: width, clientHeight: height } = scroll,
		{ across, plan, u, width: before } = v;
	if (!width || (width === before && height === v.height)) return false;
	const [breadth, gutter] = across ? [height, u * 3.4] : [width, u * 4.8],
		lane = (breadth - gutter) / plan.lanes.length;
	const x = Object.fromEntries(plan.lanes.map((n, i) => [n.id, gutter + lane * (i + 0.5)]));
	Object.assign(v, { width, height, breadth, gutter, lane, x });
	const tracks = `${gutter}px repeat(${plan.lanes.length}, ${lane}px)`;
	v.$("lanes").style.gridTemplate = across ? `${tracks} / 1fr` : `auto / ${tracks}`;
	const { fontFamily, fontSize } = getComputedStyle(v.$("logs"));
	v.pen.font = `600 ${fontSize} ${fontFamily}`;
	for (const row of plan.rows) row.past = undefined; // as wide as the lanes were
	if (width !== before) {
		v.fitted.clear();
		Object.assign(v, { wayWidth: v.$("ticks").clientWidth, shownChapter: undefined });
		// Their newest entry has to be found again.
		for (const { firstChild } of v.$("logs").children) Object.assign(firstChild, { end: "", shows: [] });
	}
	sizePicture(v);
	return true;
}

// The picture has room for the longest part of the plan that is ever in the page.
export function sizePicture(v) {
	const { across, plan, u, width, height, breadth } = v,
		picture = v.$("sheet").firstChild,
		long = plan.longest + u * BELOW + (across ? width : height);
	[picture.style.width, picture.style.height] = turned(across, `${breadth}px`, `${long}px`);
	Object.assign(v, { long, longest: plan.longest });
}

const place = (element, transform) =>
	element.getAttribute("transform") === transform || element.setAttribute("transform", transform);

// Only the last rows up to the cursor are in the page; the newest stand at the bottom. The life lines go on to the end
// of the picture, below what the sheet shows, so that they stay as they are from step to step.
export function drawDiagram(v) {
	const { plan, run, step, u, across } = v,
		{ rows } = plan,
		row = (v.row = plan.row(step));
	const first = firstRow(row),
		top = first ? rows[first].y : 0;
	v.bottom = (row < 0 ? 0 : rows[row].end) + u * BELOW;
	const long = across ? v.width : v.height,
		hidden = v.bottom - long,
		start = Math.max(hidden, top);
	const end = Math.max(v.bottom, start + long),
		sheet = v.$("sheet"),
		picture = sheet.firstChild;
	[sheet.style.width, sheet.style.height] = turned(across, "", `${end - top}px`); // only the sheet changes its size
	for (const group of picture.children) place(group, `translate(${turned(across, 0, -rounded(top))})`);
	const bands = [],
		chips = [],
		arrows = [];
	for (let i = first; i <= row; i++) {
		bands.push([i, i === row ? rowMarkup(v, rows[i], i) : (rows[i].past ??= rowMarkup(v, rows[i], i))]);
		if (run.marks[rows[i].event.step] && rows[i].stop) chips.push([i, chipMarkup(v, rows[i], i)]);
	}
	v.flights = plan.flying(first, row);
	for (const flight of v.flights) arrows.push([flight.f.id, arrowMarkup(v, flight)]);
	arrows.push(...previews(v, first));
	const lives = plan.lanes.map(({ id }) => [id, lifeMarkup(v, id, top, top + v.long)]);
	[bands, lives, arrows, chips, grips(v)].forEach((items, i) => sync(picture.children[i], items));
	return start - top;
}

function box(v, name, at, from, wide, long) {
	const [left, top] = turned(v.across, at, from),
		[w, h] = turned(v.across, Math.max(0, wide), Math.max(0, long));
	return svg`<rect class="${name}" x="${left}" y="${top}" width="${w}" height="${h}"/>`;
}

function rowMarkup(v, { event, stop, y, height, wait, clock }, i) {
	const { u, across } = v,
		bar = (name, wide) => box(v, name, 0, y, wide, height);
	const text = (name, at, base, words) =>
		svg`<text class="${name}" x="${across ? y + u * (name === "wait" ? -7.4 : 0.2) : u * at}"` +
		svg` y="${across ? u * 1.2 : base}">${words}</text>`;
	return (
		`<g${stop ? ` data-go="${event.step}"` : ""}>${bar("hit", v.breadth)}` +
		`${i === v.row ? bar("band", v.breadth) + bar("caret", 4) : ""}${
			clock || (i === v.row && !across) ? text("time", 4.3, y + height * (stop ? 0.62 : 0.75), time(event.at)) : ""
		}${wait ? text("wait", 5.2, y - u * 0.6, `⋮ ${time(wait)} later`) : ""}</g>`
	);
}

function lifeMarkup(v, id, top, end) {
	const { plan, u, across, lane } = v,
		x = v.x[id],
		lives = v.run.life[id].filter(([from]) => from <= v.step);
	const from = ([at]) => Math.max(top, plan.row(at) < 0 ? 0 : plan.rows[plan.row(at)].y + u);
	const until = (i) => (lives[i + 1] ? from(lives[i + 1]) : end);
	const line = (life, i) =>
		`<path class="life ${life[1]}" d="${way({ x1: x, y1: from(life), x2: x, y2: until(i), across }, 1)}"/>`;
	const shade = (life, i) =>
		life[1] === "down" ? box(v, "shade", x - lane / 2, from(life), lane, until(i) - from(life)) : "";
	return `<g>${lives.map((life, i) => shade(life, i) + line(life, i)).join("")}</g>`;
}

function chipMarkup(v, { event, y, height }, i) {
	const { u, across, lane, width } = v,
		{ step: at, kind, node } = event,
		centre = v.x[node],
		room = across ? height - u : (centre ? lane * 3.5 : width - u * 5) - u;
	const [text, wide] = fit(v, centre ? v.run.marks[at] : event.text, room),
		w = Math.max(0, wide) + u;
	const left = across ? y : Math.max(u * 4.8, Math.min(width - w - 2, (centre ?? width / 2) - w / 2)),
		top = across ? (centre ?? u * 2.4) - u * 0.77 : y + height * 0.12;
	return (
		svg`<g class="mark ${kind}${i === v.row ? " current" : ""}" data-event="${at}" data-go="${at}">` +
		svg`<title>${esc(event.text)}</title><rect x="${left}" y="${top}" width="${w}" height="${
			u * 1.45
		}" rx="${kind === "append" ? 2 : u * 0.7}"/><text x="${left + w / 2}" y="${top + u * 1.05}">${esc(text)}</text></g>`
	);
}

// The text, cut to the room, and its width; measured once.
function fit({ pen, fitted }, text, room) {
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
export function geometry(v, { f, from, to }) {
	const { plan, run, u, x, across } = v,
		{ y, height } = plan.rows[from],
		y1 = y + (across ? u : height) * 0.8,
		fate = run.fate(f, v.step),
		arrival = plan.rows[to];
	let y2 = y1 + u * (/dropped|lost/.test(fate) && !across && f.from !== f.to ? CUT : 1);
	if (fate === "delivered") y2 = Math.max(arrival.y + (across ? u : arrival.height) * (f.copy_of ? 0.8 : 0.55), y2);
	else if (fate === "in flight" && v.row > from) y2 = v.bottom - u * (BELOW - 0.9);
	const side = plan.lanes.at(-1).id === f.from ? -2.2 : 2.2;
	return { x1: x[f.from], y1, x2: x[f.to], y2, loop: f.from === f.to ? side * u : 0, fate, across };
}

// The sequence numbers that a Produce request brings: "seq 2", "seq 2–3".
function sequencesOf(f) {
	if (f.name !== "Produce") return "";
	const all = f.fields.filter(([name]) => /\.base_sequence$/.test(name)).map(([, value]) => Number(value));
	return all.some((first) => first >= 0) ? `seq ${all.join(", ")}` : "";
}

// "#2" of the second frame of its name: as the notebook's text calls it.
const numberOf = ({ id, name }) => esc(id.slice(name.length).replace(/~.*/, ""));

// Before the first arrow the first few are there, pale, with the invitation to begin; the sheet shows what fits.
function previews(v, first) {
	const begun = first > 0 || v.flights.some(({ from }) => from <= v.row),
		ahead = begun ? [] : v.plan.flying(0, PREVIEWED).slice(0, PREVIEWED);
	v.$("invitation").hidden = !ahead.length;
	return ahead.map((flight) => [`preview ${flight.f.id}`, arrowMarkup({ ...v, step: Infinity }, flight, true)]);
}

export const isHeld = ({ state }, f) => !!state.held[f.copy_of || f.id];

// An envelope on its way; one that is held has the sign of a pause in it and a dashed ring around it.
const token = (u, held) =>
	held
		? svg`<circle class="ring" r="${u}"/><path d="M${-u * 0.6},${-u * 0.42}h${u * 1.2}v${u * 0.84}h${-u * 1.2}z"/>` +
			svg`<path class="pause" d="M${-u * 0.18},${-u * 0.25}v${u * 0.5}m${u * 0.36},0v${-u * 0.5}"/>`
		: envelope(u * 0.6);

function arrowMarkup(v, flight, preview = false) {
	const { u, across } = v,
		{ f } = flight,
		g = geometry(v, flight),
		{ fate, loop } = g,
		side = loop > 0 || g.x2 > g.x1 ? 1 : -1,
		held = fate === "in flight" && isHeld(v, f);
	const upto = fate === "dropped" ? 0.55 : 1,
		[ex, ey] = point(g, upto);
	const text = (at, base, dir, words, how = "") =>
		svg`<text class="name ${how}" text-anchor="${dir > 0 ? "start" : "end"}" x="${at}" y="${base}">${words}</text>`;
	const tag = (yes, text, how = "tag") => (yes ? ` <tspan class="${how}">${text}</tspan>` : "");
	const words =
		`${esc(f.name)}<tspan class="nr">${numberOf(f)}</tspan>` +
		tag(sequencesOf(f), sequencesOf(f), "seq") +
		tag(f.attempt > 1 && !f.of, `attempt ${f.attempt}`) +
		tag(f.copy_of, "copy") +
		tag(held, "held") +
		tag(f.error !== "NONE" && f.error, esc(f.error), "bad");
	const beside = (at, base) => text(at + u * 0.5, base + u * (side > 0 ? -1.05 : 1.75), 1, words);
	let label = across
			? beside(g.y1, g.x1)
			: text(g.x1 + side * (Math.abs(loop) + u * 0.6), g.y1 + u * (loop ? 0.75 : -0.32), side, words),
		end;
	if (f.copy_of)
		label =
			fate !== "delivered" ? "" : across ? beside(ex, ey - side * u) : text(ex - side * u, ey - u * 0.5, -side, words);
	if (fate === "delivered") end = head(g, u * 0.75, f.kind === "response" ? "" : "Z");
	else if (fate === "in flight")
		end = `<g class="token" transform="translate(${point(g, rests(v, g)).map(rounded)})">${token(u, held)}</g>`;
	else {
		const r = u * 0.5,
			room = side > 0 ? v.width - ex > u * 6 : ex > u * 10,
			dir = across || side > 0 === room ? 1 : -1; // beyond the cross, where the line has ended
		end =
			svg`<path class="cross" d="M${ex - r},${ey - r}l${2 * r},${2 * r}m0,${-2 * r}l` +
			svg`${-2 * r},${2 * r}"/>${text(ex + dir * u, ey + u * 0.4, dir, fate, "bad")}`;
	}
	return (
		`<g class="arrow ${f.kind} ${f.category} ${fate.replace(" ", "-")}${held ? " held" : ""}` +
		`${preview ? ' preview"' : `${v.chosen === f ? " current" : ""}" data-frame="${esc(f.id)}" data-fate="${fate}"`}` +
		` data-go="${f.sent}"><path class="hit" d="${way(g, 1)}"/>` +
		`<path class="line" d="${way(g, upto)}"/>${end}${label}</g>`
	);
}

// A frame just sent glides to where it waits; one that has just arrived glides the rest of its way.
export function glide(v) {
	const { run, step, drawn, u } = v,
		arrows = v.$("sheet").firstChild.children[2].kept;
	for (const flight of v.flights) {
		const { f } = flight,
			group = arrows.get(f.id),
			sent = f.sent > drawn;
		const landed = run.end(f) > drawn && run.fate(f, step) === "delivered";
		if (!group || !(sent || landed)) continue;
		if (landed) group.append(parse(group, `<g class="token">${envelope(u * 0.6)}</g>`));
		const token = group.querySelector(".token"),
			g = geometry(v, flight);
		if (!token) continue;
		const stations = (landed ? [sent ? 0 : RESTS, 0.8, 1] : [0, 0.3, RESTS]).map((t) => ({
			transform: `translate(${point(g, t).map((n) => `${n}px`)})`,
		}));
		v.move(token, stations, () => landed && token.remove());
	}
}
