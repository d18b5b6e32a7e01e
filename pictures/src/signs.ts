// An event in a line, with the signs of the sequence diagram: who, an arrow with its frame, or a chip.

import "./signs.css";
import { svg, html, nothing } from "./lit";
import type { Frame, RunEvent } from "./payload";
import type { Run } from "./types";

const whoSign = (run: Run, id: string) => {
	const kind = run.nodes.find((n) => n.id === id)?.kind ?? "";
	return html`<b class="node ${kind}">${run.label(id)}</b>`;
};

// A frame's arrow: solid for a request, dashed for a response; a cross where it was dropped, or lost.
function arrowSign({ kind }: Frame, gone: boolean) {
	const tip = svg`<path class="head" d="M26,2L34,6.5L26,11${kind === "response" ? "" : "Z"}" />`,
		cross = svg`<path class="cross" d="M16,2l9,9m0,-9l-9,9" />`;
	return html`<svg class="way ${kind}" viewBox="0 0 36 13" aria-hidden="true">
		<path class="line" d="M1,6.5H${gone ? 20 : 33}" />${gone ? cross : tip}</svg>`;
}

// An event in a line, with what has become of its frame by `step`.
export function eventSign(run: Run, event: RunEvent, step = Infinity) {
	const f = event.kind === "send" ? run.frames[event.frame] : undefined;
	if (!f) {
		const words = run.marks[event.step] ?? event.text;
		return html`<span class="event">${whoSign(run, event.node)}<span class="chip ${event.kind}">${words}</span></span>`;
	}
	const gone = /dropped|lost/.test(run.fate(f, step)),
		tag = (yes: unknown, words: string, how: string) => (yes ? html` <i class=${how}>${words}</i>` : nothing),
		wrong = f.error && f.error !== "NONE",
		tags = [tag(f.copy_of, "copy", "tag"), tag(wrong, f.error, "bad"), tag(gone, f.fate, "bad")];
	return html`<span class="event ${f.category}">${whoSign(run, f.from)}${arrowSign(f, gone)}${whoSign(run, f.to)}
		<span class="name">${f.name}${tag(f.attempt > 1 && !f.of, `attempt ${f.attempt}`, "tag")}${tags}</span></span>`;
}
