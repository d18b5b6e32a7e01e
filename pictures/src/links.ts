// Links in a notebook's text that move the picture: [`EndTxn#1`](#EndTxn#1), [the decision](#chapter:decision).
// Without a picture they are links to an anchor that is not there.

import type { Run } from "./types";
import { stepNamed } from "./walk";

const LINK = /^#([A-Z]\w*#\d+|chapter:[\w-]+)$/;

// A picture in the page: it can say which of its steps has a name.
interface Root extends HTMLElement {
	stepNamed?: (name: string) => number | undefined;
}

interface Picture {
	root: Root;
	run: Run;
	stops: number[];
}

function linkedName(link: Element | null): string | undefined {
	try {
		return LINK.exec(decodeURIComponent(link?.getAttribute("href") ?? ""))?.[1];
	} catch {
		return undefined;
	}
}

// How far a picture is above or below a link.
function distance(root: Element, link: Element) {
	const box = root.getBoundingClientRect(),
		place = link.getBoundingClientRect();
	return box.top > place.top ? box.top - place.bottom : place.top - box.bottom;
}

// Calls `follow(name, step)` for a click on a link, if of all pictures this one is the nearest that knows the name, or
// the nearest of all; then `step` is undefined. Gives back how to stop that.
export function hearLinks(v: Picture, follow: (name: string, step: number | undefined) => void) {
	const own = (name: string) => stepNamed(v.run, v.stops, name);
	v.root.stepNamed = own;
	const hear = (event: MouseEvent) => {
		const link = event.target instanceof Element ? event.target.closest("a[href]") : null,
			name = linkedName(link);
		if (!link || !name || event.ctrlKey || event.metaKey) return;
		const roots = [...document.querySelectorAll<Root>(".klab.sequence")].filter(
			(root) => root.stepNamed && root.offsetParent,
		);
		roots.sort((a, b) => distance(a, link) - distance(b, link));
		const nearest = roots.find((root) => root.stepNamed?.(name) !== undefined) ?? roots[0];
		if (nearest !== v.root) return;
		event.preventDefault();
		follow(name, own(name));
	};
	document.addEventListener("click", hear, true);
	return () => document.removeEventListener("click", hear, true);
}
