// Markup as text, of the modules that do not use lit-html yet. It goes with the last of them.

import { envelopePath, path } from "./basics";

type Kept = Element & { markup?: string };
type Parent = Element & { kept?: Map<string | number, Kept> };

export const esc = (text: unknown) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
export const breakable = (text: unknown) => esc(text).replaceAll("_", "_<wbr>");
export const svg = path;

// The elements that a markup makes inside such a parent.
function parseAll(parent: Element, markup: string): Kept[] {
	const holder = document.createElementNS(parent.namespaceURI, parent instanceof SVGElement ? "g" : "div") as Element;
	holder.innerHTML = markup;
	return [...holder.children];
}

export const parse = (parent: Element, markup: string) => parseAll(parent, markup)[0];

// A frame in flight.
export const envelope = (r: number) => `<path d="${envelopePath(r)}"/>`;

// Brings the children of an element to a list of [key, markup], making only those whose markup differs, all in one go,
// and moving few.
export function sync(parent: Parent, items: Array<[string | number, string]>) {
	const old = parent.kept ?? new Map<string | number, Kept>(),
		kept = new Map<string | number, Kept>(),
		keys = new Map(items);
	parent.kept = kept;
	for (const [key, node] of old) {
		if (node.markup === keys.get(key)) continue;
		node.remove();
		old.delete(key);
	}
	const lacking = items.filter(([key]) => !old.has(key)),
		fresh = lacking.length ? parseAll(parent, lacking.map(([, markup]) => markup).join("")) : [];
	let place: Element | null = null,
		made = 0;
	for (const [key, markup] of items) {
		const node: Kept = old.get(key) ?? Object.assign(fresh[made++], { markup });
		let next: Element | null = place ? place.nextElementSibling : parent.firstElementChild;
		if (next && next !== node && next.nextElementSibling === node) {
			parent.append(next); // one that is wanted later
			next = node;
		}
		if (next !== node) parent.insertBefore(node, next);
		place = node;
		kept.set(key, node);
	}
}
