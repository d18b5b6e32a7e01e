// Links in a notebook's text that move the picture: [`EndTxn#1`](#EndTxn#1), [the decision](#chapter:decision).
// Without a picture they are links to an anchor that is not there.

import { stepNamed } from "./walk";

const LINK = /^#([A-Z]\w*#\d+|chapter:[\w-]+)$/;

function linkedName(link) {
	try {
		return LINK.exec(decodeURIComponent(link?.getAttribute("href") ?? ""))?.[1];
	} catch {
		return undefined;
	}
}

// How far a picture is above or below a link.
function distance(root, link) {
	const box = root.getBoundingClientRect(),
		place = link.getBoundingClientRect();
	return box.top > place.top ? box.top - place.bottom : place.top - box.bottom;
}

// Calls `follow(name, step)` for a click on a link, if of all pictures this one is the nearest that knows the name, or
// the nearest of all; then `step` is undefined. Gives back how to stop that.
export function hearLinks(v, follow) {
	v.root.stepNamed = (name) => stepNamed(v.run, v.stops, name);
	const hear = (event) => {
		const link = event.target.closest?.("a[href]"),
			name = linkedName(link);
		if (!name || event.ctrlKey || event.metaKey) return;
		const roots = [...document.querySelectorAll(".klab.sequence")].filter(
			(root) => root.stepNamed && root.offsetParent,
		);
		roots.sort((a, b) => distance(a, link) - distance(b, link));
		const nearest = roots.find((root) => root.stepNamed(name) !== undefined) ?? roots[0];
		if (nearest !== v.root) return;
		event.preventDefault();
		follow(name, v.root.stepNamed(name));
	};
	document.addEventListener("click", hear, true);
	return () => document.removeEventListener("click", hear, true);
}
