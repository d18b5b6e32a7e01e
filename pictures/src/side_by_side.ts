// What two runs have in words, as the text twin of Compare says it: transactions, logs, what the checks say.

import { isTable, type Log, logOf } from "./log";
import type { Batch, Transaction } from "./payload";
import { rowFate } from "./sequence_logs";
import type { Report, Run, State } from "./types";

const BATCHES = 16;

function cellOf(partition: string, log: Log, b: Batch, ended: Record<number, string>) {
	const span = b.last > b.base ? `${b.base}-${b.last}` : `${b.base}`;
	if (b.kind !== "data") {
		ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
		return `[${span} ${b.kind} e${b.epoch}]`;
	}
	const fate = isTable(partition) ? rowFate(log, b) : b.txn ? (ended[b.pid] ?? "open") : "",
		who = b.pid >= 0 ? ` p${b.pid} e${b.epoch} s${b.seq}` : "";
	return `[${span} ${b.decoded || b.records.map(([, value]) => value).join(" ")}${who}${fate && ` ${fate}`}]`;
}

// A log in a line: its last batches.
function logLine(state: State, partition: string) {
	const node = state.leader[partition] ?? "",
		log: Log = logOf(state, node, partition),
		batches = log.last(BATCHES),
		ended: Record<number, string> = {}, // by producer: how its newest transaction has ended
		cells = batches.toReversed().map((batch) => cellOf(partition, log, batch, ended)),
		earlier = log.count > batches.length ? [`${log.count - batches.length} earlier …`] : [],
		where = node ? `${partition} on ${node}` : `${partition} without a leader`,
		head = isTable(partition)
			? `${partition}${node ? ` in ${node}` : ""}, committed ${log.hw}:`
			: `${where}, HW ${log.hw}, LSO ${log.lso}:`;
	return `${head} ${[...earlier, ...cells.reverse()].join(" ") || "empty"}`;
}

const transactionLine = (id: string, t: Transaction) =>
	`${id}: ${t.state}${t.pending ? ` -> ${t.pending}` : ""}, producer ${t.producer_id}` +
	` epoch ${t.epoch}${t.partitions.length ? ` {${t.partitions.join(", ")}}` : ""}`;

// Transactions and logs of a run at a step, each in a line, by transactional id and partition.
export function linesOf(run: Run, step: number): Record<string, string> {
	const state = run.at(step);
	return Object.fromEntries([
		...Object.entries(state.txns).map(([id, t]) => [id, transactionLine(id, t)]),
		...run.partitions.map((partition) => [partition, logLine(state, partition)]),
	]);
}

// What the checks say of a whole run, the forbidden anomalies with their counts, and which of them came first: the
// others are often its consequences.
export function verdictOf(report: Report | undefined) {
	const found = (report?.results ?? [])
			.map(({ name, findings }) => ({
				name,
				steps: findings.filter((f) => f.policy === "forbidden").map((f) => f.since),
			}))
			.filter(({ steps }) => steps.length),
		since = Math.min(...found.flatMap(({ steps }) => steps)),
		first = found.findIndex(({ steps }) => steps.includes(since)),
		broken = found.map(({ name, steps }, i) => ({
			words: `✕ ${name}${steps.length > 1 ? ` ×${steps.length}` : ""}`,
			later: i !== first,
		}));
	if (!report) return { broken, words: "the checks are looking …" };
	return { broken, words: broken.length ? "" : "✓ no promise is broken" };
}
