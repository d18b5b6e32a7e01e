// What a link in a text names of a picture, and how far away a picture is.

const LINK = /^#([A-Z]\w*#\d+|chapter:[\w-]+)$/;

// The place that a link in a text names; undefined for another link.
export function linkedName(link: Element | null): string | undefined {
	try {
		return LINK.exec(decodeURIComponent(link?.getAttribute("href") ?? ""))?.[1];
	} catch {
		return undefined;
	}
}

// How far a picture is above or below a link.
export function distance(root: Element, link: Element) {
	const box = root.getBoundingClientRect(),
		place = link.getBoundingClientRect();
	return box.top > place.top ? box.top - place.bottom : place.top - box.bottom;
}
