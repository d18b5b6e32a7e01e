// What the parts of a sequence share: the view, with the run and the step shown, where its lanes are, and what is laid.

import type { Drag } from "./envelopes";
import type { FaultValues } from "./fault_rows";
import type { Flight, Plan } from "./flights";
import type { Level } from "./log_cells";
import type { Chapter, Frame } from "./payload";
import type { Finding, Journey, Model, Run, Size, State } from "./types";

// An entry of a what-if strip: its first step, its fate, what is struck, the anomalies.
export type Entry = [number, string, string, string];
export interface Row {
	name: string;
	runs: Entry[];
}
export interface StripsTold {
	place?: number;
	rows?: Row[];
	tried?: number;
	why?: string;
}

export interface SequenceValues {
	journey: string;
	size: Size;
	time: "down" | "across";
	what_if: boolean;
	strips: StripsTold;
	reasons: FaultValues["reasons"];
}

export type Found = Finding & { name: string; meaning: string };
export type Levels = Record<string, Level[]>;
export interface Writes {
	count: number;
	transactional: Set<string>;
	keys: Record<string, Set<string>>;
}

// The findings that are shown at a step, and where: see `placedFindings`.
export interface Placed {
	shown: Found[];
	first: string | undefined;
	wrong: Map<string, Found>;
	missing: Record<string, Array<Found & { offset: number }>>;
}

// What logs are drawn from; Compare has it, too.
export interface LogsShown extends Placed {
	run: Run;
	state: State;
	fresh: Set<string>;
	keyed: Record<string, boolean>;
	levels: Levels;
}

export interface Rail {
	places: Record<string, [number, number, number, number]>;
	width: number;
	height: number;
}

export interface View extends LogsShown {
	readonly model: Model<SequenceValues>;
	readonly journey: Journey;
	readonly root: HTMLElement;
	readonly closed: AbortSignal;
	readonly prefix: string;
	readonly pen: CanvasRenderingContext2D;
	readonly fitted: Map<string, [string, number]>;
	readonly drawer: { toggle(): void; close(): void };
	playing: number;
	internal: boolean;
	drawn: number;
	opened: string;
	step: number;
	found: Found[] | null;
	chosen: Frame | undefined;
	writes: Writes;
	// How the picture is laid.
	across: boolean;
	u: number;
	width: number;
	height: number;
	breadth: number;
	gutter: number;
	lane: number;
	x: Record<string, number>;
	long: number;
	longest: number;
	bottom: number;
	row: number;
	plan: Plan;
	flights: Flight[];
	rail: Rail;
	stripsDrawn: Map<string, { shows: unknown[]; end: string }>;
	// The walk.
	stops: number[];
	folds: Map<number, number[]>;
	foldStops: number[];
	chapters: Array<Chapter & { at: number }>;
	changes: number[];
	looked: number;
	targets: Record<string, number[]>;
	ticks: Array<{ name: string; part: number }>;
	wayWidth: number;
	shownChapter: number | undefined;
	ticking: ReturnType<typeof setTimeout> | undefined;
	filtered: number;
	// What if.
	strips: { told: Row[] | undefined; stops: number[]; rows: Array<Row & { cells: Entry[] }> } | undefined;
	wondered: number | undefined;
	// States.
	txnId: string | undefined;
	recent: string[];
	tokens: Record<string, string>;
	// Hands.
	drag: Drag | undefined;
	deaf: boolean;
	menu: HTMLElement | undefined;
	opener: Element | undefined;

	$<E extends HTMLElement = HTMLElement>(name: string): E;
	say(text: string, how?: string): void;
	pause(): void;
	go(step: number | undefined): void;
	redraw(): void;
	// Moves an element for a moment, unless less motion is asked for. The next step ends it.
	move(element: Element, frames: Keyframe[], ended?: () => void, duration?: number): void;
}
