// The form of an exercise: what is said to an answer is what was sealed under its parts. The seals are Python's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Form, judge, partsOf } from "../src/page/judging";
import { openText } from "../src/page/seals";
import sealed from "./sealed_form.json";

const { texts, order, ...form } = sealed,
	inOrder: Form = { ...form, rows: undefined, names: order };

test("each part of an answer opens its own text, and nothing else does", async () => {
	for (const [part, text] of Object.entries(texts))
		assert.deepEqual(await openText(form, JSON.parse(part)), JSON.parse(text));
	assert.equal(await openText(form, [0, "once"]), undefined);
	assert.equal(await openText({ ...form, salt: "another" }, [0, "twice"]), undefined);
});

test("the right answer says why; a wrong one what is said to its first wrong row", async () => {
	assert.deepEqual(await judge(form, ["once", "zwölf"]), {
		says: "<p>✓ 2 of 2 rows</p>",
		more: "",
		run: "",
		count: "",
		right: true,
	});
	const { count, place, says } = await judge(form, ["once", "once"]);
	assert.deepEqual([count, place, says], ["1 of 2 are right.", 1, "<p>Row 2, once</p>"]);
	assert.equal((await judge(form, ["twice", "once"])).says, "<p>Row 1, twice</p>");
});

test("a blank row is not right, and comes in its place", async () => {
	const { count, place, says } = await judge(form, ["once", ""]);
	assert.deepEqual([count, place, says], ["1 of 2 are right.", 1, "<p>Row 2 is still blank.</p>"]);
	assert.equal((await judge(form, ["twice", ""])).place, 0);
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
