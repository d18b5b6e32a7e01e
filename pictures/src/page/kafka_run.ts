// <kafka-run src="…" part="…">: a picture of a recorded run in an article. It steps in the page, without Python.
//
// It holds the static picture until it comes near the screen; then its data and its modules are loaded, once a page.

import "./kafka_run.css";
import type { PageModel, PictureModule } from "./page_model";
import { type KeptModel, RunModel } from "./run_model";

const NEAR = "600px",
	PICTURES = new URL("pictures/", import.meta.url),
	PAYLOADS = new URL("runs/payloads/", import.meta.url);

interface Kept {
	part: string;
	root: string;
	models: Record<string, KeptModel>;
}

const loaded = new Map<string, Promise<unknown>>();
let number = 0; // of the models so far: each has an id of its own in the page

// What `load` gives for an address, asked for once a page; after a failure again.
function once<T>(address: string, load: () => Promise<T>): Promise<T> {
	const found = loaded.get(address) ?? load();
	loaded.set(address, found);
	found.catch(() => loaded.delete(address));
	return found as Promise<T>;
}

async function unpack<T>(address: URL): Promise<T> {
	const response = await fetch(address);
	if (!response.ok) throw new Error(`${address.pathname} is not there (${response.status})`);
	const plain = (response.body as ReadableStream<BufferSource>).pipeThrough(new DecompressionStream("gzip"));
	return new Response(plain).json();
}

const unpackOnce = <T>(address: URL) => once(address.href, () => unpack<T>(address));

function loadStyle(address: URL): Promise<unknown> {
	return once(
		address.href,
		() =>
			new Promise((done, failed) => {
				const link = document.createElement("link");
				Object.assign(link, { rel: "stylesheet", href: address.href, onload: done });
				link.onerror = () => failed(new Error(`${address.pathname} is not there`));
				document.head.append(link);
			}),
	);
}

async function moduleOf(part: string): Promise<PictureModule> {
	const [found] = await Promise.all([
		import(new URL(`${part}.js`, PICTURES).href),
		...["common", part].map((name) => loadStyle(new URL(`${name}.css`, PICTURES))),
	]);
	return found;
}

async function modelsOf({ models }: Kept): Promise<Map<string, RunModel>> {
	const made = new Map<string, RunModel>();
	for (const [id, { values, run, ...kept }] of Object.entries(models)) {
		const payload = run && { payload: await unpackOnce<string>(new URL(`${run}.packed`, PAYLOADS)) };
		made.set(id, new RunModel(`${++number}`, { ...kept, values: { ...values, ...payload } }, made));
	}
	return made;
}

class KafkaRun extends HTMLElement {
	private close: (() => void) | undefined;
	private readonly near = new IntersectionObserver(([entry]) => entry?.isIntersecting && this.open(), {
		rootMargin: NEAR,
	});

	connectedCallback() {
		this.near.observe(this);
	}
	disconnectedCallback() {
		this.near.disconnect();
		this.close?.();
	}
	private async open() {
		this.near.disconnect();
		const kept = await unpackOnce<Kept>(new URL(this.getAttribute("src") ?? "", document.baseURI)),
			[models, { default: picture }] = await Promise.all([modelsOf(kept), moduleOf(kept.part)]),
			place = document.createElement("div");
		this.close = (await picture.render({ model: models.get(kept.root) as PageModel, el: place })) ?? undefined;
		this.replaceChildren(place);
	}
}

customElements.define("kafka-run", KafkaRun);
