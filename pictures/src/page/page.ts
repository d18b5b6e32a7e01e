// The page with Python in it: models whose values and messages go to a worker, and the controls around the picture.

import "./page.css";
import { PageModel, type PictureModule, type Values } from "./page_model";
import { chooseTheme } from "./page_shell";
import {
	type Answer,
	askPicture,
	beginPictures,
	choosePictureOfAddress,
	noPicture,
	other,
	pictureOfAddress,
	takePicture,
} from "./pictures";
import { neverComes, recorded, showRecorded, takesPlace } from "./waiting";

const { FIRST, LARGE, LOCK, RUNTIME, WEIGHT } = JSON.parse(document.querySelector("#facts")?.textContent ?? "");
const $ = <E extends HTMLElement = HTMLElement>(id: string) => document.querySelector(`#${id}`) as E,
	WAITS_MS = 700,
	STOPS_MS = 3000,
	models = new Map<string, WorkerModel>();
let worker: Worker,
	interrupt: Uint8Array | undefined,
	pending = 0,
	patience = 0,
	ready = false, // Python has made a run
	shown: Partial<Shown> = {},
	picture: WorkerModel | undefined,
	close = () => {};

// The run that is shown: the id of its view's model, and how it is made again, or why that is impossible.
interface Shown {
	id: string;
	code: string;
	title: string;
	why: string;
}

// What is sent to a model of Python: values that have changed, or a message.
type Data = { method: "update"; state: Values } | { method: "custom"; content: unknown };

// What the worker says.
type Heard =
	| { kind: "model" | "update"; id: string; state: Values }
	| { kind: "custom"; id: string; content: unknown }
	| { kind: "closed"; id: string }
	| { kind: "idle" }
	| { kind: "loading"; loaded: number }
	| { kind: "refused" | "stopped"; text: string }
	| ({ kind: "picture" } & Answer)
	| { kind: "broken"; text: string; all: string }
	| { kind: "show"; id: string; challenge: string }
	| ({ kind: "run" } & Shown)
	| { kind: "digest"; digest: string }
	| { kind: "answered"; right: boolean; text: string };

export const named = (what: string) => new URLSearchParams(location.hash.slice(1)).get(what);
// The lab's run that the address names, or means where it names only a place or a picture; "" for another run.
function labOfAddress() {
	const words = [...new URLSearchParams(location.hash.slice(1)).keys()];
	return named("lab") ?? (words.every((word) => /^(at|step|view)$/.test(word)) ? FIRST : "");
}
export const say = (text: string, how = "") => Object.assign($("said"), { textContent: text, className: how });

export class WorkerModel extends PageModel {
	id: string;
	why = ""; // why nothing can be asked
	kept: Data[] | null = null; // what is asked when Python is there
	opened: unknown; // the step of a recording
	klab?: { waiting?: ReturnType<typeof setTimeout> };
	readonly widget_manager = { get_model: async (name: string) => models.get(name) };
	private dirty: Values = {};

	constructor(id: string, values: Values) {
		super(values);
		this.id = id;
	}
	override set(name: string, value: unknown) {
		this.dirty[name] = value;
		super.set(name, value);
	}
	override save_changes() {
		const state = this.dirty;
		this.dirty = {};
		if (Object.keys(state).length) this.ask({ method: "update", state });
	}
	send(content: unknown) {
		this.ask({ method: "custom", content });
	}
	ask(data: Data) {
		setTimeout(() => clearTimeout(this.klab?.waiting)); // there is no kernel to lose, and a button to stop Python
		if (this.why) setTimeout(() => this.fire("msg:custom", { kind: "error", text: this.why }));
		else if (this.kept) this.kept.push(data);
		else if (models.get(this.id) === this) send({ kind: "comm", id: this.id, data });
	}
	update(state: Values) {
		const changed = Object.keys(state).filter((name) => this.values[name] !== state[name]);
		Object.assign(this.values, state);
		for (const name of changed) this.fire(`change:${name}`);
	}
}

// The stop button shows when Python has been at it for a while.
function counted(by: number) {
	pending = Math.max(0, pending + by);
	if (pending && !patience) patience = window.setTimeout(() => ($("stop").hidden = !shown.id), WAITS_MS);
	if (pending) return;
	clearTimeout(patience);
	patience = 0;
	$("stop").hidden = true;
}

export function send(message: object) {
	counted(1);
	worker.postMessage(JSON.stringify(message));
}

const HEARD: { [K in Heard["kind"]]: (message: Heard & { kind: K }) => unknown } = {
	model: ({ id, state }) => takesPlace(id, state) || models.set(id, new WorkerModel(id, state)),
	update: ({ id, state }) => models.get(id)?.update(state),
	custom: ({ id, content }) => models.get(id)?.fire("msg:custom", content, []),
	closed: ({ id }) => models.delete(id),
	idle: () => counted(-1),
	loading: ({ loaded }) => sayLoaded(loaded),
	refused({ text }) {
		if (!ready) {
			$("loading").hidden = true;
			neverComes(text);
			noPicture("There is no run to show it of.");
		}
		say(text, "wrong");
	},
	stopped({ text }) {
		say(text);
		noPicture("Stopped. Close this picture and choose it again.");
	},
	picture: (answer) => takePicture(answer),
	broken({ text, all }) {
		console.warn(all);
		$("loading").hidden = true;
		other.never = "Python has failed: this run can only be looked at.";
		neverComes(other.never);
		noPicture(other.never);
		say(`Python has failed (${text}). Load the page again; if that does not help, use another browser.`, "wrong");
	},
	show: (message) => show(message),
	run(run) {
		Object.assign(shown, run);
		$<HTMLButtonElement>("link").disabled = !run.code;
		$("link").title = run.why;
		document.title = `${run.title} · kafkalab`;
	},
	digest: ({ digest }) => (document.documentElement.dataset.digest = digest),
	answered({ right, text }) {
		const output = $("challenge").querySelector("output") as HTMLOutputElement;
		output.textContent = text;
		output.className = right ? "right" : "wrong";
		$("token").hidden = !right;
	},
};

