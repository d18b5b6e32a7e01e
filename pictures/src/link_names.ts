// What a link in a text names of a picture, and how far away a picture is.

const PLACE = /^#([A-Z]\w*#\d+|chapter:[\w-]+)$/,
	KEY = /^#show:(.+)$/;

// The place in a run that a link names, "EndTxn#1" or "chapter:decision"; undefined for another link.
export const linkedName = (link: Element | null) => named(link, PLACE);

// The entry of a list that a link names, "#show:KAFKA-5494".
export const linkedKey = (link: Element | null) => named(link, KEY);

function named(link: Element | null, form: RegExp): string | undefined {
	try {
		return form.exec(decodeURIComponent(link?.getAttribute("href") ?? ""))?.[1];
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
