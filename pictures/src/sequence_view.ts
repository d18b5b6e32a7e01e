// What the parts of a sequence share: its values, what is found, what logs are drawn from, the view itself.

import type { FaultValues } from "./fault_rows";
import type { Level } from "./log_cells";
import type { Sequence } from "./sequence";
import type { Finding, Run, Size, State } from "./types";

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

export type View = Sequence;
