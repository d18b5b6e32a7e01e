// The parts of the sequence that draw nothing: where rows and names stand, which finding comes first, what a bar says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOnSlider } from "../src/chapters";
import { Plan, point, way } from "../src/flights";
import type { RunEvent } from "../src/payload";
import { placedFindings } from "../src/sequence_verdict";
import type { Found } from "../src/sequence_view";
import type { Run } from "../src/types";
import { atStops, fateWords } from "../src/what_if";

const finding = (name: string, since: number, policy = "forbidden") =>
	({ name, since, policy, places: [["out-0", 1]] }) as unknown as Found;

test("a stop shows the latest fate that strikes, or the first that breaks a promise", () => {
	const runs: Array<[number, string, string, string]> = [
		[0, "none", "", ""],
		[3, "once", "Produce#1", ""],
		[5, "broken", "b1", "lost-write"],
		[6, "once", "b1", ""],
	];
	assert.deepEqual(
		atStops({ runs }, [2, 4, 7, 9]).map(([, fate]) => fate),
		["none", "once", "broken", "once"],
	);
});

test("a fate is said with its anomalies and the frame that is struck", () => {
	assert.equal(fateWords([0, "twice", "Produce#1", "duplicate"]), "twice: duplicate, allowed (Produce#1)");
	assert.equal(fateWords([0, "broken", "b1", "torn"]), "✕ torn");
	assert.equal(fateWords([0, "none", "", ""]), "nothing to strike");
});

test("what breaks a promise comes first, then what is older; a cell has the first finding about it", () => {
	const found = [finding("late", 9), finding("gap", 4), finding("duplicate", 1, "allowed"), finding("first", 3)],
		{ shown, first, wrong } = placedFindings(found, 5);
	assert.deepEqual(
		shown.map(({ name }) => name),
		["first", "gap", "duplicate"],
	);
	assert.equal(first, "first");
	assert.equal(wrong.get("out-0@1")?.name, "first");
});

test("names on the slider do not overlap; that of the cursor is there, and stays inside", () => {
	const widths = [40, 40, 40, 40],
		put = namesOnSlider({ lefts: [0, 10, 20, 95], widths, room: 130 }, 3),
		lefts = [...put].sort(([a], [b]) => a - b);
	assert.ok(put.has(3));
	assert.ok(lefts.every(([, left], k) => !k || left >= lefts[k - 1][1] + 40));
	assert.ok(lefts.every(([, left]) => left >= 0 && left + 40 <= 130));
});

const event = (step: number, at: number, kind = "state") =>
	({
		step,
		at,
		kind,
		node: "b1",
		category: "transaction",
		stop: true,
		frame: "",
		txn: "",
		patch: [],
	}) as unknown as RunEvent;

function runOf(events: RunEvent[]): Run {
	const nodes = [{ id: "b1", kind: "broker", label: "b1" }];
	return { nodes, events, frames: {}, marks: {}, flown: [], last: events.length - 1 } as unknown as Run;
}

test("a plan that grows is the plan of the whole run", () => {
	const events = Array.from({ length: 90 }, (_, i) => event(i, i * 10)),
		growing = runOf(events.slice(0, 40)),
		plan = new Plan(growing, new Set(["transaction"]), new Set(), 10, false);
	growing.events.push(...events.slice(40));
	plan.grow();
	const whole = new Plan(runOf(events), new Set(["transaction"]), new Set(), 10, false);
	assert.deepEqual([plan.rows, plan.stops, plan.longest], [whole.rows, whole.stops, whole.longest]);
	assert.equal(plan.row(41), 41);
});

test("a way ends where its frame does, and one to itself goes around", () => {
	const g = { x1: 0, y1: 0, x2: 100, y2: 50, across: false };
	assert.deepEqual(point(g, 1), [100, 50]);
	assert.deepEqual(point({ ...g, across: true }, 0.5), [25, 50]);
	assert.equal(way(g, 0.5), "M0,0L50,25");
	assert.equal(way({ ...g, x2: 0, loop: 20 }, 1), "M0,0L20,0L20,50L0,50");
});
