// The frame inspector: every field of a frame with what it is for, and what came of the frame.

import { html, nothing, type TemplateResult } from "./lit";
import type { Field, Frame, RunEvent } from "./payload";
import type { View } from "./sequence_view";
import type { Run } from "./types";

const APPENDED = 8;

// Where the sentence about a field stands, as in field_meanings.py.
function meaningOf(run: Run, frame: Frame, name: string): string {
	const path = name.replace(/\[[^\]]*\]/g, ""),
		names = path.split("."),
		keys = [`${frame.name}.${path}`, names.slice(-2).join("."), names.at(-1) ?? ""];
	return run.meanings[keys.find((key) => key in run.meanings) ?? ""] ?? "";
}

const partOf = (name: string) => name.slice(0, name.lastIndexOf(".") + 1);

function fieldRows(run: Run, frame: Frame): TemplateResult[] {
	const isHeader = ([name]: Field) => /^(version|correlation_id)$/.test(name),
		fields = [...frame.fields.filter((field) => !isHeader(field)), ...frame.fields.filter(isHeader)];
	return fields.map(([name, value], i) => {
		const part = partOf(name),
			heading =
				part && part !== partOf(fields[i - 1]?.[0] ?? "") ? html`<h4 role="none">${part.slice(0, -1)}</h4>` : nothing;
		return html`${heading}<div><small>${name.slice(part.length)}</small> <span data-field=${name}>${value}</span>
			<p>${meaningOf(run, frame, name)}</p></div>`;
	});
}

function linkList(title: string, events: RunEvent[], step: number, more = 0) {
	if (!events.length) return nothing;
	const links = events.map(
		(e) => html`<li><button type="button" data-go=${e.step} aria-current=${e.step === step}>${e.text}</button></li>`,
	);
	return html`<h4 role="none">${title}</h4>
		<ul>${links}${more > 0 ? html`<li><small>and ${more} more</small></li>` : nothing}</ul>`;
}

const because = (own: boolean) => (own ? nothing : html`<small>because of</small> `);

// The inspector folded: one line that says which frame it is of, and opens it; and the button for internal logs.
export function foldOf({ run, step, chosen: f, internal }: View, full: boolean, own: boolean): TemplateResult {
	const words = f
			? html`${because(own)}<b>${f.id}</b> <small>${run.fate(f, step)} · ${run.label(f.from)} →
				${run.label(f.to)} · ${f.about}</small>`
			: html`<small>No frame led to this step.</small>`,
		count = run.internal.length,
		logs = html`<button type="button" data-action="internal" aria-pressed=${internal}>${count} internal log${count > 1 ? "s" : ""}</button>`,
		fields = full ? "fold" : "fields";
	return html`<div class="fold ${f?.category ?? ""}"><p>${words}</p>${count ? logs : nothing}<button type="button"
		data-action="inspect" aria-pressed=${full} aria-expanded=${full}>${fields}</button></div>`;
}

// The inspector of a frame at a step; `own` says whether the step is one of the frame's own.
export function inspectorOf(run: Run, f: Frame, step: number, own: boolean): TemplateResult {
	const fate = run.fate(f, step),
		arrived = fate === "delivered",
		facts = [
			`${run.label(f.from)} → ${run.label(f.to)}`,
			`sent at ${f.at} ms`,
			arrived ? `received at ${f.received_at} ms` : fate,
			f.attempt > 1 && !f.of && `attempt ${f.attempt}`,
			f.txn && `transaction of ${f.txn}`,
		],
		go = (id: string, word: string) =>
			run.frames[id]
				? html`<button type="button" class="link" data-go=${run.frames[id].sent}>${word} ${id}</button>`
				: nothing,
		caused = arrived ? run.caused(f, step).filter((e) => e.kind !== "append") : [],
		appended = arrived ? run.appended(f, step) : [];
	return html`<div class=${f.category}><h3 role="none">${because(own)}<span>${f.id}</span>
		<small class="fate ${fate.replace(" ", "-")}">${fate}</small></h3><p>${f.about}</p>
		<p><small>${facts.filter(Boolean).join(" · ")}</small>
		${go(f.of, "answers")}${go(f.copy_of, "second delivery of")}</p>
		${linkList("Appended because of it", appended.slice(0, APPENDED), step, appended.length - APPENDED)}
		${linkList("What else it led to at once", caused, step)}<div class="fields">${fieldRows(run, f)}</div></div>`;
}
