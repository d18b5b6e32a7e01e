// The incident room: pasted or opened lines, what they say and how certain that is, and the command that ends it.
//
// The nearest run of the lab is shown by the pictures that share its journey.

import "./incident_room.css";
import { PATIENCE_MS } from "./journey";
import { html, live, type Markup, type TemplateResult, unsafeHTML } from "./lit";
import { Panel, type PanelValues, shows } from "./panel";
import type { Message } from "./types";

interface Proof {
	file: string;
	line: number;
	text: string;
	says: string;
}
interface Finding {
	where: string;
	also: string[];
	certainty: string;
	harmless: boolean;
	says: string;
	evidence: Proof[];
	ask: string;
	act: string;
	symptom: string;
	check: string;
	java: string;
	librdkafka: string;
	lab: string;
	bugs: string[];
	rule: string;
}
interface Nearest {
	run: { title: string; page: string } | null;
	why: string;
	same: string[];
	only_in_your_lines: string[];
	only_in_the_run: string[];
}
interface FileRead {
	file: string;
	lines: number;
	used: number;
	unknown: number;
	samples: Array<{ line: number; text: string }>;
}
interface Report {
	findings: Finding[];
	nearest: Nearest;
	files: FileRead[];
	logs: Array<[string, string]>;
	nothing: string;
	sample: string;
	lines: string;
}
interface Values extends PanelValues {
	report: Partial<Report>;
	samples: Array<[string, string]>;
}

const LARGEST = 5e6,
	WIDE: Record<string, string> = { "255,254": "utf-16le", "254,255": "utf-16be" };

// The text of a file; PowerShell saves UTF-16.
async function textOf(file: File): Promise<[string, string]> {
	const bytes = await file.arrayBuffer(),
		mark = new Uint8Array(bytes.slice(0, 2)).join();
	return [file.name, new TextDecoder(WIDE[mark] ?? "utf-8").decode(bytes)];
}

// A text in which `code` is marked as in Markdown.
const withCode = (text: string) => html`${text.split("`").map((one, i) => (i % 2 ? html`<code>${one}</code>` : one))}`;

// Brings the place where readers wait into view, in a strip that is wider than the room.
function showWait(strip: Element) {
	const line = strip.querySelector("path")?.getBoundingClientRect();
	if (line) strip.scrollLeft += line.left - strip.getBoundingClientRect().left - strip.clientWidth / 2;
}

const list = (title: string, lines: string[]) =>
	lines.length ? html`<dt>${title}</dt><dd><ul>${lines.map((one) => html`<li>${one}</li>`)}</ul></dd>` : "";
const row = (title: string, text: Markup) => (text ? html`<dt>${title}</dt><dd>${text}</dd>` : "");

class IncidentRoom extends Panel<Values> {
	readonly name = "incident_room";
	readonly title = "Incident room";
	override readonly traits = ["report", "samples"] as const;
	private shown: Values["report"] | undefined;
	private waiting = 0;

	get pasted() {
		return this.el.querySelector<HTMLTextAreaElement>(".pasted");
	}
	get report() {
		return this.get("report");
	}

	protected override listen() {
		const { signal } = this.closed;
		super.listen();
		this.on(() => clearTimeout(this.waiting));
		this.root.addEventListener("dragover", (event) => event.preventDefault(), { signal });
		this.root.addEventListener("drop", this.drop, { signal });
	}
	override change() {
		if (this.shown === this.report) return;
		this.shown = this.report;
		this.answered();
		this.root.dataset.read = String(Number(this.root.dataset.read ?? 0) + 1);
		this.say("");
	}
	override draw() {
		super.draw();
		for (const strip of this.root.querySelectorAll(".strip")) showWait(strip);
	}
	override where() {
		return this.report.sample ? "this is a sample: paste your own lines over it" : "what you paste stays here";
	}

