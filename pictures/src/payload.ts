// The types of a payload, unpacked: those of kafkalab/widgets/payload/types.py, written by payload_types.py.

export type Category = "transaction" | "verification" | "replication" | "metadata";

export type NodeState = "up" | "down" | "paused";

// The name of a field, and its value as text.
export type Field = [string, string];

// A batch of a log: see `batch_shown`.
export interface Batch {
	base: number;
	last: number;
	kind: "data" | "COMMIT" | "ABORT";
	pid: number;
	epoch: number;
	seq: number;
	txn: boolean;
	le: number;
	ts: number;
	records: Array<[string, string]>;
	decoded: string;
	ce?: number;
	offs?: number[];
	headers?: Array<string[]>;
	fields?: Array<Field[]>;
}

// A coordinator's entry of a transactional id.
export interface Transaction {
	state: string;
	pending: string;
	producer_id: number;
	epoch: number;
	partitions: string[];
	node: string;
}

// The changes of a client: the last call, or the state of its producer.
export interface Client {
	last?: string;
	state?: string;
	producer_id?: number;
	epoch?: number;
	tid?: string;
}

// A coordinator's entry of a consumer group.
export interface Group {
	state: string;
	generation: number;
	leader: string;
	members: Record<string, string[]>;
	node: string;
}

// A leader's memory of a producer id: its epoch; by batch its first and last sequence number, and offset.
export interface LeaderMemory {
	epoch: number;
	batches: Array<[number, number, number]>;
}

// A change of the picture: see `apply` of `ViewState`.
export type Op =
	| ["node", string, NodeState]
	| ["roles", string, string[]]
	| ["leader", string, string]
	| ["batch", string, string, Batch]
	| ["truncate", string, string, number]
	| ["cleaned", string, string, number[], number]
	| ["start" | "hw" | "lso", string, string, number]
	| ["txn", string, Transaction]
	| ["client", string, Client]
	| ["group", string, Group]
	| ["memory", string, string, Record<string, LeaderMemory>]
	| ["position", string, string, number, string]
	| ["isr", string, string[], string[]]
	| ["cut", string, string, boolean]
	| ["held", string, boolean];

// A step of the run, with a sentence and the changes that it makes to the picture.
export interface RunEvent {
	step: number;
	at: number;
	node: string;
	kind: string;
	name: string;
	cause: number;
	category: Category;
	stop: boolean;
	frame: string;
	txn: string;
	text: string;
	patch: Op[];
}

export interface Frame {
	id: string;
	name: string;
	kind: "request" | "response";
	from: string;
	to: string;
	category: Category;
	sent: number;
	at: number;
	received: number | null;
	received_at: number | null;
	fate: string;
	of: string;
	copy_of: string;
	attempt: number;
	error: string;
	txn: string;
	fields: Field[];
	about: string;
}

// A node of the cluster, or a client.
export interface RunNode {
	id: string;
	kind: "broker" | "controller" | "client";
	label: string;
}

// A chapter of the walk: where it begins, its name, and its name in a link.
export interface Chapter {
	step: number;
	name: string;
	slug: string;
}

export interface Fold {
	from: number;
	to: number;
	text: string;
}

// By transactional id and by group: the partition whose leader coordinates it.
export interface Homes {
	ids: Record<string, string>;
	groups: Record<string, string>;
}

// The states of a transaction, in their order.
export interface Charts {
	states: string[];
}

// The reasons why a press would change nothing: by key, each with the step from which on it holds; "" for none.
export interface Actions {
	fixed: string;
	start: number;
	limits: Record<string, [number, number, string]>;
	reasons: Record<string, Array<[number, string | null]>>;
}

// From which index on the walk's lists replace what was known.
export interface Tails {
	chapters: number;
	folds: number;
	ranks: number;
}

export interface Payload {
	version: number;
	title: string;
	profile: string;
	seed: number | null;
	faults: string[];
	nodes: RunNode[];
	categories: Category[];
	partitions: string[];
	internal: string[];
	charts: Charts;
	initial: Op[];
	homes: Homes;
	frames: Record<string, Frame>;
	events: RunEvent[];
	transactions: string[];
	meanings: Record<string, string>;
	marks: Record<string, string>;
	ends: Record<string, number>;
	chapters: Chapter[];
	folds: Fold[];
	ranks: number[];
	ending: string;
	actions?: Actions;
	live?: string;
	from?: number;
	tails?: Tails;
}
