// A packed payload made whole again: the inverse of packing.py.

import type { Actions, Batch, Category, Frame, Op, Payload, RunEvent } from "./payload";

// Columns; a number stands for a place in `shared`, or is what `_events` and `_frames` of packing.py say.
type Columns<Name extends string> = Record<Name, number[]>;
type Events = Columns<"node" | "kind" | "name" | "category" | "txn" | "text" | "stop" | "at" | "cause" | "frame"> & {
	patch: Array<0 | PackedOp[]>;
};
type Frames = Columns<
	| ("name" | "kind" | "from" | "to" | "category" | "fate" | "copy_of" | "error" | "txn" | "about" | "of")
	| ("sent" | "at" | "attempt" | "received" | "received_at")
> & { id: string[]; fields: number[][] };
type PackedOp = Exclude<Op, ["batch", ...unknown[]]> | ["batch", string, string, number];
type Shared = Array<string | string[] | Batch>;
interface Packed extends Omit<Payload, "events" | "frames" | "actions"> {
	shared: Shared;
	events: Events;
	frames: Frames;
	actions: Omit<Actions, "reasons"> & { reasons?: Record<string, Array<[number, number]>> };
}
export type Unpacked = Omit<Payload, "actions" | "from"> & { actions: Actions };

const HERE = "\x01",
	NONE: Op[] = []; // one for all events that change nothing

const inPlace = (text: string, id: string) => (id ? text.replaceAll(HERE, id) : text);

// The fields of a frame are made when they are read.
function framesOf(f: Frames, shared: Shared): Record<string, Frame> {
	const texts = shared as string[],
		frames: Record<string, Frame> = {};
	f.id.forEach((id, i) => {
		const of = texts[f.of[i]],
			[sent, at] = [f.sent[i], f.at[i]],
			arrived = f.received[i];
		frames[id] = {
			id,
			of,
			sent,
			at,
			name: texts[f.name[i]],
			kind: texts[f.kind[i]] as Frame["kind"],
			from: texts[f.from[i]],
			to: texts[f.to[i]],
			category: texts[f.category[i]] as Category,
			fate: texts[f.fate[i]],
			copy_of: texts[f.copy_of[i]],
			attempt: f.attempt[i],
			error: texts[f.error[i]],
			txn: texts[f.txn[i]],
			about: inPlace(texts[f.about[i]], of),
			received: arrived ? sent + arrived : null,
			received_at: arrived ? at + f.received_at[i] : null,
			get fields() {
				const [names, ...values] = f.fields[i];
				return (shared[names] as string[]).map((name, k): [string, string] => [name, texts[values[k]]]);
			},
		};
	});
	return frames;
}

// The events, of which the first is `from`.
function eventsOf(e: Events, ids: string[], shared: Shared, from: number): RunEvent[] {
	const texts = shared as string[],
		opOf = (op: PackedOp): Op => (op[0] === "batch" ? [op[0], op[1], op[2], shared[op[3]] as Batch] : op);
	let clock = 0;
	return e.at.map((wait, i) => {
		const frame = ids[e.frame[i] - 1] ?? "",
			changes = e.patch[i],
			step = from + i;
		clock += wait;
		return {
			step,
			at: clock,
			cause: e.cause[i] ? step - e.cause[i] : -1,
			frame,
			node: texts[e.node[i]],
			kind: texts[e.kind[i]],
			name: texts[e.name[i]],
			category: texts[e.category[i]] as Category,
			stop: !!e.stop[i],
			txn: texts[e.txn[i]],
			text: inPlace(texts[e.text[i]], frame),
			patch: changes ? changes.map(opOf) : NONE,
		};
	});
}

// Return the payload with rows of events and frames instead of columns.
export function unpacked(text: string): Unpacked {
	const { shared, from = 0, events, frames, actions, ...rest }: Packed = JSON.parse(text),
		reasons: Actions["reasons"] = {};
	for (const [key, changes] of Object.entries(actions.reasons ?? {}))
		reasons[key] = changes.map(([step, place]) => [step, (shared[place] as string | undefined) ?? null]);
	return {
		...rest,
		events: eventsOf(events, frames.id, shared, from),
		frames: framesOf(frames, shared),
		actions: { ...actions, reasons },
	};
}
