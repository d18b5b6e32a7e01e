// The list of a collection. Its exhibits are pictures of their own: the chosen one stands below the list.

import type { RunModel } from "./run_model";

export interface Exhibit {
	name: string; // of its file, and its id in the page
	part: string;
	words: Array<[string, string]>;
}
export type Exhibits = Record<string, Exhibit>;

const SHOWN = "kafka-run:not([part=chooser])";

function keyFor(keys: string[], chosen: string, action: string, target: string) {
	const at = keys.indexOf(chosen),
		to: Record<string, number> = { left: at - 1, right: at + 1, home: 0, end: keys.length - 1 };
	return action === "choose" ? target : keys[to[action]];
}

// Shows an exhibit in the place of the one that is shown.
export function showExhibit(list: HTMLElement, model: RunModel, exhibits: Exhibits, key: string) {
	const { name, part, words } = exhibits[key],
		shown = list.parentElement?.querySelector(SHOWN),
		next = document.createElement("kafka-run");
	model.set("words", words);
	model.set("chosen", key);
	if (shown?.id === name) return;
	next.id = name;
	next.setAttribute("part", part);
	next.setAttribute("src", (list.getAttribute("src") ?? "").replace(/[^/]+$/, `${name}.packed`));
	shown?.replaceWith(next);
}

// Lets the page do what the list asks of a kernel.
export function playList(list: HTMLElement, model: RunModel, exhibits: Exhibits) {
	model.answer = (_, { action, target }) => {
		const keys = (model.get("entries") as string[][]).map(([, key]) => key),
			key = keyFor(keys, String(model.get("chosen")), String(action), String(target));
		if (key in exhibits) showExhibit(list, model, exhibits, key);
	};
}
