// The address of a state: a picture of the page and a place in it.
//
// A place is a frame, "#walk@EndTxn#1", a chapter, "#walk@chapter:decision", or, where no frame is sent, the step,
// "#walk@54".

export interface Address {
	picture: string;
	place: string;
}

const ADDRESS = /^#([\w-]+)(?:@([^&]+))?(?:&|$)/;

// What the part of an address after "#" names: a picture, or what else has an id; undefined for none.
export function parseAddress(hash: string): Address | undefined {
	try {
		const [, picture, place = ""] = ADDRESS.exec(decodeURIComponent(hash)) ?? [];
		return picture ? { picture, place } : undefined;
	} catch {
		return undefined;
	}
}

export const formatAddress = ({ picture, place }: Address) =>
	`#${picture}${place ? `@${place.replaceAll("#", "%23")}` : ""}`;

// What an address needs of a picture.
interface Picture extends HTMLElement {
	place: string;
	link: string; // to a run that only Python makes
	go(place: string): Promise<void>;
}

async function followAddress() {
	const named = parseAddress(location.hash),
		picture = named && (document.getElementById(named.picture) as Picture | null);
	if (!named || !picture?.go) return;
	picture.scrollIntoView();
	await picture.go(named.place);
	picture.scrollIntoView(); // it may be higher than the static one
	picture.querySelector<HTMLElement>(".klab")?.focus({ preventScroll: true });
}

export function hearAddresses() {
	addEventListener("hashchange", followAddress);
	followAddress();
}

// A link to what a picture shows. It puts the address into the address bar, in place of the one there, and onto the
// clipboard; a step alone does not, so that an address that the reader came by stays.
export function linkTo(picture: Picture): HTMLAnchorElement {
	const link = document.createElement("a"),
		name = () => {
			link.href = picture.link || formatAddress({ picture: picture.id, place: picture.place });
		};
	Object.assign(link, {
		className: "here",
		textContent: picture.place ? "Link to this step" : "Link to this picture",
		onclick: take,
	});
	for (const event of ["pointerenter", "pointerdown", "focus"]) link.addEventListener(event, name);
	name();
	async function take(event: Event) {
		event.preventDefault();
		name();
		if (link.pathname === location.pathname) history.replaceState(null, "", link.hash);
		const copied = await navigator.clipboard?.writeText(link.href).catch(() => "refused");
		if (copied === undefined && navigator.clipboard) link.textContent = "Link copied";
		else if (picture.link) location.assign(link.href);
		else link.textContent = "The link is in the address bar";
	}
	return link;
}
