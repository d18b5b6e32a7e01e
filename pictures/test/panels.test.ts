// Tests of the models and layouts of the panels, which need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Costs, costRows } from "../src/costs";
import { inOrder } from "../src/runs_tree";
import { verdictOf } from "../src/side_by_side";
import type { Finding, Fork, Report } from "../src/types";

const costs: Costs = {
	trips: [
		["InitProducerId", 1, 0, 10, 2, 5, 20, 3, 8],
		["Produce", 4, 10, 100, 6, 14, 30, 8, 18],
		["Produce", 5, 12, 50, 7, 16, 30, 9, 20],
		["EndTxn", 10, 20, -1, -1, 0, 0, -1, 0],
	],
	entries: [["Produce", 6, 3]],
	decided: [9],
	phases: { InitProducerId: "start", Produce: "write", EndTxn: "commit" },
	order: ["start", "write", "commit", "other"],
	start: "start",
};

test("round trips at the same time count once, and so does their time", () => {
	const { rows } = costRows(costs, "api", 9),
		produce = rows.find(({ name }) => name === "Produce");
	assert.deepEqual(produce, { name: "Produce", frames: 4, bytes: 210, entries: 3, round_trips: 1, ms: 10 });
});

test("at a step only what has happened by then is counted", () => {
	const { rows, whole, decided } = costRows(costs, "phase", 5);
	assert.deepEqual(
		rows.map(({ name }) => name),
		["start", "write", "all"],
	);
	assert.equal(whole.frames, 4);
	assert.equal(decided, 0);
});

test("a frame of unknown size makes the sum unknown; one transaction is without the start", () => {
	const { whole, rows } = costRows(costs, "phase", 10);
	assert.equal(whole.bytes, null);
	assert.equal(rows.at(-1)?.name, "per transaction");
	assert.equal(rows.at(-1)?.frames, 5);
});

test("runs follow their parent and its earlier children", () => {
	const fork = (id: number, parent: number) => ({ id, parent }) as Fork,
		lines = inOrder([fork(0, -1), fork(1, 0), fork(2, 0), fork(3, 1)]);
	assert.deepEqual(
		lines.map(({ run, depth }) => [run.id, depth]),
		[
			[0, 0],
			[1, 1],
			[3, 2],
			[2, 1],
		],
	);
});

test("the anomaly that came first stands out, and allowed ones are not named", () => {
	const found = (policy: string, ...steps: number[]) => steps.map((since) => ({ policy, since }) as Finding),
		report = {
			results: [
				{ name: "sequence-gap", findings: found("forbidden", 7) },
				{ name: "duplicate", findings: found("forbidden", 9, 3) },
				{ name: "lag", findings: found("allowed", 1) },
			],
		} as Report;
	assert.deepEqual(verdictOf(report).broken, [
		{ words: "✕ sequence-gap", later: true },
		{ words: "✕ duplicate ×2", later: false },
	]);
	assert.equal(verdictOf({ results: [] } as unknown as Report).words, "✓ no promise is broken");
	assert.equal(verdictOf(undefined).words, "the checks are looking …");
});
