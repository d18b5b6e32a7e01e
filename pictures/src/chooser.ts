// A list to choose from, what is to be known of the chosen one, and links in the notebook's text that choose:
// [KAFKA-17754](#show:KAFKA-17754).

import "./chooser.css";
import { html, live } from "./lit";
import { Panel, type PanelValues, shows } from "./panel";

// Each entry: its group, its key, its title.
interface Values extends PanelValues {
	heading: string;
	entries: Array<[string, string, string]>;
	chosen: string;
	words: Array<[string, string]>;
}

const SHOW = /^#show:(.+)$/;

function keyOf(link: Element | null) {
	try {
		return SHOW.exec(decodeURIComponent(link?.getAttribute("href") ?? ""))?.[1];
	} catch {
		return undefined;
	}
}

class Chooser extends Panel<Values> {
	readonly name = "chooser";
	override readonly traits = ["heading", "entries", "chosen", "words"] as const;
	override readonly keys = { b: "size" };
	private told: string | undefined;

	get title() {
		return this.get("heading") || "Choose";
	}
	get keysOfEntries() {
		return this.get("entries").map(([, key]) => key);
	}
	get at() {
		return this.keysOfEntries.indexOf(this.get("chosen"));
	}

	protected override listen() {
		super.listen();
		document.addEventListener("click", this.follow, { capture: true, signal: this.closed.signal });
	}
	override change() {
		const chosen = this.get("chosen");
		this.root.dataset.chosen = chosen;
		if (this.told !== chosen) this.say(this.told === undefined ? "" : `Shown below: ${chosen}.`, "aloud");
		this.told = chosen;
	}
	override where() {
		return `${this.at + 1} of ${this.get("entries").length}`;
	}

	inside() {
		const one = (action: string, sign: string, name: string, title = name) => this.tool(action, sign, { name, title });
		return html`<div class="line">${one("left", "◂", "The one before")}
			<select aria-label="Choose" .value=${live(this.get("chosen"))} @change=${this.choose}>${this.groups()}</select>
			${one("right", "▸", "The next one")}
			${one("size", "A↕", "Large pictures", "All pictures large, or as before")}</div>
			<dl class="words">${this.get("words").map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>`;
	}
	private groups() {
		const entries = this.get("entries"),
			chosen = this.get("chosen"),
			option = ([, key, title]: [string, string, string]) =>
				html`<option value=${key} ?selected=${key === chosen}>${title ? `${key}: ${title}` : key}</option>`;
		return [...Map.groupBy(entries, ([group]) => group)].map(([group, all]) =>
			group ? html`<optgroup label=${group}>${all.map(option)}</optgroup>` : all.map(option),
		);
	}

	override why(action: string) {
		if ((action === "left" || action === "home") && this.at === 0) return "this is the first entry";
		const atEnd = this.at === this.get("entries").length - 1;
		return (action === "right" || action === "end") && atEnd ? "this is the last entry" : "";
	}
	override act(action: string, target: string) {
		if (action === "size") {
			document.documentElement.dataset.klabSize = this.size() === "projector" ? "laptop" : "projector";
			return document.dispatchEvent(new Event("klab-size"));
		}
		this.say("Running it …", "aloud");
		this.model.send({ kind: "press", action, target });
		return true;
	}
	private readonly choose = ({ target }: Event) => this.do("choose", (target as HTMLSelectElement).value);
	private readonly follow = (event: MouseEvent) => {
		const key = keyOf((event.target as Element).closest?.("a[href]") ?? null);
		if (!key || event.ctrlKey || event.metaKey || !this.root.offsetParent || !this.keysOfEntries.includes(key)) return;
		event.preventDefault();
		event.stopPropagation();
		this.root.scrollIntoView({ block: "start" });
		this.focus();
		if (key !== this.get("chosen")) this.do("choose", key);
	};

	help() {
		return html`<p>Choose from the list, or click a name in the tables of this notebook: its run is shown below.</p>
			<p><small>← →</small>The one before, the next one</p>
			<p><small>Home End</small>The first one, the last one</p>
			<p><small>b</small>All pictures large, or as before</p>`;
	}
}

export default shows(Chooser);
