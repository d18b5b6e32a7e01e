// Tests of what an article adds to the pictures, as far as it needs no browser.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { nameOf } from "../src/basics";
import { formatAddress, parseAddress } from "../src/page/address";
import { openSeal, sha256 } from "../src/page/open_seal";
import { isRight, playCard, scoreOf } from "../src/page/predict_card";
import { RunModel, SharedJourney } from "../src/page/run_model";

// Predict.seal(["b1", "B 1"], "Because “it” was first, and " * 3)
const SEALED = "sealed-1:pc8p1NdNy1rcQ2DIzNjuyf62uSbk8zMV4rC3ODqdocKaj00plpqABhS6mKT6oG6fZ6dRB2s35ZhK9xxSY_d4";
// Predict.seal("Because it is.", "", ["It says why."])
const WITH_CRITERIA = "sealed-1:O-gNnugaNoaIGtMglzHJjgLzp9XVSYvXoH4EMPv5sbnfuM6g4IXHWMRdHgDcXpuV0SI=";

test("a seal of Python opens, and a changed one does not", async () => {
	assert.deepEqual(await openSeal(SEALED), [["b1", "B 1"], "Because “it” was first, and ".repeat(3)]);
	await assert.rejects(openSeal(SEALED.replace("aj00", "aj01")), /broken/);
});

test("a seal opens its criteria, too", async () => {
	assert.deepEqual(await openSeal(WITH_CRITERIA), ["Because it is.", "", ["It says why."]]);
});

test("SHA-256 is that of Node for texts around the length of a block", () => {
	for (const length of [0, 1, 55, 56, 63, 64, 119, 120, 1000]) {
		const data = new Uint8Array(length).fill(length);
		assert.equal(Buffer.from(sha256(data)).toString("hex"), createHash("sha256").update(data).digest("hex"));
	}
});

test("an answer is right as in Python: a number by its value, a text without its capitals", () => {
	assert.ok(isRight("1 000", 1000));
	assert.ok(!isRight("", 0));
	assert.ok(isRight("B1", ["b1", "b 1"]));
	assert.ok(!isRight("b2", ["b1"]));
});

test("the score counts the first answers", () => {
	assert.equal(scoreOf([{ first: true }, { first: false }, {}], 4), "1 of 4 right, 2 still open");
	assert.equal(scoreOf([{ first: true }], 1), "1 of 1 right");
});

test("a sentence is compared in the page, ticked, and counted by no score", async () => {
	const values = {
			kind: "sentence",
			given: "",
			verdict: "",
			truth: "",
			criteria: [],
			ticked: [],
			now: "",
			score_text: "",
		},
		model = new RunModel({ part: "predict", values }),
		card = { sealed: WITH_CRITERIA, asked: "asked", kept: "", right: "", wrong: "", compare: "compare" },
		said: unknown[] = [],
		press = async (action: string, target = "") => {
			model.send({ kind: "press", action, target });
			await new Promise((done) => setTimeout(done, 30));
		};
	Object.assign(globalThis, { document: { querySelectorAll: () => [] } });
	model.on("msg:custom", (message) => said.push(message.text));
	await playCard("one", model, card);
	await press("answer", "too short");
	assert.deepEqual([said, model.get("truth")], [["Write a whole sentence first."], ""]);
	await press("answer", "it is as it is");
	assert.deepEqual(
		["verdict", "truth", "now"].map((name) => model.get(name)),
		["compared", "Because it is.", "compare"],
	);
	await press("tick", "0");
	assert.deepEqual([model.get("criteria"), model.get("ticked"), model.get("score_text")], [["It says why."], [0], ""]);
	const again = new RunModel({ part: "predict", values: { ...values } });
	await playCard("one", again, card); // the page is loaded again
	assert.deepEqual([again.get("given"), again.get("ticked")], ["it is as it is", [0]]);
	await press("again");
	assert.deepEqual([model.get("criteria"), model.get("ticked"), model.get("now")], [[], [], "asked"]);
});

test("an address names a picture and a place; a link to a frame is none", () => {
	for (const place of ["EndTxn#1", "chapter:decision", "54"]) {
		assert.deepEqual(parseAddress(formatAddress({ picture: "walk", place })), { picture: "walk", place });
	}
	assert.equal(formatAddress({ picture: "walk", place: "EndTxn#1" }), "#walk@EndTxn%231");
	assert.deepEqual(parseAddress("#walk"), { picture: "walk", place: "" });
	assert.equal(parseAddress("#EndTxn#1"), undefined);
	assert.equal(parseAddress("#%"), undefined);
});

test("each view of a journey has its own step until one is moved; then all follow", () => {
	const journey = new SharedJourney({ part: "", values: { step: 3, groups: ["transaction"], size: "" } }),
		first = journey.viewOf({ step: 3, groups: ["transaction"] }),
		second = journey.viewOf({ step: 9, groups: ["transaction", "metadata"] }),
		told: Record<string, unknown[]> = {};
	for (const name of ["step", "groups", "size"])
		second.on(`change:${name}`, () => {
			(told[name] ??= []).push(second.get(name));
		});
	assert.deepEqual([first.get("step"), second.get("step")], [3, 9]);
	second.set("size", "projector");
	first.send({ kind: "check" });
	assert.deepEqual([first.get("step"), second.get("step"), first.get("size")], [3, 9, "projector"]);
	first.set("step", 4);
	assert.deepEqual([second.get("step"), second.get("groups")], [4, ["transaction"]]);
	second.set("step", 5);
	assert.equal(first.get("step"), 5);
	assert.equal(journey.viewOf({ step: 1, groups: [] }).get("step"), 5);
	assert.deepEqual(told, { size: ["projector"], step: [4, 5], groups: [["transaction"]] });
});

test("a press moves the others to the step at which it is made", () => {
	const journey = new SharedJourney({ part: "", values: { step: 3 } }),
		first = journey.viewOf({ step: 3 }),
		second = journey.viewOf({ step: 9 });
	second.send({ kind: "press" });
	assert.equal(first.get("step"), 9);
});

test("a button's name has the words that it shows, and no sign is added to a name", () => {
	assert.equal(nameOf("×2 Duplicate", "Duplicate the frame (u)"), "×2 Duplicate: Duplicate the frame (u)");
	assert.equal(nameOf("chapters", "List of chapters (c)"), "List of chapters (c)");
	assert.equal(nameOf("▸|", "Last step (End)"), "Last step (End)");
});
