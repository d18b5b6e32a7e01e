// What lies beside the page: data, modules and style sheets, each loaded once.

import type { Future } from "./foretold";
import type { PictureModule } from "./page_model";
import type { Card } from "./predict_card";
import type { Recorded } from "./run_model";

const PICTURES = new URL("pictures/", import.meta.url),
	PAYLOADS = new URL("runs/payloads/", import.meta.url),
	FUTURES = new URL("runs/futures/", import.meta.url);

export interface Stored extends Recorded {
	run?: string; // the name of its payload
	futures?: Record<string, string>; // the names of what presses make of it
	card?: Card;
}

// A picture as it was recorded.
export interface Kept {
	part: string;
	root: string;
	models: Record<string, Stored>;
}

export type Common = typeof import("../common");

const loaded = new Map<string, Promise<unknown>>();

// What `load` gives for an address, asked for once a page; after a failure again.
export function once<T>(address: string, load: () => Promise<T>): Promise<T> {
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

export const unpackOnce = <T>(address: URL) => once(address.href, () => unpack<T>(address));

export const payloadNamed = (name: string) => unpackOnce<string>(new URL(`${name}.packed`, PAYLOADS));

export const futureNamed = (name: string) => unpackOnce<Future>(new URL(`${name}.packed`, FUTURES));

export function loadStyle(address: URL): Promise<unknown> {
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

export async function moduleOf(part: string): Promise<PictureModule> {
	const [found] = await Promise.all([
		import(new URL(`${part}.js`, PICTURES).href),
		...["common", part].map((name) => loadStyle(new URL(`${name}.css`, PICTURES))),
	]);
	return found;
}

export const commonModule = (): Promise<Common> => import(new URL("common.js", PICTURES).href);
