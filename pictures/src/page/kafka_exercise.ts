// <kafka-exercise name="L0.E3" src="…">: the form of an exercise that is answered in the page, without Python.
//
// Until it comes near the screen it holds a plain list of what is asked. What is said to an answer is sealed under it.

import "./kafka_exercise.css";
import { html, live, nothing, render, repeat, unsafeHTML } from "../lit";
import { type Form, judge, type Verdict } from "./judging";
import { watchNear } from "./near";

const KEPT = "kafkalab exercise ";

// The answer that solved an exercise, for as long as this browser keeps it; where it keeps nothing, nothing is shown.
const kept = {
	read(name: string): string[] | undefined {
		try {
			return JSON.parse(localStorage.getItem(KEPT + name) ?? "null") ?? undefined;
		} catch {
			return undefined;
		}
	},
	write(name: string, given: string[]) {
		try {
			localStorage.setItem(KEPT + name, JSON.stringify(given));
		} catch {
			// it is not kept
		}
	},
};

class KafkaExercise extends HTMLElement {
	private form: Form | undefined;
	private given: string[] = [];
	private verdict: Verdict | undefined;
	private solved = false;
	private moved = "";
	private near: IntersectionObserver | undefined;

	connectedCallback() {
		this.near = watchNear(this, () => this.open());
	}
	disconnectedCallback() {
		this.near?.disconnect();
	}
	private get name() {
		return this.getAttribute("name") ?? "";
	}

	private async open() {
		this.near?.disconnect();
		try {
			const response = await fetch(new URL(this.getAttribute("src") ?? "", document.baseURI));
			if (!response.ok) throw new Error(String(response.status));
			this.form = (await response.json()) as Form;
		} catch (error) {
			const said = document.createElement("p");
			said.textContent = `The form is not there (${(error as Error).message}). Load the page again.`;
			return this.append(said);
		}
		this.given = this.form.names ?? (this.form.rows ?? []).map(() => "");
		this.replaceChildren();
		this.draw();
		const before = kept.read(this.name);
		if (before?.length === this.given.length) {
			this.given = before;
			await this.check();
		}
	}

	private readonly check = async (event?: Event) => {
		event?.preventDefault();
		const given = this.given,
			verdict = await judge(this.form as Form, given);
		if (given !== this.given) return; // changed meanwhile
		this.verdict = verdict;
		if (verdict.right) {
			this.solved = true;
			kept.write(this.name, given);
		}
		this.draw();
	};
	private put(place: number, word: string) {
		this.given = this.given.with(place, word);
		this.verdict = undefined;
		this.moved = "";
		this.draw();
	}
	// The button that moves a name keeps the focus; at an end of the list the other one takes it.
	private move(place: number, to: number) {
		const name = this.given[place] as string;
		this.given = this.given.toSpliced(place, 1).toSpliced(to, 0, name);
		this.verdict = undefined;
		this.moved = `${name} is number ${to + 1} of ${this.given.length}.`;
		this.draw();
		const buttons = [...(this.querySelectorAll("li")[to]?.querySelectorAll("button") ?? [])];
		if (to > place) buttons.reverse();
		buttons.find((button) => !button.disabled)?.focus();
	}

	private draw() {
		const { verdict } = this;
		render(
			html`<form @submit=${this.check} aria-label="Exercise ${this.name}">
				<ol>${this.form?.rows ? this.rows(this.form.rows) : this.names()}</ol>
				<p class="line"><button type="submit" class="check">Check</button>${
					this.solved ? html`<span class="solved">✓ solved</span>` : nothing
				}</p>
				<div class="said ${verdict?.right ? "right" : "wrong"}" role="status" ?hidden=${!verdict}>${
					verdict && this.told(verdict)
				}</div>
				<div class="moved" role="status">${this.moved}</div>
			</form>${verdict?.run ? html`<div class="run">${unsafeHTML(verdict.run)}</div>` : nothing}`,
			this,
		);
	}
	private rows(rows: NonNullable<Form["rows"]>) {
		return rows.map(({ says, words }, place) => {
			const given = this.given[place] as string,
				here = this.verdict?.place === place,
				wrong = here && !!this.verdict?.invalid;
			return html`<li class=${here ? "first" : ""}><label><span>${says}</span><select .value=${live(given)}
				aria-invalid=${wrong} @change=${({ target }: Event) => this.put(place, (target as HTMLSelectElement).value)}>
				<option value="">…</option>${words.map((word) => html`<option ?selected=${word === given}>${word}</option>`)}
				</select></label></li>`;
		});
	}
	private names() {
		return repeat(
			this.given,
			(name) => name,
			(name, at) => this.item(name, at),
		);
	}
	private item(name: string, at: number) {
		const place = this.verdict?.place ?? -2,
			button = (way: string, sign: string, to: number) =>
				html`<button type="button" aria-label="Move ${name} ${way}" ?disabled=${!(to in this.given)}
				@click=${() => this.move(at, to)}>${sign}</button>`;
		return html`<li class=${at === place || at === place + 1 ? "first" : ""}><div class="item"><span>${name}</span>
			${button("up", "↑", at - 1)}${button("down", "↓", at + 1)}</div></li>`;
	}
	private told({ count, says = "", more, right }: Verdict) {
		const text = more ? unsafeHTML(more) : nothing;
		return html`${count && html`<p><strong>${count}</strong></p>`}${unsafeHTML(says)}${
			!more || right ? text : html`<details><summary>A hint for this answer</summary>${text}</details>`
		}`;
	}
}

customElements.define("kafka-exercise", KafkaExercise);
