// The walk through a run: at which steps the cursor stops, chapters, changes, what a link in a text names.
// Python has the same in payload/walk.py and model/jumps.py.

import type { Chapter, RunEvent } from "./payload";
import { ALWAYS, stopsOf, upTo } from "./run";
import type { Journey, Run } from "./types";

export interface Walk {
	stops: number[];
	folds: Map<number, number[]>;
}

const AT_MOST = 25,
	ONE_IN = 8,
	CHANGES = new Set("batch truncate cleaned start hw lso txn group node leader isr cut".split(" "));

// All stops with the journey's groups, without what it hides; nothing is folded.
export const everyStop = (run: Run, journey: Journey): number[] =>
	stopsOf(run, new Set(journey.get("groups")), new Set(journey.get("hidden") ?? []));

// Those of the stops `places` that are not folded: the highest ranks that are few enough, and of a run that goes on the
// latest.
function foldedWalk({ ranks, live }: Run, places: number[]): number[] {
	const last = places.at(live ? -Math.min(AT_MOST, places.length) : -1) as number,
		limit = Math.max(AT_MOST, Math.floor(places.length / ONE_IN)),
		counts = new Map<number, number>();
	for (const step of places.slice(1, -1)) counts.set(ranks[step], (counts.get(ranks[step]) ?? 0) + 1);
	let least = 0,
		taken = 2;
	for (const [rank, count] of [...counts].sort(([a], [b]) => b - a)) {
		taken += count;
		if (rank < 1 || (taken > limit && least)) break;
		least = rank;
	}
	return places.filter((step) => ranks[step] >= Math.max(least, 1) || step >= last || step === places[0]);
}

// The stops of the walk, and by stop the steps that are folded into it, whether they are opened or not.
export function walkOf(run: Run, journey: Journey, places = everyStop(run, journey)): Walk {
	if (journey.get("every") || !run.ranks || !places.length) return { stops: places, folds: new Map() };
	const kept = foldedWalk(run, places),
		opened = new Set(journey.get("opened") ?? []),
		folds = new Map<number, number[]>(),
		stops: number[] = [];
	let inside: number[] = [],
		at = 0;
	for (const step of places) {
		if (step !== kept[at]) {
			inside.push(step);
			continue;
		}
		if (inside.length) folds.set(step, inside);
		if (opened.has(step)) stops.push(...inside);
		stops.push(step);
		inside = [];
		at += 1;
	}
	return { stops, folds };
}

export const walkStops = (run: Run, journey: Journey) => walkOf(run, journey).stops;

// The chapters with the stop at which each begins: it may be folded into that one.
export const chaptersAt = (run: Run, stops: number[]): Array<Chapter & { at: number }> =>
	(run.chapters ?? []).map((one) => ({
		...one,
		at: stops[Math.min(stops.length - 1, upTo(stops.length, (i: number) => stops[i] < one.step) + 1)] ?? one.step,
	}));

export const isChange = (event: RunEvent) => ALWAYS.has(event.kind) || event.patch.some(([op]) => CHANGES.has(op));

// What a stop says of the repeated requests that are folded into it; "" for none.
export const foldAt = (run: Run, step: number, stops: number[]) =>
	(run.folds ?? []).find((fold) => fold.to === step && !stops.includes(fold.from))?.text ?? "";

// The step that a link names, "EndTxn#1" or "chapter:decision"; undefined if the run has none.
export const stepNamed = (run: Run, stops: number[], name: string): number | undefined =>
	name.startsWith("chapter:")
		? chaptersAt(run, stops).find((one) => `chapter:${one.slug}` === name)?.at
		: run.frames[name]?.sent;
