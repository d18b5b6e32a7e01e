// The line below the controls: the slider with a tick for each chapter, the list of chapters, and what is folded.

import "./chapters.css";
import { buttons } from "./controls";
import { breaks, html, render } from "./lit";
import { rounded, upTo } from "./run";
import type { View } from "./sequence_view";
import { placeOf } from "./stepper";
import { chaptersAt, isChange, walkOf } from "./walk";

export const WAY = html`<div class="travel">${buttons("previous_change", "next_change")}<div
	class="ticks"></div>${buttons("chapters", "every", "what_if")}</div>
	<div class="contents" role="dialog" aria-label="Chapters" hidden></div>`;
const ONCE: Record<string, string> = {
	chapter: "chapter",
	change: "change of a log or a state",
	frame: "step",
	turn: "turn of a what-if strip",
};

const REDRAW_MS = 250;

// The walk, and what can be jumped to; computed for the run, the groups and what is folded.
export function layWalk(v: View) {
	v.changes = [];
	v.looked = 0;
	walkOn(v);
	drawChapters(v);
}

// The same for a run that has grown. The ticks, of which each moves, follow a little later.
export function growWalk(v: View) {
	walkOn(v);
	v.ticking ??= setTimeout(() => {
		v.ticking = undefined;
		drawChapters(v);
		drawWay(v, placeOf(v) + 1);
	}, REDRAW_MS);
}

function walkOn(v: View) {
	const { run, journey, plan, changes } = v,
		{ stops, folds } = walkOf(run, journey, plan.stops);
	Object.assign(v, { stops, folds, foldStops: [...folds.keys()], chapters: chaptersAt(run, stops) });
	for (const step of plan.stops.slice(v.looked)) if (isChange(run.events[step])) changes.push(step);
	v.looked = plan.stops.length;
	v.targets = { chapter: v.chapters.map((one) => one.at), change: changes, frame: plan.stops, turn: [] };
	v.strips = undefined;
}

// Where "next_chapter" and its like lead to; undefined for nowhere.
export function jumpOf(v: View, action: string): number | undefined {
	const [way, kind] = action.split("_"),
		steps = v.targets[kind];
	if (way === "next") return steps[upTo(steps.length, (i) => steps[i] <= v.step) + 1];
	return steps[upTo(steps.length, (i) => steps[i] < v.step)];
}

export const whyNoJump = (v: View, action: string): string =>
	jumpOf(v, action) === undefined
		? `There is no ${ONCE[action.split("_")[1]]} ${action.startsWith("next") ? "after" : "before"} this step.`
		: "";

// The stop whose folded steps are at the cursor; undefined for none.
export function foldHere({ foldStops, folds, step }: View): number | undefined {
	const stop = foldStops[upTo(foldStops.length, (i) => foldStops[i] < step) + 1];
	return stop === step || (folds.get(stop)?.[0] ?? Infinity) <= step ? stop : undefined;
}

const openedIn = ({ journey }: View) => journey.get("opened") ?? [];
export const isOpen = (v: View, stop: number) => openedIn(v).includes(stop);

export function openFold(v: View) {
	const stop = foldHere(v),
		opened = openedIn(v);
	if (stop === undefined) return;
	v.journey.set("opened", isOpen(v, stop) ? opened.filter((one) => one !== stop) : [...opened, stop]);
	v.journey.save_changes();
}

function drawChapters(v: View) {
	const { stops, chapters } = v,
		numbers = new Map(stops.map((step, i) => [step, i])),
		numberOf = (step: number) => numbers.get(step) ?? 0,
		part = (step: number) => (100 * numberOf(step)) / Math.max(1, stops.length - 1),
		items = chapters.map((one, i) => {
			const from = part(one.at),
				to = chapters[i + 1] ? part(chapters[i + 1].at) : 100;
			return { ...one, from, wide: Math.max(0, to - from), title: `${one.name}: stop ${numberOf(one.at) + 1}` };
		});
	render(
		html`<input class="seek" type="range" min="1" aria-label="Step" tabindex="-1">${items.map(
			({ at, name, from, wide, title }) => html`<button type="button" class="tick" tabindex="-1" aria-hidden="true"
				data-go=${at} title=${title} style="left:${rounded(from)}%;width:${rounded(wide)}%"><span
				hidden>${name}</span></button>`,
		)}`,
		v.$("ticks"),
	);
	render(
		html`<ol>${items.map(
			({ at, name, title }) =>
				html`<li><button type="button" data-go=${at} title=${title}><small>${
					numberOf(at) + 1
				}</small> ${name}</button></li>`,
		)}</ol>`,
		v.$("contents"),
	);
	v.ticks = items.map(({ name, from }) => ({ name, part: from / 100 }));
	v.shownChapter = undefined;
}

const GAP = 8;

// What is to be named on a slider: the chapters, each from where on, and how wide their names are.
interface Named {
	lefts: number[];
	widths: number[];
	room: number;
}

