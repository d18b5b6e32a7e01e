// An event in a line, with the signs of the sequence diagram: who, an arrow with its frame, or a chip.

import "./signs.css";
import type { Frame, RunEvent } from "./payload";
import { esc } from "./run";
import type { Run } from "./types";

const whoSign = (run: Run, id: string) => {
	const kind = run.nodes.find((n) => n.id === id)?.kind ?? "";
	return `<b class="node ${kind}">${esc(run.label(id))}</b>`;
};

// A frame's arrow: solid for a request, dashed for a response; a cross where it was dropped, or lost.
function arrowSign(f: Frame, gone: boolean) {
	const end = gone ? 20 : 33,
		tip = gone ? "" : `<path class="head" d="M26,2L34,6.5L26,11${f.kind === "response" ? "" : "Z"}"/>`;
	return (
		`<svg class="way ${f.kind}" viewBox="0 0 36 13" aria-hidden="true"><path class="line" d="M1,6.5H${end}"/>${tip}` +
		`${gone ? '<path class="cross" d="M16,2l9,9m0,-9l-9,9"/>' : ""}</svg>`
	);
}

// An event in a line, with what has become of its frame by `step`.
export function eventSign(run: Run, event: RunEvent, step = Infinity) {
	const f = event.kind === "send" ? run.frames[event.frame] : undefined,
		gone = !!f && /dropped|lost/.test(run.fate(f, step));
	if (!f) {
		const words = run.marks[event.step] ?? event.text;
		return `<span class="event">${whoSign(run, event.node)}<span class="chip ${event.kind}">${esc(words)}</span></span>`;
	}
	const tag = (yes: unknown, words: string, how: string) => (yes ? ` <i class="${how}">${esc(words)}</i>` : "");
	return (
		`<span class="event ${f.category}">${whoSign(run, f.from)}${arrowSign(f, gone)}${whoSign(run, f.to)}` +
		`<span class="name">${esc(f.name)}` +
		tag(f.attempt > 1 && !f.of, `attempt ${f.attempt}`, "tag") +
		tag(f.copy_of, "copy", "tag") +
		tag(f.error && f.error !== "NONE", f.error, "bad") +
		`${tag(gone, f.fate, "bad")}</span></span>`
	);
}
