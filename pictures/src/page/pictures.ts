// The pictures beside the sequence, of the same journey: a list of tabs, all closed until one is chosen.
//
// A picture's module and style sheet are loaded when it is first asked for, while Python makes its model.

import "./pictures.css";
import { $, models, named, ready, send, type WorkerModel } from "./page";
import type { PictureModule } from "./page_model";

export interface Answer {
	ask: number;
	id: string;
	of: string;
	subjects: Record<string, string>;
	why: string;
	note: string;
}

const WAITS_FOR_PYTHON = "Python is loading. This picture opens when it is there.",
	loaded = new Map<string, Promise<[PictureModule, unknown]>>(), // by name: the module, once its style sheet is there
	other = {
		name: "",
		of: "",
		ask: 0,
		model: null as WorkerModel | null,
		never: "",
		opens: false,
		close: () => {},
		drawn: Promise.resolve(),
	};

const tabs = () => [...$("pictures").querySelectorAll<HTMLElement>("[role=tab]")];

function loadStyle(url: string) {
	return new Promise((done, failed) => {
		const link = document.createElement("link");
		Object.assign(link, { rel: "stylesheet", href: url, onload: done });
		link.onerror = () => failed(new Error(`${url} is not there`));
		document.head.append(link);
	});
}

function partsOf(name: string) {
	const url = (kind: string) => new URL(`pictures/${name}.${kind}`, import.meta.url).href,
		parts = loaded.get(name) ?? Promise.all([import(url("js")), loadStyle(url("css"))]);
	loaded.set(name, parts);
	parts.catch(() => loaded.delete(name)); // the next time it is asked for
	return parts;
}

// What is said in the picture's place: "sentence", or "soon" for what is said only if Python takes a while.
function sayInPlace(text: string, how = "") {
	other.close();
	Object.assign(other, { model: null, close: () => {} });
	$("picture").className = how;
	$("instead").textContent = text;
	$("note").textContent = "";
}

// Asks Python for the picture that is chosen, of the run that it shows then.
export function askPicture() {
	const { name, of, never } = other;
	other.ask += 1;
	if (never) sayInPlace(never, "sentence");
	else if (ready) sayInPlace("Python is at work. This picture opens when it is done.", "soon");
	else sayInPlace(WAITS_FOR_PYTHON, "sentence");
	if (!name || !ready || never) return;
	partsOf(name).catch(() => {}); // who draws it is told
	send({ kind: "picture", name, of, ask: other.ask });
}

// Opens a picture in place of the one that is open; none for no name.
function choose(name: string, of = "") {
	if (name !== other.name) $("subject").hidden = true;
	Object.assign(other, { name, of, opens: !!name && (other.opens || !other.name) });
	for (const tab of tabs()) {
		const chosen = tab.dataset.name === name;
		tab.setAttribute("aria-selected", String(chosen));
		tab.tabIndex = chosen || (!name && tab === tabs()[0]) ? 0 : -1;
		if (chosen) $("picture").setAttribute("aria-labelledby", tab.id);
	}
	$("picture").hidden = $("shut").hidden = !name;
	document.documentElement.classList.toggle("with-picture", !!name);
	askPicture();
}

// What the address names; else what is open stays, of another run as a whole.
export function choosePictureOfAddress() {
	const [name = "", ...of] = (named("view") ?? other.name).split(":"),
		known = tabs().some((tab) => tab.dataset.name === name);
	if (known) choose(name, named("view") ? of.join(":") : "");
}

export const pictureOfAddress = () => {
	const { name, of } = other;
	return name ? `&view=${name}${of ? `:${encodeURIComponent(of)}` : ""}` : "";
};

// Draws what Python has answered, one after the other; what was asked for since then will be answered, too.
export const takePicture = (answer: Answer) => (other.drawn = other.drawn.then(() => drawPicture(answer)));

async function drawPicture({ ask, id, of, subjects, why, note }: Answer) {
	if (ask !== other.ask) return;
	const choices = Object.entries(subjects),
		select = $("subject").querySelector("select") as HTMLSelectElement;
	$("subject").hidden = choices.length < (of in subjects ? 2 : 1);
	select.replaceChildren(...choices.map(([value, words]) => new Option(words, value, false, value === of)));
	if (!(of in subjects)) select.selectedIndex = -1;
	if (why) return sayInPlace(why, "sentence");
	try {
		const [{ default: view }] = await partsOf(other.name);
		if (ask !== other.ask) return;
		sayInPlace("");
		other.model = models.get(id) as WorkerModel;
		other.close = (await view.render({ model: other.model, el: $("place") })) ?? (() => {});
		$("note").textContent = note;
		if (other.opens) bringIntoView();
	} catch (error) {
		if (ask === other.ask)
			sayInPlace(`This picture cannot be loaded (${(error as Error).message}). Choose it again.`, "sentence");
	}
}

// Where the picture has the lower part of the screen, the sequence begins at its top.
function bringIntoView() {
	other.opens = false;
	const run = $("run").getBoundingClientRect(),
		beside = $("pictures").getBoundingClientRect().left >= run.right;
	if (!beside && run.top > 0) $("run").scrollIntoView({ block: "start" });
}

// Python will not make it: it has failed, or was stopped.
export function noPicture(why: string) {
	if (other.name && !other.model) sayInPlace(why, "sentence");
}

function goAmongTabs(event: KeyboardEvent) {
	const all = tabs(),
		at = all.indexOf(event.target as HTMLElement),
		last = all.length - 1,
		keys: Record<string, number> = {
			ArrowRight: at < last ? at + 1 : 0,
			ArrowLeft: at > 0 ? at - 1 : last,
			Home: 0,
			End: last,
		},
		to = all[keys[event.key] ?? -1];
	if (at < 0 || !to || event.ctrlKey || event.altKey || event.metaKey) return;
	event.preventDefault();
	for (const tab of all) tab.tabIndex = tab === to ? 0 : -1;
	to.focus();
}

export function beginPictures() {
	const list = $("pictures").querySelector("[role=tablist]") as HTMLElement;
	$("pictures").hidden = false;
	list.addEventListener("keydown", goAmongTabs);
	list.addEventListener("click", ({ target }) => {
		const { name } = (target as Element).closest<HTMLElement>("[role=tab]")?.dataset ?? {};
		if (name) choose(name === other.name ? "" : name);
	});
	$("shut").addEventListener("click", () => {
		const tab = tabs().find((one) => one.dataset.name === other.name);
		choose("");
		tab?.focus();
	});
	$("subject").addEventListener("change", ({ target }) => choose(other.name, (target as HTMLSelectElement).value));
}

export { other };
