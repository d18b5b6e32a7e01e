// A question before a walk: choices, a number or a word, which the card keeps; after it what is true, why, the score.

import "./predict.css";
import { openPanel, tool } from "./panel";
import { esc, sync } from "./run";

function drawPredict(p) {
	const get = (name) => p.model.get(name),
		verdict = get("verdict"),
		told = !!verdict,
		truth = get("truth"),
		given = get("given");
	p.root.dataset.verdict = verdict;
	p.$(".where").textContent = get("score_text");
	p.$(".asked").textContent = get("question");
	const choices = Object.entries(get("choices"));
	const sign = (key) => (key === truth ? "✓" : key !== given ? "" : told ? "✕" : "•");
	const kind = (key) =>
		!told ? (key === given ? " kept" : "") : key === truth ? " true" : key === given ? " false" : " other";
	const items = choices.map(([key, text]) => [
		key,
		`<div class="choice${kind(key)}">` +
			tool(
				"choose",
				`<b>${esc(key)}</b><span>${esc(text)}` + `</span><i>${sign(key)}</i>`,
				key,
				` aria-label="${esc(key)}: ${esc(text)}"` + ` aria-pressed="${key === given}"`,
			) +
			`</div>`,
	]);
	if (!choices.length)
		items.push([
			"typed",
			`<div class="typing"><input type="text" class="typed"` +
				` inputmode="${get("kind") === "number" ? "decimal" : "text"}" aria-label="Your prediction"` +
				` placeholder="${get("kind") === "number" ? "a number" : "a word"}"` +
				` value="${esc(given)}"${told ? " readonly" : ""}>${tool("answer", "predict")}</div>`,
		]);
	sync(p.$(".choices"), items);
	p.$(".after").hidden = !told;
	p.$('[data-action="tell"]').hidden = told;
	if (p.$(".now").textContent !== get("now")) p.say(get("now"), verdict || "said");
	p.$(".because").textContent = get("because");
}

function whyPredict(p, action) {
	const told = p.model.get("verdict");
	if (/choose|answer/.test(action) && told) return "this card is told already; press again to be asked once more";
	return action === "tell" && !p.model.get("given") ? "answer first; then the card tells" : "";
}

function actPredict(p, action, target) {
	if (action === "answer") target = p.$(".typed").value;
	if (/choose|answer|tell|again/.test(action)) p.model.send({ kind: "press", action, target: target ?? "" });
	return true;
}

async function openPredict(model, el) {
	let p;
	const letters = Object.keys(model.get("choices")).map((key) => [key.toLowerCase(), ["choose", key]]);
	const keys = { "!": "tell", ...Object.fromEntries(letters) };
	const close = await openPanel(model, el, {
		name: "predict",
		title: "Predict",
		draw: drawPredict,
		act: actPredict,
		why: whyPredict,
		keys,
		load: (panel) => (p ??= panel),
		traits: ["question", "choices", "given", "verdict", "truth", "because", "score_text", "now"],
		body:
			`<p class="asked"></p><div class="choices" role="group" aria-label="Your prediction"></div>` +
			`<div class="line">${tool("tell", "What happened?")}</div>` +
			`<div class="after" hidden><p class="because"></p>${tool("again", "ask me again")}</div>`,
		help:
			"<p><small>a b c</small>Choose the answer of this letter</p>" +
			"<p><small>!</small>What happened?</p>" +
			"<p>The card keeps your answer while you walk. The score counts what it tells first.</p>",
	});
	const told = (message) => message.kind === "error" && p.say(message.text, "said wrong");
	model.on("msg:custom", told);
	p.root.addEventListener(
		"keydown",
		({ key, target }) =>
			key === "Enter" && target.matches(".typed") && p.act("answer", "", p.$('[data-action="answer"]')),
	);
	return () => {
		model.off("msg:custom", told);
		close();
	};
}

export default { render: ({ model, el }) => openPredict(model, el) };
