// Links in the text that name a place in a picture, "#EndTxn#1".
//
// The pictures load if they are not there yet, the nearest first, until one knows the name. The picture itself then
// follows the link, as in a notebook.

import { distance, linkedName } from "../link_names";
import type { KafkaRun } from "./kafka_run";

const given = new WeakSet<KafkaRun>(); // could not be loaded

const knows = (run: KafkaRun, name: string) => run.root?.stepNamed?.(name) !== undefined;

async function loadUntilKnown(link: HTMLElement, name: string, runs: KafkaRun[]) {
	for (const run of runs) {
		await run.open();
		if (!run.root) given.add(run);
		else if (knows(run, name)) break;
	}
	link.click();
}

function hear(event: MouseEvent) {
	const link = event.target instanceof Element ? event.target.closest<HTMLElement>("a[href]") : null,
		name = linkedName(link);
	if (!link || !name || event.ctrlKey || event.metaKey) return;
	const runs = [...document.querySelectorAll<KafkaRun>("kafka-run[part=sequence]")]
			.filter((run) => !given.has(run))
			.sort((a, b) => distance(a, link) - distance(b, link)),
		missing = runs.findIndex((run) => !run.root);
	if (missing < 0 || runs.slice(0, missing).some((run) => knows(run, name))) return;
	event.preventDefault();
	event.stopImmediatePropagation();
	loadUntilKnown(link, name, runs);
}

// Says what such a link does.
function describe() {
	for (const link of document.querySelectorAll<HTMLAnchorElement>("a[href^='#']")) {
		const name = linkedName(link);
		if (!name) continue;
		link.classList.add("into-picture");
		link.title = `Moves the picture to ${name.replace(/^chapter:(.*)/, "the chapter “$1”")}`;
	}
}

// Before any picture hears of a click.
export function hearTextLinks() {
	describe();
	document.addEventListener("click", hear, true);
}
