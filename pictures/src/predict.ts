// A question before a walk: choices, a number or a word, which the card keeps; after it what is true, why, the score.

import "./predict.css";
import { html, live } from "./lit";
import { type Keys, Panel, type PanelValues, shows } from "./panel";

interface Values extends PanelValues {
	question: string;
	choices: Record<string, string>;
	kind: "text" | "number";
	given: string;
	verdict: string;
	truth: string;
	because: string;
	score_text: string;
	now: string;
}

class Predict extends Panel<Values> {
	readonly name = "predict";
	readonly title = "Predict";
	override readonly traits = "question choices given verdict truth because score_text now".split(" ") as Array<
		keyof Values
	>;
	override readonly keys: Keys = {
		"!": "tell",
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
		return html`<p class="asked">${this.get("question")}</p>
			<div class="choices" role="group" aria-label="Your prediction">${
				choices.length ? choices.map(([key, text]) => this.choice(key, text)) : this.typing()
			}</div>
			<div class="line" ?hidden=${told}>${this.tool("tell", "What happened?")}</div>
			<div class="after" ?hidden=${!told}><p class="because">${this.get("because")}</p>
			${this.tool("again", "ask me again")}</div>`;
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
		if (/choose|answer|tell|again/.test(action)) this.model.send({ kind: "press", action, target });
		return true;
	}
	private readonly enter = ({ key }: KeyboardEvent) => key === "Enter" && this.do("answer");

	help() {
		return html`<p><small>a b c</small>Choose the answer of this letter</p>
			<p><small>!</small>What happened?</p>
			<p>The card keeps your answer while you walk. The score counts what it tells first.</p>`;
	}
}

export default shows(Predict);
