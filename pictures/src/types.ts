// What pictures share beside the payload: a widget's model, a journey's values, the run and its state at a step.

import type { Shared } from "./journey";
import type { Log } from "./log";
import type { Client, Frame, Group, NodeState, Payload, LeaderMemory, RunEvent, Transaction } from "./payload";

// The model of a widget, whose values are `V`, as anywidget hands it over.
export interface Model<V> {
	get<K extends keyof V & string>(name: K): V[K];
	set<K extends keyof V & string>(name: K, value: V[K]): void;
	on(name: string, hear: (message: Message) => void): void;
	off(name: string, hear: (message: Message) => void): void;
	save_changes(): void;
	send(content: Message): void;
	linkTo?: (code: string) => string; // a page that opens the run of this code
	patience_ms?: number; // how long its answer may take; as that of a kernel if it does not say
	widget_manager: { get_model(id: string): Promise<unknown> };
}

export interface Message {
	kind: string;
	[field: string]: unknown;
}

export type Size = "laptop" | "projector";

// A run in the tree of a journey.
export interface Fork {
	id: number;
	parent: number;
	name: string;
	label: string;
	at: number;
	landed: number;
	outcome: string;
}

// What the browser has of a journey; `payload` is packed.
export interface JourneyValues {
	payload: string;
	step: number;
	groups: string[];
	hidden?: string[];
	every: boolean;
	opened?: number[];
	tree: Fork[];
	place: number;
	can_undo: boolean;
	can_redo: boolean;
	size: Size | "";
	verdict?: Partial<Report>;
}

export interface Journey extends Model<JourneyValues> {
	klab: Shared;
}

// What a picture shows at a step: what the changes of all steps up to it have made.
export interface State {
	node: Record<string, NodeState>;
	roles: Record<string, string[]>;
	leader: Record<string, string>;
	client: Record<string, Client>;
	logs: Record<string, Log>;
	txns: Record<string, Transaction & { via?: false | [string, string] }>;
	producers: Record<string, Client & { node: string }>;
	group: Record<string, Group>;
	isr: Record<string, { replicas: string[]; isr: string[] }>;
	cut: Record<string, boolean>;
	held: Record<string, boolean>;
	memory: Record<string, Record<string, LeaderMemory>>;
	position: Record<string, Record<string, { at: number; level: string } | undefined>>;
}

// A run, indexed: what `openRun` makes of a payload.
export interface Run extends Omit<Payload, "from" | "tails"> {
	last: number;
	// By node: from which step on it is up, down or paused.
	life: Record<string, Array<[number, NodeState]>>;
	flown: Frame[];
	// By API: the category of its frames.
	apis: Map<string, string>;
	grow(text: string): void;
	label(node: string): string;
	end(frame: Frame): number;
	fate(frame: Frame, step: number): string;
	at(step: number): State;
	frameAt(step: number): Frame | undefined;
	caused(frame: Frame, step: number): RunEvent[];
	appended(frame: Frame, step: number): RunEvent[];
}

// What the checks say of a run: see `report_of`.
export type Judgement = "ok" | "violated" | "unknown" | "allowed";

export interface Finding {
	text: string;
	policy: string;
	step: number;
	steps: number[];
	since: number;
	afterwards: boolean;
	places: Array<[string, number]>;
	value: string;
}

export interface Result {
	name: string;
	meaning: string;
	verdict: Judgement;
	examined: number;
	findings: Finding[];
}

export interface Report {
	place: number;
	verdict: Judgement;
	sentence: string;
	once: string;
	results: Result[];
}
