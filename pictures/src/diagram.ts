// The sequence diagram: lanes, each with one line of heading, rows along the time, arrows of frames, chips of events.
// Each function takes the view, `v`: the run, the step, and where `measure` has put the lanes.

import { envelopePath } from "./basics";
import { grips } from "./envelopes";
import { type Flight, type PlanRow, RESTS, type Way, firstRow, head, point, rests, turned, way } from "./flights";
import { svg, html, nothing, render, repeat, scaled } from "./lit";
import type { Frame, NodeState, RunNode } from "./payload";
import { isHeld } from "./presses";
import { ROLES, roleSpans, rolesOf } from "./roles";
import { rounded, time, upTo } from "./run";
import type { View } from "./sequence_view";

const WORDY = 240, // a lane that is wider has the word on its button for a crash: sequence.css
	PREVIEWED = 10,
	BELOW = 1.9, // room below the newest row: what is in flight ends there
	CUT = 0.3; // how far a dropped frame's arrow sinks: its word ends above the chip of the next row

export type Geometry = Way & { loop: number; fate: string };

function laneOf(v: View, { id, kind, label }: RunNode) {
	const { state, u } = v,
		life = state.node[id] ?? "up",
		coordinates = state.roles[id]?.some((role) => role in ROLES),
		taken = u * (label.length * 0.62 + (coordinates ? 6 : 4) + (v.lane > WORDY ? 2.8 : 0)),
		fits = (text: string) => v.pen.measureText(text).width < v.lane - taken,
		roles = roleSpans(rolesOf(state.roles[id], state.client[id], fits)),
		crash =
			kind === "controller" || life === "down"
				? nothing
				: html`<button type="button" data-action="crash" data-target=${id}>↯<span class="word"> crash</span></button>`;
	return html`<div class="lane ${life} ${kind}" data-node=${id} data-life=${life}><b><button type="button"
		data-action="node" data-target=${id} aria-haspopup="dialog" title="${kind} ${id}">${label}</button></b>${
			life === "up" ? nothing : html`<em>${life}</em>`
		}<span class="roles">${roles}</span>${crash}</div>`;
}

export const drawLanes = (v: View) =>
	render(
		repeat(
			v.plan.lanes,
			({ id }) => id,
			(node) => laneOf(v, node),
		),
		v.$("lanes"),
	);

// The room for the times, in units: the longest one, which is the last one's, fits.
const gutterOf = ({ run }: View) => Math.max(4.8, 0.9 + 0.48 * time(run.events.at(-1)?.at ?? 0).length);

// The places of the lanes in the room that there is; false if nothing has changed since.
export function measure(v: View): boolean {
	const scroll = v.$("scroll"),
		{ clientWidth: width, clientHeight: height } = scroll,
		{ across, plan, u, width: before } = v;
	if (!width || (width === before && height === v.height)) return false;
	if (width === before && !across) {
		v.height = height; // the lanes are where they were
		return true;
	}
	const [breadth, gutter] = across ? [height, u * 3.4] : [width, u * gutterOf(v)],
		lane = (breadth - gutter) / plan.lanes.length,
		x = Object.fromEntries(plan.lanes.map((n, i) => [n.id, gutter + lane * (i + 0.5)])),
		tracks = `${gutter}px repeat(${plan.lanes.length}, ${lane}px)`,
		{ fontFamily, fontSize } = getComputedStyle(v.$("logs"));
	Object.assign(v, { width, height, breadth, gutter, lane, x });
	v.$("lanes").style.gridTemplate = across ? `${tracks} / 1fr` : `auto / ${tracks}`;
	v.pen.font = `600 ${fontSize} ${fontFamily}`;
	for (const row of plan.rows) row.past = undefined; // as wide as the lanes were
	if (width !== before) {
		v.fitted.clear();
		v.stripsDrawn.clear(); // their newest entry has to be found again
		Object.assign(v, { wayWidth: v.$("ticks").clientWidth, shownChapter: undefined });
	}
	sizePicture(v);
	return true;
}

const pictureOf = (v: View) => v.$("sheet").firstElementChild as SVGSVGElement;

// The picture has room for the longest part of the plan that is ever in the page.
export function sizePicture(v: View) {
	const { across, plan, u, width, height, breadth } = v,
		{ style } = pictureOf(v),
		long = plan.longest + u * BELOW + (across ? width : height);
	[style.width, style.height] = turned(across, `${breadth}px`, `${long}px`);
	Object.assign(v, { long, longest: plan.longest });
}

function place(element: Element, transform: string) {
	if (element.getAttribute("transform") !== transform) element.setAttribute("transform", transform);
}

