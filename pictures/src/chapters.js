// The line below the controls: the slider with a tick for each chapter, the list of chapters, and what is folded.

import "./chapters.css";
import { buttons } from "./controls";
import { esc, rounded, sync, upTo } from "./run";
import { chaptersAt, isChange, walkOf } from "./walk";

export const WAY =
	`<div class="travel">${buttons("previous_change", "next_change")}<div class="ticks"></div>` +
	`${buttons("chapters", "every", "what_if")}</div>
	<div class="contents" role="dialog" aria-label="Chapters" hidden><ol></ol></div>`;
const ONCE = {
	chapter: "chapter",
	change: "change of a log or a state",
	frame: "step",
	turn: "turn of a what-if strip",
};

const REDRAW_MS = 250;

// The walk, and what can be jumped to; computed for the run, the groups and what is folded.
export function layWalk(v) {
	v.changes = [];
	v.looked = 0;
	walkOn(v);
	drawChapters(v);
}

// The same for a run that has grown. The ticks, of which each moves, follow a little later.
export function growWalk(v) {
	walkOn(v);
	v.ticking ??= setTimeout(() => {
		v.ticking = undefined;
		drawChapters(v);
		drawWay(v, upTo(v.stops.length, (i) => v.stops[i] <= v.step) + 1);
	}, REDRAW_MS);
}

function walkOn(v) {
	const { run, journey, plan, changes } = v,
		{ stops, folds } = walkOf(run, journey, plan.stops);
	Object.assign(v, { stops, folds, foldStops: [...folds.keys()], whole: plan.stops });
	v.chapters = chaptersAt(run, stops);
	for (const step of plan.stops.slice(v.looked)) if (isChange(run.events[step])) changes.push(step);
	v.looked = plan.stops.length;
	v.targets = { chapter: v.chapters.map((one) => one.at), change: changes, frame: plan.stops, turn: [] };
	v.strips = undefined;
}

// Where "next_chapter" and its like lead to; undefined for nowhere.
export function jumpOf(v, action) {
	const [way, kind] = action.split("_"),
		steps = v.targets[kind];
	if (way === "next") return steps[upTo(steps.length, (i) => steps[i] <= v.step) + 1];
	return steps[upTo(steps.length, (i) => steps[i] < v.step)];
}

export const whyNoJump = (v, action) =>
	jumpOf(v, action) === undefined
		? `There is no ${ONCE[action.split("_")[1]]} ${action.startsWith("next") ? "after" : "before"} this step.`
		: "";

// The stop whose folded steps are at the cursor; undefined for none.
export function foldHere({ foldStops, folds, step }) {
	const stop = foldStops[upTo(foldStops.length, (i) => foldStops[i] < step) + 1];
	return stop === step || folds.get(stop)?.[0] <= step ? stop : undefined;
}

export const isOpen = ({ journey }, stop) => (journey.get("opened") ?? []).includes(stop);

export function openFold(v) {
	const stop = foldHere(v),
		opened = v.journey.get("opened") ?? [];
	v.journey.set("opened", isOpen(v, stop) ? opened.filter((one) => one !== stop) : [...opened, stop]);
	v.journey.save_changes();
}

function drawChapters(v) {
	const { stops, chapters } = v,
		numbers = new Map(stops.map((step, i) => [step, i])),
		part = (step) => (100 * numbers.get(step)) / Math.max(1, stops.length - 1),
		items = chapters.map((one, i) => [one, part(one.at), chapters[i + 1] ? part(chapters[i + 1].at) : 100]);
	const attributes = ({ at, name }) => `data-go="${at}" title="${esc(name)}: stop ${numbers.get(at) + 1}"`;
	sync(v.$("ticks"), [
		["seek", `<input class="seek" type="range" min="1" aria-label="Step" tabindex="-1">`],
		...items.map(([one, from, to], i) => [
			i,
			`<button type="button" class="tick" tabindex="-1" aria-hidden="true" ${attributes(one)}` +
				` style="left:${rounded(from)}%;width:${rounded(Math.max(0, to - from))}%"><span hidden>` +
				`${esc(one.name)}</span></button>`,
		]),
	]);
	sync(
		v.$("contents").firstChild,
		chapters.map((one, i) => [
			i,
			`<li><button type="button" ${attributes(one)}><small>${numbers.get(one.at) + 1}</small> ${esc(one.name)}` +
				`</button></li>`,
		]),
	);
	v.ticks = items.map(([{ name }, from]) => ({ name, part: from / 100 }));
	v.shownChapter = undefined;
}

