// The run that is looked at while Python loads: a recording, made when the site was built.
//
// What the picture asks of Python meanwhile is kept, and asked when Python has made the same run: its models then take
// the places of the recorded ones, and the picture stays.

import { draw, models, say, shown, WorkerModel } from "./page";
import type { Values } from "./page_model";

const MEANWHILE =
	"Python is loading. You can step through this run already; what you press is done when Python is there.";
export const recorded = new Map<string, WorkerModel>(); // the models by what they are of, "journey" or "view"

export async function showRecorded(name: string, why = "") {
	const response = await fetch(new URL(`runs/${name}.packed`, import.meta.url));
	if (!response.ok) return; // no lab has this run, as Python will say
	const plain = (response.body as ReadableStream<BufferSource>).pipeThrough(new DecompressionStream("gzip")),
		parts: Record<string, Values> = await new Response(plain).json();
	if (shown.id || models.size) return; // Python was quicker
	for (const [part, values] of Object.entries(parts)) {
		const model = new WorkerModel(`recorded-${part}`, { ...values, journey: "IPY_MODEL_recorded-journey" });
		Object.assign(model, { kept: [], why, opened: values.step });
		models.set(model.id, model);
		recorded.set(part, model);
	}
	await draw(recorded.get("view") as WorkerModel);
	if (shown.id) return;
	if (!why) say(MEANWHILE);
	performance.mark("klab-recorded");
}

// Whether a model of Python has taken the place of a recorded one; both have to show the same run.
export function takesPlace(id: string, state: Values) {
	const part = "payload" in state ? "journey" : "view",
		model = recorded.get(part);
	if (!model || (part === "journey" && model.get("payload") !== state.payload)) {
		recorded.clear();
		return false;
	}
	const kept = model.kept ?? [];
	recorded.delete(part);
	models.delete(model.id);
	models.set(id, Object.assign(model, { id, why: "", kept: null, values: { ...state, ...model.values } }));
	if (part === "view") model.values.journey = state.journey;
	else if (model.get("step") === model.opened) model.update({ step: state.step }); // which the address may name
	for (const data of kept) model.ask(data);
	return true;
}

// Python makes no run for what is shown.
export function neverComes(why: string) {
	for (const model of recorded.values()) {
		model.why = why;
		for (const data of model.kept?.splice(0) ?? []) model.ask(data);
	}
}
