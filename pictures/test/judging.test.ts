// The form of an exercise: what is said to an answer is what was sealed under its parts. The seals are Python's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { diagnose, type Form, judge, partsOf } from "../src/page/judging";
import { openText } from "../src/page/seals";
import diagnoses from "./diagnoses.json";
import sealed from "./sealed_form.json";

const { texts, order, ...form } = sealed,
	inOrder: Form = { ...form, rows: undefined, names: order };

test("each part of an answer opens its own text, and nothing else does", async () => {
	for (const [part, text] of Object.entries(texts))
		assert.deepEqual(await openText(form, JSON.parse(part)), JSON.parse(text));
	assert.equal(await openText(form, [0, "thrice"]), undefined);
	assert.equal(await openText({ ...form, salt: "another" }, [0, "twice"]), undefined);
});

test("the right answer says why; a wrong one names the belief that its rows fit", async () => {
	assert.deepEqual(await judge(form, ["once", "zwölf"]), {
		says: "<p>✓ 2 of 2 rows</p>",
		more: "",
		run: "",
		count: "",
		right: true,
	});
	const { count, place, says, more, invalid } = await judge(form, ["twice", "once"]);
	assert.deepEqual([count, place, more, invalid], ["0 of 2 rows are right.", 0, "<p>hint</p>", true]);
	assert.equal(
		says,
		"<p>One of your rows fits one belief: each order comes <code>twice</code>.</p><p>Refuted by row 1, twice</p>",
	);
});

test("where no belief fits, nothing says which rows are wrong", async () => {
	const { count, says, more, invalid } = await judge(form, ["once", "once"]);
	assert.deepEqual([count, more, invalid], ["1 of 2 rows are right.", "", undefined]);
	assert.match(String(says), /^<p>No single belief explains the others\.<\/p><p>Look at row [12]<\/p>$/);
});

test("a form with a blank row is not judged", async () => {
	const blank = {
		count: "",
		place: 1,
		invalid: true,
		says: "<p>Still blank: row 2. Give a value for each row first.</p>",
	};
	assert.deepEqual(await judge(form, ["once", ""]), blank);
	assert.deepEqual(await judge(form, ["twice", ""]), blank);
});

test("the page finds the same beliefs as Python", () => {
	for (const { rows, given, ...found } of diagnoses) assert.deepEqual(diagnose(rows, given), found);
});

test("of an order each pair of neighbours is a part", async () => {
	assert.deepEqual(partsOf(inOrder, ["a", "b", "c"]), [
		["a", "b"],
		["b", "c"],
	]);
	const { count, place, says } = await judge(inOrder, ["a", "c", "b"]);
	assert.deepEqual([count, place, says], ["1 of 2 neighbouring pairs are in order.", 1, "<p>c before b</p>"]);
	assert.equal((await judge(inOrder, ["a", "b", "c"])).right, true);
});
