// Python in the page: a worker, started once, by the first press that only Python can answer.
//
// What is asked meanwhile waits in the worker. A bar at the foot of the page says how much is loaded, and has a button
// that stops Python when it is at work for long.

import "./python.css";
import type { Values } from "./page_model";
import type { Message, RunModel } from "./run_model";

// What is sent to a model of Python: values that have changed, or a message.
export type Data = { method: "update"; state: Values } | { method: "custom"; content: Message };
// What the worker says.
type Heard =
	| { kind: "update"; id: string; state: Values }
	| { kind: "custom"; id: string; content: Message }
	| { kind: "codes"; id: string; codes: string[] }
	| { kind: "loading"; loaded: number; weight: number }
	| { kind: "broken"; text: string; all: string }
	| { kind: "idle" };

const WAITS_MS = 700,
	FOLLOWERS = /^(share|cost_meter)$/, // their values are made in Python for each run
	STOPPED = "Stopped. The run that was shown before is still there.",
	NO_WASM = "This browser cannot run Python: it has no WebAssembly. Chromium 123, Firefox 120 and Safari 17.5 have it.",
	models = new Map<string, RunModel>(); // those whose places Python has taken, by id
let worker: Worker | undefined,
	asking: RunModel[] = [], // whose messages are not done yet, in their order
	patience = 0;

const bar = document.createElement("div");
bar.className = "klab-python";
bar.hidden = true;
bar.innerHTML = '<progress></progress><span role="status"></span><button type="button">stop</button>';
const [progress, words, stopper] = bar.children as unknown as [HTMLProgressElement, HTMLElement, HTMLElement];
stopper.addEventListener("click", () => end(STOPPED));
document.body.append(bar);

function say(text: string) {
	words.textContent = text;
	bar.hidden = !text;
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

const HEARD: { [K in Heard["kind"]]: (message: Heard & { kind: K }) => unknown } = {
	update: ({ id, state }) => models.get(id)?.update(state),
	custom: ({ id, content }) => models.get(id)?.hear(content),
	codes({ id, codes }) {
		const journey = models.get(id);
		if (journey) journey.codes = codes;
	},
	loading({ loaded, weight }) {
		Object.assign(progress, { max: weight, value: loaded });
		say(
			loaded < weight
				? `Python is loading, once: ${megabytes(loaded)} of ${megabytes(weight)} MB. Your press is kept.`
				: "All is loaded; Python is starting.",
		);
	},
	broken({ text, all }) {
		console.warn(all);
		end(`Python has failed (${text}). The picture goes on stepping; the next press tries again.`);
	},
	idle() {
		asking.shift();
		rest();
	},
};

// The bar shows when Python has been at it for a while.
function rest() {
	clearTimeout(patience);
	say("");
	if (asking.length) patience = window.setTimeout(wait, WAITS_MS);
}
function wait() {
	progress.removeAttribute("value");
	say("Python is at work.");
}

// Ends Python; the next press starts it again, and makes the runs again that are shown.
function end(why: string) {
	worker?.terminate();
	worker = undefined;
	models.clear();
	for (const model of asking.splice(0)) model.refuse(why);
	rest();
}

function begin(): Worker {
	const made = new Worker(new URL("../python/worker.js", import.meta.url), { type: "module" });
	made.onmessage = ({ data }) => {
		const message: Heard = JSON.parse(data);
		if (made === worker) (HEARD[message.kind] as (message: Heard) => unknown)(message);
	};
	made.onerror = ({ message }) => end(`Python cannot start here (${message || "its worker does not start"}).`);
	say("Python is loading, once. Your press is kept.");
	return made;
}

function post(model: RunModel, message: object) {
	worker ??= begin();
	if (!asking.length && bar.hidden) patience = window.setTimeout(wait, WAITS_MS);
	asking.push(model);
	worker.postMessage(JSON.stringify({ id: model.id, ...message }));
}

// Lets Python make the run that an address names, and tell a model without values all of it.
export function openAddress(journey: RunModel, address: string) {
	if (isLacking()) return journey.refuse(NO_WASM);
	models.set(journey.id, journey);
	post(journey, { kind: "open", address });
}
export const answerChallenge = (journey: RunModel, challenge: string, name: string) =>
	post(journey, { kind: "answer", challenge, name });

const isLacking = () => typeof WebAssembly !== "object" || typeof Worker !== "function";
export const isThere = (model: RunModel) => models.has(model.id);

// Lets Python make what the model shows, and take its place; a model without values gets all of them.
export function open(model: RunModel) {
	if (models.has(model.id)) return;
	const { part, codes, values, journey } = model,
		{ payload, ...small } = values;
	if (journey) open(journey);
	models.set(model.id, model);
	if (part) post(model, { kind: "view", part, journey: journey?.id ?? "", values, behind: !!journey?.code });
	else post(model, { kind: "journey", codes, values: small });
	for (const view of model.views) follow(view);
}

// Lets Python make a picture that hears itself of another run of its journey.
export function follow(view: RunModel) {
	if (FOLLOWERS.test(view.part)) open(view);
}

export function ask(model: RunModel, data: Data) {
	if (isLacking()) return model.refuse(NO_WASM);
	open(model);
	post(model, { kind: "comm", data });
}