function hear(message: Heard) {
	(HEARD[message.kind] as (message: Heard) => unknown)(message);
}

export async function draw(model: WorkerModel) {
	if (picture === model) return;
	picture = model;
	close();
	const { default: view }: PictureModule = await import(new URL("sequence.js", import.meta.url).href);
	$("run").replaceChildren();
	close = (await view.render({ model, el: $("run") })) ?? (() => {});
	document.querySelector<HTMLElement>(".klab")?.focus({ preventScroll: true });
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

function sayLoaded(bytes: number) {
	const [bar, words] = $("loading").children as unknown as [HTMLProgressElement, HTMLElement],
		loaded = Math.min(bytes, WEIGHT);
	$("loading").hidden = false;
	Object.assign(bar, { max: WEIGHT, value: loaded });
	words.textContent =
		loaded < WEIGHT ? `${megabytes(loaded)} of ${megabytes(WEIGHT)} MB` : "All is loaded; Python is starting.";
}

async function show({ id, challenge }: { id: string; challenge: string }) {
	const box = $("challenge");
	shown = { id };
	await draw(models.get(id) as WorkerModel);
	say("");
	$("loading").hidden = true;
	$<HTMLSelectElement>("runs").value = labOfAddress();
	box.hidden = !challenge;
	for (const [tag, text] of [
		["pre", challenge],
		["output", ""],
	] as const)
		(box.querySelector(tag) as HTMLElement).textContent = text;
	$("token").hidden = true;
	if (!ready) {
		ready = true;
		askPicture();
	}
	performance.mark("klab-shown");
}

function boot(address: string) {
	models.clear();
	recorded.clear();
	counted(-pending);
	ready = false;
	other.never = "";
	if (other.name) askPicture();
	worker = new Worker(new URL("python_worker.js", import.meta.url), { type: "module" });
	worker.onmessage = ({ data }) => hear(JSON.parse(data));
	worker.onerror = ({ message }) =>
		hear({ kind: "broken", text: message || "its worker does not start", all: message });
	if (self.crossOriginIsolated) interrupt = new Uint8Array(new SharedArrayBuffer(1));
	const url = (name: string) => new URL(name, import.meta.url).href;
	counted(1);
	worker.postMessage({
		...{ kind: "start", runtime: url(RUNTIME), lock: LOCK, interrupt },
		...{ library: url("library.packed"), kafkalab: url("kafkalab.packed"), large: LARGE },
	});
	send({ kind: "open", address });
}

// Stops what Python is doing. Where the page may not share memory with the worker, a new worker makes the run again.
function stop() {
	if (interrupt && !interrupt[0]) {
		interrupt[0] = 2;
		const run = shown;
		setTimeout(() => pending && run === shown && restart(), STOPS_MS);
	} else restart();
}

function restart() {
	const { code } = shown,
		step = document.querySelector<HTMLElement>(".klab")?.dataset.step ?? "";
	worker.terminate();
	say("Stopped. Python starts again with the run that was shown; its earlier runs cannot be undone to any more.");
	boot(code ? `run=${code}&step=${step}` : location.hash.slice(1));
}

async function copy(text: string, what: string) {
	try {
		await navigator.clipboard.writeText(text);
		say(`${what} is on the clipboard.`);
	} catch {
		prompt(`${what}: press Ctrl+C`, text);
	}
}

const token = () => ($("challenge").querySelector("output")?.textContent.trim().split("\n").at(-1) ?? "").trim();

function begin() {
	chooseTheme($("theme"));
	$("stop").addEventListener("click", stop);
	$("link").addEventListener("click", () =>
		copy(new URL(`#run=${shown.code}${pictureOfAddress()}`, location.href).href, "The link to this run"),
	);
	$("token").addEventListener("click", () => copy(token(), "The line to hand in"));
	$("runs").addEventListener("change", ({ target }) => (location.hash = `lab=${(target as HTMLSelectElement).value}`));
	$("challenge").addEventListener("submit", (event) => {
		event.preventDefault();
		send({ kind: "answer", name: new FormData(event.target as HTMLFormElement).get("name") });
	});
	addEventListener("klab-digest", () => send({ kind: "digest" })); // who compares runs asks: see tests/site
	addEventListener("hashchange", () => {
		send({ kind: "open", address: location.hash.slice(1) });
		choosePictureOfAddress();
	});
	boot(location.hash.slice(1));
	beginPictures();
	choosePictureOfAddress();
}

const lacks = () => {
	if (typeof WebAssembly !== "object" || typeof Worker !== "function")
		return "This browser cannot run Python: it has no WebAssembly. Chromium 123, Firefox 120 and Safari 17.5 have it.";
	return "";
};

const lab = labOfAddress();
if (lab) showRecorded(lab, lacks());
if (lacks()) say(lacks(), "wrong");
else begin();

export { $, models, ready, shown };
