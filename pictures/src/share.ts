// The run shown as a code, as Python and as a file; and opening a code or a file that somebody else has made.

import "./share.css";
import { PATIENCE_MS } from "./journey";
import { html } from "./lit";
import { JourneyPanel, type PanelValues, shows } from "./panel";
import type { Message } from "./types";

interface Shared {
	code: string;
	python: string;
	name: string;
	file: string;
	digest: string;
	why: string;
}

interface Values extends PanelValues {
	shared: Partial<Shared>;
}

const LARGEST = 2e6;

function download(name: string, text: string, type: string) {
	const link = document.createElement("a"),
		url = URL.createObjectURL(new Blob([text], { type }));
	Object.assign(link, { href: url, download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
}

class Share extends JourneyPanel<Values> {
	readonly name = "share";
	readonly title = "Share";
	override readonly traits = ["shared"] as const;
	override readonly keys = { c: "copy", p: "python", s: "save", w: "page", o: "file" };
	private shown: Values["shared"] | undefined;
	private waiting = 0;

	get typed() {
		return this.el.querySelector<HTMLInputElement>(".typed");
	}

	protected override listen() {
		const { signal } = this.closed;
		super.listen();
		this.on(() => clearTimeout(this.waiting));
		this.root.addEventListener("dragover", (event) => event.preventDefault(), { signal });
		this.root.addEventListener("drop", this.drop, { signal });
	}
	override change() {
		const shared = this.get("shared");
		if (this.shown === shared) return;
		this.shown = shared;
		this.say(shared.why ? `This run cannot be shared: ${shared.why}.` : this.run.title, shared.why ? "wrong" : "");
	}
	override where() {
		return `run ${this.journey.get("place")} · digest ${this.get("shared").digest ?? ""}`;
	}

	inside() {
		const { code = "", python = "" } = this.get("shared"),
			link = code && this.model.linkTo?.(code);
		return html`<section><h4 role="none">Code</h4>
			<div class="line"><output class="code" aria-label="Code of this run">${code}</output>
			${this.tool("copy", "copy", { name: "Copy the code" })}${
				link ? html`<a href=${link}>a link to this run</a>` : ""
			}</div>
			<h4 role="none">Python</h4><div class="line">
			<pre class="python" tabindex="0" role="group" aria-label="Python that makes this run">${python}</pre>
			${this.tool("python", "copy", { name: "Copy the Python" })}</div>
			<div class="line">${this.tool("save", "save as .klab file")}${this.tool("page", "save as a page")}<small>for any
			browser, without Python</small></div></section>
			<section><h4 role="none">Open</h4>
			<div class="line"><input type="text" class="typed" placeholder="K1-…" spellcheck="false" autocomplete="off"
			aria-label="A code" @input=${this.type} @keydown=${this.enter}>${this.tool("code", "open the code")}</div>
			<div class="line drop">${this.tool("file", "open a .klab file …")}<small>or drop one here</small>
			<input type="file" class="file" accept=".klab,application/json" hidden @change=${this.choose}></div></section>`;
	}

	override why(action: string) {
		const { why } = this.get("shared");
		if (/copy|python|save/.test(action) && why) return why;
		if (action === "code" && !this.typed?.value.trim()) return "type or paste a code first";
		return this.waiting && /code|file|page/.test(action) ? "Python is making the run" : "";
	}
	override act(action: string) {
		const { code = "", python = "", name = "", file = "" } = this.get("shared");
		if (action === "copy") this.copy("code", code);
		else if (action === "python") this.copy("python", python);
		else if (action === "save") this.save(name, file);
		else if (action === "page") this.send({ kind: "page" });
		else if (action === "file") this.$(".file").click();
		else if (action === "code") this.send({ kind: "code", code: this.typed?.value });
		else return false;
		return true;
	}

	private async copy(what: string, text: string) {
		try {
			await navigator.clipboard.writeText(text);
			this.say(`The ${what} is on the clipboard.`);
		} catch {
			getSelection()?.selectAllChildren(this.$(`.${what}`));
			const copied = document.execCommand?.("copy");
			this.say(copied ? `The ${what} is on the clipboard.` : `The ${what} is selected: press Ctrl+C.`);
		}
	}
	private save(name: string, text: string, type = "application/json") {
		download(name, text, type);
		this.say(`Saved as ${name}.`);
	}
	private async openFile(file?: File) {
		if (!file) return;
		if (file.size > LARGEST) this.say(`${file.name} is too large for a scenario.`, "said wrong");
		else this.send({ kind: "open", name: file.name, text: await file.text() });
	}

	private send(message: Message) {
		clearTimeout(this.waiting);
		this.waiting = setTimeout(() => {
			this.answered();
			this.say("The kernel does not answer. Run the cell again.", "said wrong");
		}, this.model.patience_ms ?? PATIENCE_MS);
		this.model.send(message);
		this.show();
	}
	private answered() {
		clearTimeout(this.waiting);
		this.waiting = 0;
		this.show();
	}
	override hear(message: Message) {
		const { kind, text, name, file } = message;
		if (kind === "done" && this.typed) this.typed.value = "";
		this.answered();
		if (kind === "page") this.save(String(name), String(file), "text/html");
		else this.say(String(text), kind === "error" ? "said wrong" : "said");
	}

	private readonly type = () => this.show();
	private readonly enter = ({ key }: KeyboardEvent) => key === "Enter" && this.do("code");
	private readonly choose = ({ target }: Event) => {
		const input = target as HTMLInputElement;
		this.openFile(input.files?.[0]);
		input.value = "";
	};
	private readonly drop = (event: DragEvent) => {
		event.preventDefault();
		this.openFile(event.dataTransfer?.files[0]);
	};

	help() {
		return html`<p><small>c p</small>Copy the code, the Python</p>
			<p><small>s w o</small>Save as a file, as a page; open a file</p>
			<p>The code names this very run: typed into another notebook it gives the same steps. A typo is noticed, and the
			run shown stays.</p>`;
	}
}

export default shows(Share);