// The chapters whose names are on the slider, each whole, and from where on: first the one at the cursor and its
// neighbours, which give way to each other, then the others as far as there is room.
export function namesOnSlider({ lefts, widths, room }: Named, at: number): Map<number, number> {
	const put = new Map<number, number>(),
		free = (i: number, left: number) =>
			[...put].every(([j, from]) => left >= from + widths[j] + GAP || left + widths[i] + GAP <= from);
	for (const [i, left] of besideCursor({ lefts, widths, room }, at)) if (left >= 0) put.set(i, left);
	const others = lefts.map((_, i) => i).sort((a, b) => Math.abs(a - at) - Math.abs(b - at));
	for (const i of others) if (!put.has(i) && lefts[i] + widths[i] <= room && free(i, lefts[i])) put.set(i, lefts[i]);
	return put;
}

// The chapter at the cursor and its neighbours, and from where on they are named: right of the one before.
function besideCursor({ lefts: all, widths, room }: Named, at: number): Array<[number, number]> {
	const beside = [at - 1, at, at + 1].filter((i) => i in all),
		lefts = beside.map((i) => all[i]),
		here = beside.indexOf(at);
	for (let k = here - 1; k >= 0; k--)
		lefts[k] = Math.max(0, Math.min(lefts[k], lefts[k + 1] - GAP - widths[beside[k]]));
	for (let k = 1; k < beside.length; k++) lefts[k] = Math.max(lefts[k], lefts[k - 1] + widths[beside[k - 1]] + GAP);
	for (let k = beside.length - 1, end = room; k >= 0; end = lefts[k--] - GAP)
		lefts[k] = Math.min(lefts[k], end - widths[beside[k]]);
	return beside.map((i, k) => [i, lefts[k]]);
}

function nameTicks(v: View, at: number) {
	const lefts = v.ticks.map(({ part }) => part * v.wayWidth),
		widths = v.ticks.map(({ name }) => v.pen.measureText(name).width + 4),
		put = namesOnSlider({ lefts, widths, room: v.wayWidth }, Math.max(0, at));
	v.root.querySelectorAll<HTMLElement>(".tick span").forEach((name, i) => {
		const left = put.get(i);
		name.hidden = left === undefined;
		name.style.left = left === undefined ? "" : `${rounded(left - lefts[i])}px`;
	});
}

// The chapter, the slider, and what is folded, at the cursor.
export function drawWay(v: View, index: number) {
	const { stops, chapters } = v,
		at = upTo(chapters.length, (i) => chapters[i].at <= v.step),
		name = chapters[at]?.name ?? "",
		seek = v.$<HTMLInputElement>("seek");
	if (v.shownChapter !== at) nameChapter(v, at, name);
	seek.max = String(stops.length);
	seek.value = String(index);
	seek.setAttribute("aria-valuetext", `step ${index} of ${stops.length}${name && `, chapter ${name}`}`);
	drawFolded(v);
}

function nameChapter(v: View, at: number, name: string) {
	const told = v.$("chapter");
	v.shownChapter = at;
	nameTicks(v, at);
	told.setAttribute("aria-live", v.$("now").getAttribute("aria-live") ?? "polite");
	render(breaks(name), told); // OUT_OF_ORDER_SEQUENCE_NUMBER takes two lines
	for (const all of [v.root.querySelectorAll(".tick"), v.$("contents").querySelectorAll("button")])
		all.forEach((one, i) => {
			if (i === at) one.setAttribute("aria-current", "step");
			else one.removeAttribute("aria-current");
		});
}

function drawFolded(v: View) {
	const stop = foldHere(v),
		folded = v.$("folded");
	folded.hidden = stop === undefined;
	if (stop === undefined) return;
	const count = v.folds.get(stop)?.length ?? 0,
		open = isOpen(v, stop);
	folded.textContent = `${open ? "▾" : "+"} ${count}`;
	folded.dataset.told = open
		? `Fold ${count} steps into one stop again`
		: `Show ${count} steps that are folded into this stop`;
}

export function openContents(v: View, shown: boolean) {
	const contents = v.$("contents"),
		find = (selector: string) => contents.querySelector<HTMLElement>(selector);
	contents.hidden = !shown;
	((shown && (find("[aria-current]") ?? find("button"))) || v.root).focus({ preventScroll: true });
}

// Up and down in the list of chapters; a choice closes it.
export function hearContents(v: View) {
	const contents = v.$("contents"),
		steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
	const press = (event: KeyboardEvent) => {
		const all = [...contents.querySelectorAll("button")],
			by = steps[event.key];
		if (event.key === "Escape") openContents(v, false);
		else if (by) all[all.indexOf(document.activeElement as HTMLButtonElement) + by]?.focus();
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const click = ({ target }: Event) => (target as Element).closest("button") && openContents(v, false);
	contents.addEventListener("keydown", press, { signal: v.closed });
	contents.addEventListener("click", click, { signal: v.closed });
}