	inside() {
		const { findings = [], files = [], logs = [], nothing: none = "", nearest } = this.report;
		return html`<textarea class="pasted" rows="7" spellcheck="false" autocomplete="off" wrap="off"
			aria-label="What Kafka's tools, brokers or clients printed"
			placeholder="Paste what Kafka's tools, brokers or clients printed, with the command lines."
			.value=${live(this.pasted?.value ?? this.report.lines ?? "")} @input=${this.type} @focus=${this.choose}></textarea>
			<div class="line">${this.tool("read", "What happened?")}${this.tool("file", "open files …")}
			<small>or drop them here</small><input type="file" class="file" multiple hidden @change=${this.opened}>
			<span class="samples">samples: ${this.get("samples").map(([name, title]) =>
				this.tool("sample", name, { target: name, title, current: name === this.report.sample }),
			)}</span></div>
			<div class="findings">${none ? html`<p class="none">${none}</p>` : ""}
			${findings.map((one) => this.finding(one))}</div>
			${logs.map(
				([name, svg]) => html`<figure class="strip" tabindex="0" aria-label=${name}>
				<figcaption>${name}, as far as the lines show it</figcaption>${unsafeHTML(svg)}</figure>`,
			)}
			${nearest ? this.nearest(nearest) : ""}${files.length ? this.read(files) : ""}`;
	}
	private finding(one: Finding): TemplateResult {
		const mark = one.harmless ? `harmless, ${one.certainty}` : one.certainty,
			see = [one.lab, one.symptom && `symptom “${one.symptom}”`].filter(Boolean).join("; ");
		return html`<article class="finding ${one.harmless ? "harmless" : one.certainty}">
			<h4 role="none"><b class="mark">${mark}</b> ${one.where}${one.also.length ? `, ${one.also.join(", ")}` : ""}</h4>
			<p class="says">${one.says}</p>
			<dl>${row("check first", one.check && withCode(one.check))}${row("ends it", one.act && this.command("act", one.act))}
			${row("ask", one.ask && this.command("ask", one.ask))}</dl>
			<details><summary>The lines that show it (${one.evidence.length})</summary><ol>${one.evidence.map(
				({ file, line, says, text }) => html`<li><small>${file}:${line}</small> ${says}<code>${text}</code></li>`,
			)}</ol></details>
			<details><summary>What to do in the client, and where to read on</summary><dl>${row("Java", withCode(one.java))}
			${row("librdkafka", withCode(one.librdkafka))}${one.bugs.map((bug) => row("bug", withCode(bug)))}
			${row("rule", one.rule)}
			${row("see", see)}</dl></details></article>`;
	}
	private command(kind: string, text: string): TemplateResult {
		return html`<span class="command"><code class=${kind} tabindex="0">${text}</code>${this.tool("copy", "copy", {
			target: text,
			name: "Copy the command",
		})}</span>`;
	}
	private nearest({ run, why, ...halves }: Nearest): TemplateResult {
		if (!run) return html`<section class="nearest none"><h4 role="none">No near run</h4><p>${why}</p></section>`;
		return html`<section class="nearest"><h4 role="none">The nearest run of the lab: ${run.title}</h4>
			<p>The same shape is no proof of the same cause. The picture below shows this run where it decides.</p>
			<details><summary>What is the same, and what differs</summary><dl>${list("same", halves.same)}
			${list("only in your lines", halves.only_in_your_lines)}${list("only in the run", halves.only_in_the_run)}</dl>
			</details></section>`;
	}
	private read(files: FileRead[]): TemplateResult {
		const count = files.reduce((sum, one) => sum + one.unknown, 0);
		return html`<details class="files">
			<summary>What was read${count ? `: ${count} lines that no reader knew` : ""}</summary>
			<ul>${files.map(
				(one) => html`<li>${one.file}: ${one.lines} lines, ${one.used} with facts, ${one.unknown} unknown
				${one.samples.map(({ line, text }) => html`<code>${line}: ${text}</code>`)}</li>`,
			)}</ul></details>`;
	}

	override why(action: string) {
		if (this.waiting && action !== "copy") return "Python is reading";
		return action === "read" && !this.pasted?.value.trim() ? "paste some lines first" : "";
	}
	override act(action: string, target: string) {
		if (action === "read") this.send({ kind: "read", texts: [["pasted", this.pasted?.value ?? ""]] });
		else if (action === "sample") this.sample(target);
		else if (action === "file") this.$(".file").click();
		else if (action === "copy") this.copy(target);
		else return false;
		return true;
	}
	private sample(name: string) {
		if (this.pasted) this.pasted.value = "";
		this.send({ kind: "sample", name });
	}
	private async copy(text: string) {
		try {
			await navigator.clipboard.writeText(text);
			this.say("The command is on the clipboard. Put your brokers' address in the place of host:9092.");
		} catch {
			const found = [...this.root.querySelectorAll(".command code")].find((one) => one.textContent === text);
			if (found) getSelection()?.selectAllChildren(found);
			this.say("The command is selected: press Ctrl+C.");
		}
	}
	private async openFiles(files: File[]) {
		if (!files.length || this.waiting) return;
		if (files.reduce((sum, one) => sum + one.size, 0) > LARGEST)
			return this.say("More than 5 MB: read them with `kafkalab diagnose` on your computer.", "said wrong");
		const texts = await Promise.all(files.map(textOf));
		if (this.pasted) this.pasted.value = texts.length === 1 ? texts[0][1] : texts.map(([name]) => name).join("\n");
		this.send({ kind: "read", texts });
	}

	private send(message: Message) {
		clearTimeout(this.waiting);
		this.waiting = window.setTimeout(() => {
			this.answered();
			this.say("The kernel does not answer. Run the cell again.", "said wrong");
		}, this.model.patience_ms ?? PATIENCE_MS);
		this.say("Reading …");
		this.model.send(message);
		this.show();
	}
	private answered() {
		clearTimeout(this.waiting);
		this.waiting = 0;
		if (this.pasted && this.report.lines) this.pasted.value = this.report.lines;
	}
	override hear(message: Message) {
		this.answered();
		this.show();
		if (message.kind === "done") this.say("");
		super.hear(message);
	}

	private readonly type = () => this.show();
	// A sample goes when somebody is about to paste.
	private readonly choose = ({ target }: Event) => {
		if (this.report.sample) (target as HTMLTextAreaElement).select();
	};
	private readonly opened = ({ target }: Event) => {
		const input = target as HTMLInputElement;
		this.openFiles([...(input.files ?? [])]);
		input.value = "";
	};
	private readonly drop = (event: DragEvent) => {
		event.preventDefault();
		this.openFiles([...(event.dataTransfer?.files ?? [])]);
	};

	help() {
		return html`<p>Certain: no missing line could change it. Likely: another cause would print the same. Unknown: the
			lines do not suffice, and the command says what to ask.</p>
			<p>Passwords, tokens and keys are taken out of each line before it is read. Nothing is sent anywhere.</p>`;
	}
}

export default shows(IncidentRoom);
