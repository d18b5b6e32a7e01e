// Links in a notebook's text that move the picture: [`EndTxn#1`](#EndTxn#1), [the decision](#chapter:decision).
// Without a picture they are links to an anchor that is not there.

import { distance, linkedName } from "./link_names";
import type { Run } from "./types";
import { stepNamed } from "./walk";

// A picture in the page: it can say which of its steps has a name.
interface Root extends HTMLElement {
	stepNamed?: (name: string) => number | undefined;
}

interface Picture {
	root: Root;
	run: Run;
	stops: number[];
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
