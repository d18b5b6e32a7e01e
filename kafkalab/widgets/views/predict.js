// A question before the step: choices, a number or a word; then what is true, why, and the score.

function drawPredict(p) {
	const get = (name) => p.model.get(name),
		verdict = get("verdict"),
		answered = !!verdict,
		truth = get("truth"),
		given = get("given");
	p.root.dataset.verdict = verdict;
	p.$(".where").textContent = get("score_text");
	p.$(".asked").textContent = get("question");
	const choices = Object.entries(get("choices"));
	const sign = (key) => (!answered ? "" : key === truth ? "✓" : key === given ? "✕" : "");
	const kind = (key) => (!answered ? "" : key === truth ? " true" : key === given ? " false" : " other");
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
				` value="${esc(given)}"${answered ? " readonly" : ""}>${tool("answer", "predict")}</div>`,
		]);
	sync(p.$(".choices"), items);
	p.$(".after").hidden = !answered;
	const told = answered ? `Your answer, ${given}, is ${verdict}.${verdict === "wrong" ? ` It is ${truth}.` : ""}` : "";
	if (p.verdict !== verdict || !answered)
		p.say(answered ? told : "What do you think? The step is shown afterwards.", answered ? verdict : "said");
	p.verdict = verdict;
	p.$(".because").textContent = get("because");
}

function whyPredict(p, action) {
	if (/choose|answer/.test(action) && p.model.get("verdict"))
		return "this card is answered already; press again to be asked once more";
	return "";
}

function actPredict(p, action, target) {
	if (action === "answer") target = p.$(".typed").value;
	if (/choose|answer|again/.test(action)) p.model.send({ kind: "press", action, target: target ?? "" });
	return true;
}

async function openPredict(model, el) {
	let p;
	const keys = Object.fromEntries(Object.keys(model.get("choices")).map((key) => [key.toLowerCase(), ["choose", key]]));
	const close = await openPanel(model, el, {
		name: "predict",
		title: "Predict",
		draw: drawPredict,
		act: actPredict,
		why: whyPredict,
		keys,
		load: (panel) => (p ??= panel),
		traits: ["question", "choices", "given", "verdict", "truth", "because", "score_text"],
		body:
			`<p class="asked"></p><div class="choices" role="group" aria-label="Your prediction"></div>` +
			`<div class="after" hidden><p class="because"></p>${tool("again", "ask me again")}</div>`,
		help:
			"<p><small>a b c</small>Choose the answer of this letter</p>" +
			"<p>Your first answer counts. " +
			"The reason is shown with it, and the pictures go to the step.</p>",
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
