// What an application knows at the cursor, and nothing else, until it is revealed: the same as client_view.py tells.

import "./client_view.css";
import { keyName, upTo } from "./basics";
import { html, nothing, repeat } from "./lit";
import { JourneyPanel, type PanelValues, shows } from "./panel";
import type { RunEvent } from "./payload";
import { eventSign } from "./signs";
import { isMove, targetOf } from "./stepper";
import { everyStop } from "./walk";

interface Values extends PanelValues {
	node: string;
	revealed: boolean;
}

const AT_ONCE = new Set(["begin_transaction"]),
	LINES = 200;
const BUTTONS: Record<string, [string, string, string]> = {
	home: ["|◂", "First moment", "Home"],
	left: ["◂", "Moment before", "ArrowLeft"],
	right: ["▸", "Next moment", "ArrowRight"],
	end: ["▸|", "Last moment", "End"],
	reveal: ["reveal", "Show what it cannot know, or hide it again", "r"],
	help: ["?", "Help", "?"],
};

// A call goes out, an answer comes in; what a poll returned comes in too.
function callSign({ kind }: RunEvent) {
	const out = kind === "invoke";
	return html`<svg class="way ${out ? "request" : "response"}" viewBox="0 0 36 13" aria-hidden="true">
		<path class="line" d="M2,6.5H33" /><path class="head" d=${out ? "M26,2L34,6.5L26,11Z" : "M9,2L1,6.5L9,11"} /></svg>`;
}

// Whether a call is under way after it: it waits, and only its clock goes on.
const waits = (said?: RunEvent) => said?.kind === "invoke" && !AT_ONCE.has(said.name);

const outcomeOf = ({ text }: RunEvent) =>
	/ fails with | ends with /.test(text) ? "failed" : / times out/.test(text) ? "open" : "";

class ClientView extends JourneyPanel<Values> {
	readonly name = "client-view";
	override readonly traits = ["node", "revealed"] as const;
	override readonly keys = { r: "reveal" };
	private stops: number[] = [];
	private moments: number[] = [];

	get title() {
		return `What ${this.get("node")} knows`;
	}

	override draw() {
		super.draw();
		this.$("ol").scrollTop = 1e6;
	}
	override change() {
		const now = this.present();
		this.root.dataset.revealed = String(this.get("revealed"));
		if (this.$(".now").textContent !== now) this.say(now, "");
	}
	protected override take() {
		super.take();
		this.stops = everyStop(this.run, this.journey);
		this.moments = this.run.events.filter((event) => this.isMoment(event)).map((event) => event.step);
	}
	private isMoment({ node, kind }: RunEvent) {
		return node === this.get("node") && /invoke|complete/.test(kind);
	}
	// The application's last moment up to a step.
	private callAt(step: number) {
		const { moments } = this;
		return this.run.events[moments[upTo(moments.length, (i) => (moments[i] ?? 0) <= step)] ?? -1];
	}
	private present() {
		const shown = this.run.events[this.step],
			said = this.callAt(this.step),
			node = this.get("node");
		if (!shown || shown.name === "recording stopped") return shown?.text ?? "";
		if (this.run.at(this.step).node[node] === "down") return `${node} is gone: it knows nothing any more.`;
		if (!said || !waits(said)) return `No transactional call of ${node} is under way.`;
		return `${node} waits in ${said.name}() for ${shown.at - said.at} ms, and cannot know what happens meanwhile.`;
	}

	protected override shell() {
		const node = this.get("node"),
			revealed = this.get("revealed"),
			at = this.run.events[this.step]?.at;
		return html`<div class="klab client-view" tabindex="0" role="application" data-size=${this.size()}
			aria-label="What ${node} knows. Arrow keys step, r reveals, question mark for help."
			@keydown=${this.press} @click=${this.click}>
			<div class="bar"><div>${["home", "left", "right", "end"].map((action) => this.button(action))}</div>
			<b class="clock">What ${node} knows at ${at} ms of its clock</b>
			<div>${this.button("reveal", revealed)}${this.button("help")}</div></div>
			<div class="heads"><span>clock</span><b class="who">what ${node} knows</b>
			<span class="wall">what it cannot know${revealed ? "" : ": reveal"}</span></div>
			<ol tabindex="0">${this.inside()}</ol><p class="now" role="status" aria-live="polite"></p>
			<div class="help" role="dialog" aria-label="Help" ?hidden=${!this.helps}>${this.help()}
			${this.tool("help", "Close")}</div></div>`;
	}
	private button(action: string, pressed?: boolean) {
		const [sign = "", name = "", key = ""] = BUTTONS[action] ?? [];
		return this.tool(action, sign, {
			name,
			title: `${name} (${keyName(key)})`,
			...(pressed !== undefined && { pressed }),
		});
	}
	override inside() {
		const { step } = this,
			steps = this.get("revealed")
				? [...new Set([...this.moments, ...this.stops])].sort((a, b) => a - b)
				: this.moments,
			upto = upTo(steps.length, (i) => (steps[i] ?? 0) <= step) + 1,
			shown = steps.slice(Math.max(0, upto - LINES), upto).map((at) => this.run.events[at] as RunEvent);
		return html`${repeat(
			shown,
			(event) => event.step,
			(event) => this.row(event),
		)}`;
	}
	private row(event: RunEvent) {
		const mine = this.isMoment(event),
			how = `${mine ? event.kind : "unknown"}${waits(this.callAt(event.step)) ? " waits" : ""}`;
		return html`<li class=${how} data-moment=${event.step} data-words="${event.at} ms${event.text}" title=${event.text}>
			<span class="at">${event.at} ms</span><span class="known">${mine ? this.known(event) : ""}</span>
			<span>${mine ? "" : eventSign(this.run, event, this.step)}</span></li>`;
	}
	private known(event: RunEvent) {
		const before = event.kind === "complete" ? this.callAt(event.step - 1) : undefined,
			took = before?.kind === "invoke" ? html`<span class="after">after ${event.at - before.at} ms</span>` : nothing;
		return html`<span class="says ${event.kind} ${outcomeOf(event)}">${callSign(event)}
			<span>${event.text}</span></span>${took}`;
	}

	// Where a move leads to; undefined for nowhere.
	private target(action: string) {
		const { run, step } = this;
		return targetOf({ run, stops: this.get("revealed") ? this.stops : this.moments, step }, action);
	}
	override why(action: string) {
		const to = this.target(action);
		return isMove(action) && (to === undefined || to === this.step) ? "there is no such moment" : "";
	}
	// A move to nowhere leaves the line alone: it says what the application knows now.
	override do(action: string) {
		if (!this.why(action)) super.do(action);
	}
	override act(action: string) {
		if (action === "reveal") this.set("revealed", !this.get("revealed"));
		else if (isMove(action)) this.go(this.target(action) ?? this.step);
		return true;
	}

	help() {
		return html`<div>${Object.values(BUTTONS).map(
			([, title, key]) => html`<p><small>${keyName(key)}</small>${title}</p>`,
		)}</div>
			<ul><li>These are the moments at which the application learns anything: its calls, what came back, what its polls
			returned.</li>
			<li>Between them it only has its own clock. Say what has happened to the transaction, then reveal.</li></ul>`;
	}
}

export default shows(ClientView);
