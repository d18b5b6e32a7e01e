// The frame inspector: every field of a frame with what it is for, and what came of the frame.

import { esc } from "./run";

const APPENDED = 8;

// Where the sentence about a field stands, as in field_meanings.py.
function meaningOf(run, frame, name) {
	const path = name.replace(/\[[^\]]*\]/g, ""),
		names = path.split(".");
	const keys = [`${frame.name}.${path}`, names.slice(-2).join("."), names.at(-1)];
	return run.meanings[keys.find((key) => key in run.meanings)] ?? "";
}

function fieldMarkup(run, frame, [name, value], before) {
	const cut = name.lastIndexOf(".") + 1,
		part = name.slice(0, cut),
		heading = part && part !== before ? `<h4>${esc(part.slice(0, -1))}</h4>` : "";
	return (
		`${heading}<div><small>${esc(name.slice(cut))}</small> <span data-field="${esc(name)}">${esc(value)}` +
		`</span><p>${esc(meaningOf(run, frame, name))}</p></div>`
	);
}

function linkList(title, events, step, more = 0) {
	if (!events.length) return "";
	const links = events.map(
		(e) =>
			`<li><button type="button" data-go="${e.step}" aria-current="${e.step === step}">${esc(e.text)}</button></li>`,
	);
	return `<h4>${title}</h4><ul>${links.join("")}${more > 0 ? `<li><small>and ${more} more</small></li>` : ""}</ul>`;
}

// The inspector folded: one line that says which frame it is of, and opens it.
export function foldMarkup(run, f, step, full, own, internal) {
	const fate = f && run.fate(f, step);
	const words = f
		? `${own ? "" : "<small>because of</small> "}<b>${esc(f.id)}</b> <small>${fate} · ` +
			`${esc(run.label(f.from))} → ${esc(run.label(f.to))} · ${esc(f.about)}</small>`
		: "<small>No frame led to this step.</small>";
	const { length } = run.internal,
		logs = `<button type="button" data-action="internal" aria-pressed="${internal}">${length} internal logs</button>`;
	return (
		`<div class="fold ${f?.category ?? ""}"><p>${words}</p>${length ? logs : ""}<button type="button" data-action="inspect"` +
		` aria-pressed="${full}" aria-expanded="${full}">${full ? "fold" : "fields"}</button></div>`
	);
}

// The inspector of a frame at a step; `own` says whether the step is one of the frame's own.
export function inspectorMarkup(run, f, step, own) {
	const fate = run.fate(f, step),
		arrived = fate === "delivered",
		late = f.attempt > 1 && !f.of;
	const facts = [
		`${run.label(f.from)} → ${run.label(f.to)}`,
		`sent at ${f.at} ms`,
		arrived ? `received at ${f.received_at} ms` : fate,
		late && `attempt ${f.attempt}`,
		f.txn && `transaction of ${f.txn}`,
	];
	const go = (id, word) =>
		run.frames[id]
			? `<button type="button" class="link" data-go="${run.frames[id].sent}">${word} ${esc(id)}</button>`
			: "";
	const caused = arrived ? run.caused(f, step).filter((e) => e.kind !== "append") : [],
		appended = arrived ? run.appended(f, step) : [];
	let before = "";
	const header = ([name]) => /^(version|correlation_id)$/.test(name);
	const fields = [...f.fields.filter((field) => !header(field)), ...f.fields.filter(header)].map((field) => {
		const markup = fieldMarkup(run, f, field, before);
		before = field[0].slice(0, field[0].lastIndexOf(".") + 1);
		return markup;
	});
	return (
		`<div class="${f.category}"><h3>${own ? "" : "<small>because of</small> "}<span>${esc(f.id)}</span>
		<small class="fate ${fate.replace(" ", "-")}">${fate}</small></h3><p>${esc(f.about)}</p>
		<p><small>${esc(facts.filter(Boolean).join(" · "))}` +
		`</small> ${go(f.of, "answers")}${go(f.copy_of, "second delivery of")}</p>
		${linkList("Appended because of it", appended.slice(0, APPENDED), step, appended.length - APPENDED)}
		${linkList("What else it led to at once", caused, step)}<div class="fields">${fields.join("")}</div></div>`
	);
}
