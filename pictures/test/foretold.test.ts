// Tests of the runs that a page makes of what is stored beside it, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Foretold, keyOf, patched } from "../src/page/foretold";
import { RunModel, SharedJourney } from "../src/page/run_model";

const before = "one,two,three,four,five,six,seven,eight";

test("a difference gives the text back", () => {
	assert.equal(patched(before, ["zero,", -5, 13, "", 5, 5, ",end"]), "zero,one,two,three,five,end");
	assert.equal(patched(before, ["all new"]), "all new");
});

test("a press is looked up by its frame, or by its target and its step, and by what it says besides", () => {
	const press = (content: object) => keyOf({ kind: "press", step: 7, ...content });
	assert.equal(press({ action: "drop", target: "EndTxn#1" }), "drop EndTxn#1");
	assert.equal(press({ action: "crash", target: "b3", sent: undefined }), "crash b3 @7");
	assert.equal(press({ action: "crash", target: "b3", sent: true }), 'crash b3 @7 {"sent":true}');
	assert.equal(press({ action: "delay", target: "EndTxn#1", delay_ms: 9 }), 'delay EndTxn#1 {"delay_ms":9}');
});

const fork = (id: number, parent: number, at = 0, landed = 0) => ({ id, parent, at, landed, name: "", label: "" });
const future = (text: string, more: object = {}) => ({ payload: [text], verdict: {}, shared: { code: text }, ...more });

// A journey that has recorded `tree`, and the futures that it finds beside the page.
function journeyOf(place: number, tree: object[], futures: Record<string, object>) {
	const values = { payload: before, verdict: { once: "kept" }, place, tree, step: 20, can_undo: place > 0 },
		journey = new SharedJourney({ values, part: "", codes: tree.map((_, i) => `K${i}`) }),
		heard: unknown[] = [],
		files = Object.fromEntries(Object.keys(futures).map((key) => [key, key]));
	journey.on("msg:custom", (message) => heard.push(message));
	journey.foretold = new Foretold(journey, files, async (key) => futures[key] as never);
	const press = (action: string, target = "", step = 20) =>
		journey.foretold?.answer({ kind: "press", action, target, step });
	return { journey, heard, press };
}
const shown = ({ values }: SharedJourney) => [
	values.payload,
	values.place,
	values.step,
	values.can_undo,
	values.can_redo,
];

test("a press shows the stored run; undo and redo go between the runs", async () => {
	const stored = { "drop A#1": future("dropped", { step: 9, row: { at: 8, landed: 9, label: "Drop" } }) },
		{ journey, heard, press } = journeyOf(0, [fork(0, -1)], stored);
	assert.ok(await press("drop", "A#1"));
	assert.deepEqual(shown(journey), ["dropped", 1, 9, true, false]);
	assert.deepEqual(journey.codes, ["K0", "dropped"]);
	assert.deepEqual(journey.get("verdict"), { place: 1 });
	assert.ok(!(await press("drop", "A#1")), "a second press is Python's");
	assert.ok(await press("undo", "", 12));
	assert.deepEqual(shown(journey), [before, 0, 8, false, true]);
	assert.deepEqual(journey.get("verdict"), { once: "kept", place: 0 });
	assert.ok(await press("redo", "", 8));
	assert.deepEqual(shown(journey), ["dropped", 1, 9, true, false]);
	assert.deepEqual(heard, [{ kind: "done" }, { kind: "done" }, { kind: "done" }]);
	assert.ok(!(await press("redo")));
	assert.ok(!(await press("toString", "b1")));
});

test("a recorded run goes back to the run that it was made of", async () => {
	const tree = [fork(0, -1), fork(1, 0, 5, 6), fork(2, 0, 7, 8)],
		{ journey, press } = journeyOf(1, tree, { "run 0": future("first") });
	assert.ok(await press("undo"));
	assert.deepEqual(shown(journey), ["first", 0, 5, false, true]);
	assert.ok(await press("redo"));
	assert.deepEqual(shown(journey), [before, 1, 6, true, false]);
	assert.ok(!(await press("goto", "2")), "the page does not have this run");
});

test("Share tells the run that is shown, also one that comes later", async () => {
	const stored = { "drop A#1": future("dropped", { step: 9, row: {} }) },
		{ journey, press } = journeyOf(0, [fork(0, -1)], stored),
		share = () => new RunModel({ part: "share", values: { shared: { code: "K0", place: 0 } } }),
		one = share(),
		late = share();
	journey.views.push(one);
	await press("drop", "A#1");
	journey.foretold?.tell(late);
	for (const model of [one, late]) assert.deepEqual(model.get("shared"), { code: "dropped", place: 1 });
	await press("undo");
	assert.deepEqual(one.get("shared"), { code: "K0", place: 0 });
});