const GAP = 8;

// The chapters whose names are on the slider, each whole, and from where to where: first the one at the cursor and its
// neighbours, which give way to each other, then the others as far as there is room.
function namesOnSlider({ ticks, pen, wayWidth }, at) {
	const put = new Map(),
		widths = ticks.map(({ name }) => pen.measureText(name).width + 4),
		free = (i, left) => [...put].every(([j, from]) => left >= from + widths[j] + GAP || left + widths[i] + GAP <= from);
	const beside = [at - 1, at, at + 1].filter((i) => i in ticks),
		lefts = beside.map((i) => ticks[i].part * wayWidth);
	const here = beside.indexOf(at);
	for (let k = here - 1; k >= 0; k--)
		lefts[k] = Math.max(0, Math.min(lefts[k], lefts[k + 1] - GAP - widths[beside[k]]));
	for (let k = 1; k < beside.length; k++) lefts[k] = Math.max(lefts[k], lefts[k - 1] + widths[beside[k - 1]] + GAP);
	for (let k = beside.length - 1, end = wayWidth; k >= 0; end = lefts[k--] - GAP)
		lefts[k] = Math.min(lefts[k], end - widths[beside[k]]);
	beside.forEach((i, k) => lefts[k] >= 0 && put.set(i, lefts[k]));
	const others = ticks.map((_, i) => i).sort((a, b) => Math.abs(a - at) - Math.abs(b - at));
	for (const i of others) {
		const left = ticks[i].part * wayWidth;
		if (!put.has(i) && left + widths[i] <= wayWidth && free(i, left)) put.set(i, left);
	}
	return put;
}

function nameTicks(v, at) {
	const put = namesOnSlider(v, Math.max(0, at));
	v.root.querySelectorAll(".tick span").forEach((name, i) => {
		name.hidden = !put.has(i);
		name.style.left = put.has(i) ? `${rounded(put.get(i) - v.ticks[i].part * v.wayWidth)}px` : "";
	});
}

// The chapter, the slider, and what is folded, at the cursor.
export function drawWay(v, index) {
	const { stops, chapters, folds } = v,
		at = upTo(chapters.length, (i) => chapters[i].at <= v.step),
		name = chapters[at]?.name ?? "",
		told = v.$("chapter"),
		seek = v.$("seek"),
		stop = foldHere(v),
		folded = v.$("folded");
	if (v.shownChapter !== at) {
		v.shownChapter = at;
		nameTicks(v, at);
		told.setAttribute("aria-live", v.$("now").getAttribute("aria-live"));
		told.innerHTML = esc(name).replaceAll("_", "_<wbr>"); // OUT_OF_ORDER_SEQUENCE_NUMBER takes two lines
		for (const all of [v.root.querySelectorAll(".tick"), v.$("contents").firstChild.querySelectorAll("button")])
			all.forEach((one, i) => {
				if (i === at) one.setAttribute("aria-current", "step");
				else one.removeAttribute("aria-current");
			});
	}
	[seek.max, seek.value] = [stops.length, index];
	seek.setAttribute("aria-valuetext", `step ${index} of ${stops.length}${name && `, chapter ${name}`}`);
	folded.hidden = stop === undefined;
	if (stop === undefined) return;
	const count = folds.get(stop).length,
		open = isOpen(v, stop);
	folded.textContent = `${open ? "▾" : "+"} ${count}`;
	folded.dataset.told = open
		? `Fold ${count} steps into one stop again`
		: `Show ${count} steps that are folded into this stop`;
}

export function openContents(v, shown) {
	const contents = v.$("contents");
	contents.hidden = !shown;
	const to = shown && (contents.querySelector("[aria-current]") ?? contents.querySelector("button"));
	(to || v.root).focus({ preventScroll: true });
}

// Up and down in the list of chapters; a choice closes it.
export function hearContents(v) {
	const contents = v.$("contents");
	contents.addEventListener("keydown", (event) => {
		const all = [...contents.querySelectorAll("button")],
			by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === "Escape") openContents(v, false);
		else if (by) all[all.indexOf(document.activeElement) + by]?.focus();
		else return;
		event.preventDefault();
		event.stopPropagation();
	});
	contents.addEventListener("click", ({ target }) => target.closest("button") && openContents(v, false));
}
