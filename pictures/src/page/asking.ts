// What a picture asks that its page does not know: Python is loaded for it, once a page, by the first press.

import type { Values } from "./page_model";
import type { Message, RunModel } from "./run_model";
import { loadStyle } from "./stored";

const PYTHON = new URL("pictures/python", import.meta.url).href,
	NEEDS_NO_ANSWER = /^(step|check|more)$/, // Python is told, but never started for it
	ONLY_THERE = "This run can be made again only in its notebook: open it there.";

type Python = typeof import("./python");
let python: Python | undefined, loading: Promise<Python> | undefined;

// Python's side of the page; after a failure it is loaded again.
export function loadPython(): Promise<Python> {
	loading ??= load().catch((error: Error) => {
		loading = undefined;
		throw new Error(`Python cannot be loaded (${error.message}).`);
	});
	return loading;
}

async function load(): Promise<Python> {
	[python] = await Promise.all([import(`${PYTHON}.js`) as Promise<Python>, loadStyle(new URL(`${PYTHON}.css`))]);
	return python;
}

export async function askPython(model: RunModel, content: Message) {
	const { journey = model } = model;
	if (!python?.isThere(journey)) {
		if (NEEDS_NO_ANSWER.test(content.kind)) return;
		if (await model.foretold?.answer(content).catch(() => false)) return;
	}
	if (!journey.part && !journey.codes.length) return model.refuse(ONLY_THERE);
	try {
		(await loadPython()).ask(model, { method: "custom", content });
	} catch (error) {
		model.refuse(`${(error as Error).message} The picture goes on stepping.`);
	}
}

export function tellPython(model: RunModel, state: Values) {
	if (python?.isThere(model) && Object.keys(state).length) python.ask(model, { method: "update", state });
}

// Lets a picture that comes into view follow its journey, in which a press may have made another run.
export function follow(view: RunModel, journey: RunModel) {
	if (python?.isThere(journey)) python.follow(view);
	else journey.foretold?.tell(view);
}