// Only the last rows up to the cursor are in the page; the newest stand at the bottom. The life lines go on to the end
// of the picture, below what the sheet shows, so that they stay as they are from step to step. Returns how far the
// sheet has to be scrolled.
export function drawDiagram(v: View): number {
	const [first, top, shift] = placeSheet(v);
	for (const group of pictureOf(v).children) place(group, `translate(${turned(v.across, 0, -rounded(top))})`);
	v.flights = v.plan.flying(first, v.row);
	drawGroups(v, first, top);
	return shift;
}

// The first row in the page, where it begins, and how far the sheet has to be scrolled.
export function placeSheet(v: View): [number, number, number] {
	const { plan, step, u, across } = v,
		{ rows } = plan,
		row = plan.row(step),
		first = firstRow(row),
		top = first ? rows[first].y : 0,
		bottom = (row < 0 ? 0 : rows[row].end) + u * BELOW,
		long = across ? v.width : v.height,
		start = Math.max(bottom - long, top),
		end = Math.max(bottom, start + long),
		{ style } = v.$("sheet");
	Object.assign(v, { row, bottom });
	[style.width, style.height] = turned(across, "", `${end - top}px`); // only the sheet changes its size
	return [first, top, start - top];
}

function drawGroups(v: View, first: number, top: number) {
	const { plan, run, row, flights } = v,
		shown = plan.rows.slice(first, row + 1).map((one, i) => [first + i, one] as const),
		marked = shown.filter(([, { event, stop }]) => stop && run.marks[event.step]),
		[bands, lives, arrows, chips, seized] = pictureOf(v).children as unknown as SVGGElement[],
		idOf = ({ f }: Flight) => f.id,
		keyOf = ([i]: readonly [number, PlanRow]) => i;
	const bandOf = ([i, one]: readonly [number, PlanRow]) =>
		i === row ? rowOf(v, one, true) : (one.past ??= rowOf(v, one, false));
	render(svg`${repeat(shown, keyOf, bandOf)}`, bands);
	const { lanes } = plan;
	render(svg`${lanes.map(({ id }) => lifeOf(v, id, top, top + v.long))}`, lives);
	const to_come = previewed(v, first);
	v.$("invitation").hidden = !to_come.length;
	render(
		svg`${repeat(flights, idOf, (flight) => arrowOf(v, flight))}${to_come.map((flight) => arrowOf(v, flight, true))}`,
		arrows,
	);
	render(svg`${repeat(marked, keyOf, ([i, one]) => chipOf(v, one, i === row))}`, chips);
	render(grips(v), seized);
}

// Before the first arrow the first few are there, pale, with the invitation to begin; the sheet shows what fits.
const previewed = (v: View, first: number): Flight[] =>
	first > 0 || v.flights.some(({ from }) => from <= v.row) ? [] : v.plan.flying(0, PREVIEWED).slice(0, PREVIEWED);

function box(across: boolean, name: string, at: number, from: number, wide: number, long: number) {
	const [left, top] = turned(across, at, from),
		[w, h] = turned(across, Math.max(0, wide), Math.max(0, long));
	return scaled`<rect class=${name} x=${left} y=${top} width=${w} height=${h}></rect>`;
}

function rowOf(v: View, { event, stop, y, height, wait, clock }: PlanRow, here: boolean) {
	const { u, across } = v,
		bar = (name: string, wide: number) => box(across, name, 0, y, wide, height),
		text = (name: string, at: number, base: number, words: string) =>
			scaled`<text class=${name} x=${across ? y + u * (name === "wait" ? -7.4 : 0.2) : u * at}
				y=${across ? u * 1.2 : base}>${words}</text>`,
		when =
			clock || (here && !across)
				? text("time", v.gutter / u - 0.5, y + height * (stop ? 0.62 : 0.75), time(event.at))
				: nothing;
	return svg`<g data-go=${stop ? event.step : nothing}>${bar("hit", v.breadth)}${
		here ? [bar("band", v.breadth), bar("caret", 4)] : nothing
	}${when}${wait ? text("wait", v.gutter / u + 0.4, y - u * 0.6, `⋮ ${time(wait)} later`) : nothing}</g>`;
}

