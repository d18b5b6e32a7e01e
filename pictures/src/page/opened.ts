// The element <kafka-opened> shows the run that the address of its page names.
//
// The address ends with "#run=K1-…", "#challenge=C1-…" or "#lab=lab03", and "&at=EndTxn%231" or "&step=54". Python
// makes the run in the page; the pictures are those of the articles.

import "./opened.css";
import { loadPython } from "./asking";
import { type JourneyView, type Message, RunModel, SharedJourney } from "./run_model";

const PICTURES = {
		log_tape: "Logs",
		state_chart: "States",
		cluster_map: "Cluster",
		client_view: "Client",
		cost_meter: "Costs",
	},
	FORM = `<form class="open"><label>A code
<input name="code" spellcheck="false" autocomplete="off" placeholder="K1-… or C1-…"></label>
<button>Open</button></form><p class="told" role="status"></p><section class="challenge" hidden>
<h2>Your challenge</h2><pre></pre><form><label>Your name <input name="name" maxlength="60" autocomplete="name"></label>
<button>Hand in</button></form>
<output></output></section><div class="pictures"></div><p class="more" hidden>Also show: </p>`;

interface Picture extends HTMLElement {
	given: { model: RunModel; journey: JourneyView };
	open(): Promise<void>;
}

// What a code is named in an address.
const addressOf = (code: string) => `${/^\s*C1/i.test(code) ? "challenge" : "run"}=${code.trim()}`;

// What Python says when it has made a model; why it has not as an error.
function made(model: RunModel): Promise<Message> {
	return new Promise((done, failed) => {
		const hear = (message: Message) => {
			if (!/^(opened|error)$/.test(message.kind)) return;
			model.off("msg:custom", hear as never);
			if (message.kind === "opened") done(message);
			else failed(new Error(String(message.text)));
		};
		model.on("msg:custom", hear as never);
	});
}

class KafkaOpened extends HTMLElement {
	private journey: SharedJourney | undefined;

	connectedCallback() {
		this.innerHTML = FORM;
		const [open, answer] = this.querySelectorAll("form");
		open?.addEventListener("submit", (event) => {
			event.preventDefault();
			location.hash = addressOf(String(new FormData(open).get("code")));
		});
		answer?.addEventListener("submit", (event) => {
			event.preventDefault();
			this.handIn(String(new FormData(answer).get("name")));
		});
		for (const [part, name] of Object.entries(PICTURES)) {
			const button = document.createElement("button");
			Object.assign(button, { textContent: name, onclick: () => this.tried(() => this.show(part)) });
			this.$(".more").append(button, " ");
		}
		addEventListener("hashchange", () => this.tried(() => this.open()));
		this.tried(() => this.open());
	}
	private $(selector: string) {
		return this.querySelector(selector) as HTMLElement;
	}
	private async tried(action: () => Promise<void>) {
		this.say("");
		try {
			await action();
		} catch (error) {
			this.say((error as Error).message);
		}
	}
	private say(text: string) {
		this.$(".told").textContent = text;
	}

	private async open() {
		const address = location.hash.slice(1);
		if (!address.includes("=")) return;
		const journey = new SharedJourney({ values: {}, part: "" }),
			opened = made(journey),
			{ openAddress } = await loadPython();
		openAddress(journey, address);
		const { challenge } = await opened;
		this.journey = journey;
		this.$(".pictures").replaceChildren();
		this.$(".challenge").hidden = !challenge;
		this.$(".challenge pre").textContent = String(challenge);
		this.$(".challenge output").textContent = "";
		journey.on("msg:custom", (message) => this.takeAnswer(message as Message));
		await this.show("sequence");
		await this.show("share");
		this.$(".more").hidden = false;
	}
	private async show(part: string) {
		const { journey } = this;
		if (!journey) return;
		const view = journey.viewOf(journey.values),
			model = new RunModel({ values: {}, part }, new Map([[journey.id, view]])),
			ready = made(model),
			picture = document.createElement("kafka-run") as Picture;
		model.journey = journey;
		journey.views.push(model);
		(await loadPython()).open(model);
		await ready;
		picture.given = { model, journey: view };
		picture.setAttribute("part", part);
		this.$(".pictures").append(picture);
		await picture.open();
	}

	private async handIn(name: string) {
		const { answerChallenge } = await loadPython(),
			code = new URLSearchParams(location.hash.slice(1)).get("challenge") ?? "";
		if (this.journey) answerChallenge(this.journey, code, name);
	}
	private takeAnswer({ kind, right, text }: Message) {
		if (kind !== "answered") return;
		const output = this.$(".challenge output");
		output.textContent = String(text);
		output.className = right ? "right" : "wrong";
	}
}

export const defineOpened = () => customElements.define("kafka-opened", KafkaOpened);
