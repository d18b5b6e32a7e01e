// Steps a cursor through the stops of a run: back, forward, first, last, play; and says why a move is not possible.

import { upTo } from "./basics";
import { isAtTheEnd } from "./journey";
import type { Run } from "./types";

// A button or a key: its sign, what it does, its key.
export type Tool = [sign: string, title: string, key: string];

export const MOVES = {
	home: ["|◂", "First step", "Home"],
	left: ["◂", "Back", "ArrowLeft"],
	play: ["▶", "Play or pause", " "],
	right: ["▸", "Forward", "ArrowRight"],
	end: ["▸|", "Last step", "End"],
} satisfies Record<string, Tool>;
export type Move = keyof typeof MOVES;

const PLAY_MS = 900;

// What is stepped through. With `turns`, steps at which a picture changes, back and forward go from one to the next.
export interface Walker {
	readonly run: Run;
	readonly stops: number[];
	readonly step: number;
	readonly turns?: number[];
}

export const isMove = (action: string): action is Move => action in MOVES;

// The place of the cursor's stop, or of the last one before it; -1 before the first.
export const placeOf = ({ stops, step }: Pick<Walker, "stops" | "step">) => upTo(stops.length, (i) => stops[i] <= step);

// Where a move goes; undefined if there is nothing on that side.
export function targetOf({ stops, step, turns = stops }: Walker, action: string): number | undefined {
	const at = placeOf({ stops: turns, step });
	if (action === "right") return turns[at + 1];
	if (action === "left") return turns[turns[at] === step ? at - 1 : at];
	return action === "home" ? stops[0] : stops.at(-1);
}

// Return why a move would change nothing; "" if it would.
export function whyNoMove(walker: Walker, action: Move): string {
	const { stops, step, turns } = walker,
		[first, last] = [stops[0] ?? step, stops.at(-1) ?? step],
		back = action === "home" || action === "left",
		moves = { home: step !== first, left: step > first, right: step < last, end: step !== last };
	if (action === "play" || (action === "right" && isAtTheEnd(walker))) return "";
	if (!moves[action]) return `This is the ${back ? "first" : "last"} step.`;
	if (!turns || action === "home" || action === "end" || targetOf(walker, action) !== undefined) return "";
	return `Nothing changes here ${back ? "before" : "after"} this step.`;
}

// `go` moves the cursor, `ask` lets a run that goes on go on, `turned` hears that playing began or ended.
export class Stepper {
	private readonly walker: Walker;
	private readonly go: (step: number) => void;
	private readonly ask: () => void;
	private readonly turned: () => void;
	private timer?: ReturnType<typeof setInterval>;

	constructor(walker: Walker, go: (step: number) => void, ask: () => void, turned: () => void) {
		this.walker = walker;
		this.go = go;
		this.ask = ask;
		this.turned = turned;
	}
	get sign() {
		return this.timer ? "❚❚" : MOVES.play[0];
	}
	// Makes a move, or says why not.
	do(action: Move): string {
		const playing = !!this.timer;
		this.pause();
		if (action === "play") {
			if (!playing) this.play();
			return "";
		}
		const no = whyNoMove(this.walker, action),
			to = targetOf(this.walker, action);
		if (!no && to !== undefined) this.go(to);
		else if (!no) this.ask();
		return no;
	}
	pause() {
		if (!this.timer) return;
		clearInterval(this.timer);
		this.timer = undefined;
		this.turned();
	}
	private play() {
		if (targetOf(this.walker, "right") === undefined) this.go(this.walker.stops[0]);
		this.timer = setInterval(() => {
			const to = targetOf(this.walker, "right");
			if (to === undefined) this.pause();
			else this.go(to);
		}, PLAY_MS);
		this.turned();
	}
}