function lifeOf(v: View, id: string, top: number, end: number) {
	const { plan, u, across, lane } = v,
		x = v.x[id],
		lives = v.run.life[id].filter(([from]) => from <= v.step),
		fromOf = ([at]: [number, NodeState]) => Math.max(top, plan.row(at) < 0 ? 0 : plan.rows[plan.row(at)].y + u);
	return svg`<g>${lives.map((life, i) => {
		const from = fromOf(life),
			to = lives[i + 1] ? fromOf(lives[i + 1]) : end,
			shade = life[1] === "down" ? box(across, "shade", x - lane / 2, from, lane, to - from) : nothing;
		return svg`${shade}<path class="life ${life[1]}" d=${way({ x1: x, y1: from, x2: x, y2: to, across }, 1)}></path>`;
	})}</g>`;
}

function chipOf(v: View, { event, y, height }: PlanRow, here: boolean) {
	const { u, across, lane, width } = v,
		{ step: at, kind, node } = event,
		centre: number | undefined = v.x[node],
		room = across ? height - u : (centre ? lane * 3.5 : width - u * 5) - u,
		[text, wide] = fit(v, centre ? v.run.marks[at] : event.text, room),
		w = Math.max(0, wide) + u,
		left = across ? y : Math.max(v.gutter, Math.min(width - w - 2, (centre ?? width / 2) - w / 2)),
		top = across ? (centre ?? u * 2.4) - u * 0.77 : y + height * 0.12;
	return scaled`<g class="mark ${kind}${here ? " current" : ""}" data-event=${String(at)} data-go=${String(at)}>
		<title>${event.text}</title><rect x=${left} y=${top} width=${w} height=${u * 1.45}
		rx=${kind === "append" ? 2 : u * 0.7}></rect><text x=${left + w / 2} y=${top + u * 1.05}>${text}</text></g>`;
}

// The text, cut to the room, and its width; measured once.
function fit({ pen, fitted }: View, text: string, room: number): [string, number] {
	const key = `${room} ${text}`,
		known = fitted.get(key),
		wide = (t: string) => pen.measureText(t).width;
	if (known) return known;
	const part = upTo(text.length, (i) => wide(`${text.slice(0, i)}…`) <= room),
		cut = wide(text) <= room ? text : `${text.slice(0, part)}…`,
		found: [string, number] = [cut, wide(cut)];
	fitted.set(key, found);
	return found;
}

// From the sender's row to the arrival's; a little below the cursor while the frame is in flight.
export function geometry(v: View, { f, from, to }: Flight, step = v.step): Geometry {
	const { plan, run, u, x, across } = v,
		{ y, height } = plan.rows[from],
		y1 = y + (across ? u : height) * 0.8,
		fate = run.fate(f, step),
		arrival = plan.rows[to],
		itself = f.from === f.to,
		side = plan.lanes.at(-1)?.id === f.from ? -2.2 : 2.2;
	let y2 = y1 + u * (/dropped|lost/.test(fate) && !across && !itself ? CUT : 1);
	if (fate === "delivered") y2 = Math.max(arrival.y + (across ? u : arrival.height) * (f.copy_of ? 0.8 : 0.55), y2);
	else if (fate === "in flight" && v.row > from) y2 = v.bottom - u * (BELOW - 0.9);
	return { x1: x[f.from], y1, x2: x[f.to], y2, loop: itself ? side * u : 0, fate, across };
}

// The sequence numbers that a Produce request brings: "seq 2", "seq 2–3".
function sequencesOf(f: Frame): string {
	if (f.name !== "Produce") return "";
	const all = f.fields.filter(([name]) => /\.base_sequence$/.test(name)).map(([, value]) => Number(value));
	return all.some((first) => first >= 0) ? `seq ${all.join(", ")}` : "";
}

// "#2" of the second frame of its name: as the notebook's text calls it.
const numberOf = ({ id, name }: Frame) => id.slice(name.length).replace(/~.*/, "");

export const envelope = (r: number) => svg`<path d=${envelopePath(r)}></path>`;

// An envelope on its way; one that is held has the sign of a pause in it and a dashed ring around it.
const tokenOf = (u: number, held: boolean) =>
	held
		? scaled`<circle class="ring" r=${u}></circle>
			<path d="M${-u * 0.6},${-u * 0.42}h${u * 1.2}v${u * 0.84}h${-u * 1.2}z"></path>
			<path d="M${-u * 0.18},${-u * 0.25}v${u * 0.5}m${u * 0.36},0v${-u * 0.5}"></path>`
		: envelope(u * 0.6);

// The name of a frame with what is special about it.
function wordsOf(f: Frame, held: boolean) {
	const tag = (text: string | false, how = "tag") => (text ? svg` <tspan class=${how}>${text}</tspan>` : nothing);
	return svg`${f.name}<tspan class="nr">${numberOf(f)}</tspan>${[
		tag(sequencesOf(f), "seq"),
		tag(f.attempt > 1 && !f.of && `attempt ${f.attempt}`),
		tag(f.copy_of && "copy"),
		tag(held && "held"),
		tag(f.error !== "NONE" && f.error, "bad"),
	]}`;
}

