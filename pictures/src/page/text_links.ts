// Links in the text that name a place in a picture, "#EndTxn#1", or an entry of a list, "#show:KAFKA-5494".
//
// The pictures load if they are not there yet, the nearest first, until one knows the name. The picture itself then
// follows the link, as in a notebook.

import { distance, linkedKey, linkedName } from "../link_names";
import type { KafkaRun } from "./kafka_run";

const failed = new WeakSet<KafkaRun>(); // to load

// What a link wants: a part, and whether a picture of that part, once it is there, has what it names.
function wanted(link: Element | null) {
	const name = linkedName(link),
		key = linkedKey(link);
	if (name) return { part: "sequence", has: ({ root }: KafkaRun) => root?.stepNamed?.(name) !== undefined };
	return key ? { part: "chooser", has: ({ root }: KafkaRun) => !!root } : undefined;
}

async function loadUntil(link: HTMLElement, has: (run: KafkaRun) => boolean, runs: KafkaRun[]) {
	for (const run of runs) {
		await run.open();
		if (!run.root) failed.add(run);
		else if (has(run)) break;
	}
	link.click();
}

function hear(event: MouseEvent) {
	const link = event.target instanceof Element ? event.target.closest<HTMLElement>("a[href]") : null,
		want = wanted(link);
	if (!link || !want || event.ctrlKey || event.metaKey) return;
	const runs = [...document.querySelectorAll<KafkaRun>(`kafka-run[part=${want.part}]`)]
			.filter((run) => !failed.has(run))
			.sort((a, b) => distance(a, link) - distance(b, link)),
		missing = runs.findIndex((run) => !run.root);
	if (missing < 0 || runs.slice(0, missing).some(want.has)) return;
	event.preventDefault();
	event.stopImmediatePropagation();
	loadUntil(link, want.has, runs);
}

// Says what such a link does.
function describe() {
	for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^='#']")) {
		const name = linkedName(link)?.replace(/^chapter:(.*)/, "the chapter “$1”"),
			key = linkedKey(link);
		if (name) link.title = `Moves the picture to ${name}`;
		if (key) link.title = `Shows ${key} in the picture`;
		link.classList.toggle("into-picture", !!(name ?? key));
	}
}

// Before any picture hears of a click.
export function hearTextLinks() {
	describe();
	document.addEventListener("click", hear, true);
}
