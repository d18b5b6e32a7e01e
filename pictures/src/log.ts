// A replica's log, and what appending, truncating, compacting and deleting make of it.

import { upTo } from "./basics";
import type { Batch, Field } from "./payload";

export type GoneBatch = Batch & { why: string };
type Values = Pick<Log, "all" | "count" | "gone" | "hw" | "lso" | "start">;

// The first `count` of batches that it shares with the logs that it grew out of and into; the batches that have left
// it, each with why, until others take their place; where it begins and its marks.
export class Log {
	readonly all: Batch[];
	readonly count: number;
	readonly gone: GoneBatch[];
	readonly hw: number;
	readonly lso: number;
	readonly start: number;

	constructor({ all = [], count = 0, gone = [], hw = 0, lso = 0, start = 0 }: Partial<Values> = {}) {
		this.all = all;
		this.count = count;
		this.gone = gone;
		this.hw = hw;
		this.lso = lso;
		this.start = start;
	}
	get batches(): Batch[] {
		return this.last(this.count);
	}
	last(count: number): Batch[] {
		return this.all.slice(Math.max(0, this.count - count), this.count);
	}
	change(changed: Partial<Values>): Log {
		return new Log({ ...this, ...changed });
	}
	with(batch: Batch): Log {
		const { all, count, gone } = this,
			left = gone.length ? gone.filter((b) => b.last < batch.base) : gone;
		if (count && all[count - 1].base > batch.base) {
			// of a recorded run: a reader learned of it after what was written behind it
			const sorted = [...this.batches, batch].sort((a, b) => a.base - b.base);
			return this.change({ all: sorted, count: count + 1 });
		}
		if (all.length === count) all.push(batch);
		else if (all[count] !== batch) return this.change({ all: [...this.batches, batch], count: count + 1, gone: left });
		return this.change({ count: count + 1, gone: left });
	}
	before(offset: number): Log {
		const count = upTo(this.count, (i) => this.all[i].base < offset) + 1;
		return this.change({
			count,
			gone: this.left(this.all.slice(count, this.count), "truncated"),
			hw: Math.min(this.hw, offset),
			lso: Math.min(this.lso, offset),
		});
	}
	// With only what `keep` makes of each batch; nothing: the batch is gone.
	kept(why: string, keep: (batch: Batch) => Batch | false): Log {
		const { batches } = this,
			kept = batches.map(keep),
			all = kept.filter((batch) => batch !== false),
			gone = batches.filter((_, i) => !kept[i]);
		return this.change({ all, count: all.length, gone: this.left(gone, why) });
	}
	private left(batches: Batch[], why: string): GoneBatch[] {
		return [...this.gone, ...batches.map((batch) => ({ ...batch, why }))].sort((a, b) => a.base - b.base);
	}
}

// A database's table: its rows are committed or open, and it has none of Kafka's marks and no replicas.
export const isTable = (partition: string) => partition.startsWith("table ");

export const logOf = (state: { logs: Record<string, Log> }, node: string, partition: string): Log =>
	state.logs[`${node} ${partition}`] ?? new Log();
export const offsetsOf = ({ offs, base, records }: Batch) => offs ?? records.map((_, i) => base + i);

// A batch with the records that compaction up to `end` has left; false if there are none.
export function cleaned(batch: Batch, left: Set<number>, end: number): Batch | false {
	const offs = offsetsOf(batch),
		kept = offs.flatMap((offset, i) => (offset >= end || left.has(offset) ? [i] : []));
	if (!kept.length || kept.length === offs.length) return kept.length > 0 && batch;
	const pick = <T>(all: T[]): T[] => kept.map((i) => all[i]),
		parts = batch.decoded ? batch.decoded.split("; ") : [],
		fields: Field[][] | undefined = batch.fields,
		{ headers } = batch;
	return {
		...batch,
		records: pick(batch.records),
		offs: pick(offs),
		decoded: parts.length === offs.length ? pick(parts).join("; ") : batch.decoded,
		...(fields && { fields: pick(fields) }),
		...(headers && { headers: pick(headers) }),
	};
}
