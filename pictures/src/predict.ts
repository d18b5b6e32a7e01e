// A question before a walk: choices, a number or a word, which the card keeps; after it what is true, why, the score.
//
// Or a question to answer in a sentence: after it a model answer, and criteria to tick.

import "./predict.css";
import { html, live } from "./lit";
import { type Keys, Panel, type PanelValues, shows } from "./panel";

interface Values extends PanelValues {
	question: string;
	choices: Record<string, string>;
	kind: "choice" | "text" | "number" | "sentence";
	given: string;
	verdict: string;
	truth: string;
	because: string;
	score_text: string;
	criteria: string[];
	ticked: number[];
	now: string;
}

class Predict extends Panel<Values> {
	readonly name = "predict";
	readonly isSentence = this.get("kind") === "sentence";
	readonly title = this.isSentence ? "In one sentence" : "Predict";
	override readonly traits = "question choices given verdict truth because score_text criteria ticked now".split(
		" ",
	) as Array<keyof Values>;
	override readonly keys: Keys = {
		"!": this.isSentence ? "answer" : "tell",
		...Object.fromEntries(Object.keys(this.get("choices")).map((key) => [key.toLowerCase(), ["choose", key]])),
	};

	override change() {
		const verdict = this.get("verdict"),
			now = this.get("now");
		this.root.dataset.verdict = verdict;
		if (this.$(".now").textContent !== now) this.say(now, verdict || "said");
	}
	override where() {
		return this.get("score_text");
	}

	inside() {
		const told = !!this.get("verdict"),
			choices = Object.entries(this.get("choices"));
		if (this.isSentence) return this.sentence(told);
		return html`<p class="asked">${this.get("question")}</p>
			<div class="choices" role="group" aria-label="Your prediction">${
				choices.length ? choices.map(([key, text]) => this.choice(key, text)) : this.typing()
			}</div>
			<div class="line" ?hidden=${told}>${this.tool("tell", "What happened?")}</div>
			<div class="after" ?hidden=${!told}><p class="because">${this.get("because")}</p>
			${this.tool("again", "ask me again")}</div>`;
	}
	private sentence(told: boolean) {
		const ticked = this.get("ticked");
		return html`<p class="asked">${this.get("question")}</p>
			<div class="typing sentence"><textarea class="typed" rows="2" aria-label="Your sentence"
				placeholder="your sentence" .value=${live(this.get("given"))} ?readonly=${told}
				@keydown=${this.enter}></textarea></div>
			<div class="line" ?hidden=${told}>${this.tool("answer", "Compare with a model answer")}</div>
			<div class="after" ?hidden=${!told}><p class="model"><b>A model answer:</b> ${this.get("truth")}</p>
			<div class="criteria" role="group" aria-label="What your sentence says, too">${this.get("criteria").map(
				(text, at) =>
					html`<div>${this.tool("tick", html`<i>${ticked.includes(at) ? "☑" : "☐"}</i> ${text}`, {
						target: at,
						pressed: ticked.includes(at),
					})}</div>`,
			)}</div><p class="because">${this.get("because")}</p>${this.tool("again", "ask me again")}</div>`;
	}
	private choice(key: string, text: string) {
		const given = key === this.get("given"),
			right = key === this.get("truth"),
			[kind, sign] = !this.get("verdict")
				? given
					? ["kept", "•"]
					: ["", ""]
				: right
					? ["true", "✓"]
					: given
						? ["false", "✕"]
						: ["other", ""];
		return html`<div class="choice ${kind}">${this.tool(
			"choose",
			html`<b>${key}</b> <span>${text}</span> <i>${sign}</i>`,
			{ target: key, pressed: given },
		)}</div>`;
	}
	private typing() {
		const number = this.get("kind") === "number";
		return html`<div class="typing"><input type="text" class="typed" inputmode=${number ? "decimal" : "text"}
			aria-label="Your prediction" placeholder=${number ? "a number" : "a word"} .value=${live(this.get("given"))}
			?readonly=${!!this.get("verdict")} @keydown=${this.enter}>${this.tool("answer", "predict")}</div>`;
	}

	override why(action: string) {
		if (/choose|answer/.test(action) && this.get("verdict"))
			return "this card is told already; press again to be asked once more";
		return action === "tell" && !this.get("given") ? "answer first; then the card tells" : "";
	}
	override act(action: string, target: string) {
		if (action === "answer") target = this.$<HTMLInputElement>(".typed").value;
		if (/choose|answer|tell|again|tick/.test(action)) this.model.send({ kind: "press", action, target });
		return true;
	}
	private readonly enter = (event: KeyboardEvent) => {
		if (event.key !== "Enter" || event.shiftKey) return;
		event.preventDefault(); // no line break in a sentence
		this.do("answer");
	};

	help() {
		if (this.isSentence)
			return html`<p><small>Enter</small>Compare what you have written with a model answer</p>
			<p>Then tick what your sentence says, too. It earns no points.</p>`;
		return html`<p><small>a b c</small>Choose the answer of this letter</p>
			<p><small>!</small>What happened?</p>
			<p>The card keeps your answer while you walk. The score counts what it tells first.</p>`;
	}
}

export default shows(Predict);