const textAt = (at: number, base: number, dir: number, words: unknown, how = "") =>
	scaled`<text class="name ${how}" text-anchor=${dir > 0 ? "start" : "end"} x=${at} y=${base}>${words}</text>`;

// Where the name of an arrow stands: above its begin; a copy's at its end.
function labelOf({ u, across }: View, f: Frame, g: Geometry, side: number, words: unknown) {
	const beside = (at: number, base: number) => textAt(at + u * 0.5, base + u * (side > 0 ? -1.05 : 1.75), 1, words);
	if (!f.copy_of) {
		if (across) return beside(g.y1, g.x1);
		return textAt(g.x1 + side * (Math.abs(g.loop) + u * 0.6), g.y1 + u * (g.loop ? 0.75 : -0.32), side, words);
	}
	const [ex, ey] = point(g, 1);
	if (g.fate !== "delivered") return nothing;
	return across ? beside(ex, ey - side * u) : textAt(ex - side * u, ey - u * 0.5, -side, words);
}

// Where the envelope of a frame in flight is, as a transform; moved by so much.
export function placeOf(v: View, g: Geometry, dx = 0, dy = 0): string {
	const [x, y] = point(g, rests(v, g));
	return `translate(${rounded(x + dx)},${rounded(y + dy)})`;
}

// What is at an arrow's end: its head, its envelope on the way, a cross with what became of it.
function endOf(v: View, f: Frame, g: Geometry, side: number, held: boolean) {
	const { u, across } = v;
	if (g.fate === "delivered") return head(g, u * 0.75, f.kind === "response" ? "" : "Z");
	if (g.fate === "in flight") return svg`<g class="token" transform=${placeOf(v, g)}>${tokenOf(u, held)}</g>`;
	const r = u * 0.5,
		[ex, ey] = point(g, uptoOf(g)),
		room = side > 0 ? v.width - ex > u * 6 : ex > u * 10,
		dir = across || side > 0 === room ? 1 : -1; // beyond the cross, where the line has ended
	return scaled`<path class="cross" d="M${ex - r},${ey - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}"></path>
		${textAt(ex + dir * u, ey + u * 0.4, dir, g.fate, "bad")}`;
}

const uptoOf = ({ fate }: Geometry) => (fate === "dropped" ? 0.55 : 1);

function arrowOf(v: View, flight: Flight, preview = false) {
	const { f } = flight,
		g = geometry(v, flight, preview ? Infinity : v.step),
		side = g.loop > 0 || g.x2 > g.x1 ? 1 : -1,
		held = g.fate === "in flight" && isHeld(v.state, f),
		how = preview ? " preview" : `${held ? " held" : ""}${v.chosen === f ? " current" : ""}`;
	return svg`<g class="arrow ${f.kind} ${f.category} ${g.fate.replace(" ", "-")}${how}" data-go=${f.sent}
		data-frame=${preview ? nothing : f.id} data-fate=${preview ? nothing : g.fate}>
		<path class="hit" d=${way(g, 1)}></path><path class="line" d=${way(g, uptoOf(g))}></path>
		${endOf(v, f, g, side, held)}${labelOf(v, f, g, side, wordsOf(f, held))}</g>`;
}

// A frame just sent glides to where it waits; one that has just arrived glides the rest of its way.
export function glide(v: View) {
	const { run, step, drawn, u } = v,
		groups = [...pictureOf(v).children[2].children] as SVGGElement[],
		arrows = new Map(groups.map((one) => [one.dataset.frame, one]));
	for (const flight of v.flights) {
		const { f } = flight,
			group = arrows.get(f.id),
			sent = f.sent > drawn,
			landed = run.end(f) > drawn && run.fate(f, step) === "delivered";
		if (!group || !(sent || landed)) continue;
		const guest = landed ? document.createElementNS("http://www.w3.org/2000/svg", "g") : undefined;
		if (guest) {
			guest.classList.add("token");
			render(envelope(u * 0.6), guest);
			group.append(guest);
		}
		const token = guest ?? group.querySelector(".token"),
			g = geometry(v, flight),
			stations = landed ? [sent ? 0 : RESTS, 0.8, 1] : [0, 0.3, RESTS],
			frames = stations.map((t) => ({ transform: `translate(${point(g, t).map((n) => `${n}px`)})` }));
		if (token) v.move(token, frames, () => guest?.remove());
	}
}
