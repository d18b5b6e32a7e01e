// Links to words of the glossary show their sentence beside the word: under the mouse, with the focus, at a tap.
//
// Without this module they are links with a title. A screen reader reads the sentence as the link's description.

import "./terms.css";

const LEAVES_MS = 200, // the way of the mouse from the word to its card
	GAP = 6,
	card = document.createElement("div"),
	chinese = navigator.language.startsWith("zh");
let shown: HTMLAnchorElement | undefined,
	tapped: HTMLAnchorElement | undefined,
	leaves = 0,
	touched = false;

const termOf = ({ target }: Event) => (target as Element).closest?.<HTMLAnchorElement>("a.term"),
	inCard = ({ target }: Event) => card.contains(target as Node);

function describe(link: HTMLAnchorElement) {
	const id = `term-${link.hash.slice(1)}`;
	if (!document.getElementById(id)) {
		const said = Object.assign(document.createElement("span"), { id, hidden: true, textContent: link.title });
		document.body.append(said);
	}
	link.setAttribute("aria-describedby", id);
	link.dataset.english = link.title;
	link.removeAttribute("title");
}

function paragraph(text: string, lang: string) {
	return Object.assign(document.createElement("p"), { textContent: text, lang });
}

function show(link: HTMLAnchorElement) {
	clearTimeout(leaves);
	if (shown === link) return;
	shown = link;
	const { english = "", chinese: inChinese = "" } = link.dataset,
		more = Object.assign(document.createElement("a"), {
			href: link.href,
			textContent: "in the glossary →",
			tabIndex: -1,
		});
	card.replaceChildren(paragraph(english, "en"), ...(chinese ? [paragraph(inChinese, "zh")] : []), more);
	card.hidden = false;
	const { left, bottom, top } = link.getClientRects()[0] as DOMRect,
		{ offsetWidth, offsetHeight } = card,
		{ clientWidth, clientHeight } = document.documentElement,
		above = bottom + GAP + offsetHeight > clientHeight && top > offsetHeight + GAP;
	card.style.left = `${scrollX + Math.max(8, Math.min(left, clientWidth - offsetWidth - 8))}px`;
	card.style.top = `${scrollY + (above ? top - offsetHeight - GAP : bottom + GAP)}px`;
}

function hide() {
	clearTimeout(leaves);
	shown = tapped = undefined;
	card.hidden = true;
}

function leave() {
	clearTimeout(leaves);
	leaves = window.setTimeout(() => document.activeElement !== shown && hide(), LEAVES_MS);
}

card.className = "term-card";
card.hidden = true;
document.body.append(card);
for (const link of document.querySelectorAll<HTMLAnchorElement>("a.term")) describe(link);
const on = <K extends keyof DocumentEventMap>(kind: K, hear: (event: DocumentEventMap[K]) => void) =>
	document.addEventListener(kind, hear);
on("pointerover", (event) => {
	const link = termOf(event);
	if (link && event.pointerType === "mouse") show(link);
	else if (inCard(event)) clearTimeout(leaves);
});
on("pointerout", (event) => (termOf(event) || inCard(event)) && event.pointerType === "mouse" && leave());
on("pointerdown", (event) => {
	touched = event.pointerType === "touch";
	if (shown && termOf(event) !== shown && !inCard(event)) hide();
});
on("click", (event) => {
	const link = termOf(event);
	if (!link || !touched || link === tapped) return; // a second tap follows the link
	event.preventDefault();
	tapped = link;
	show(link);
});
on("focusin", (event) => {
	const link = termOf(event);
	if (link) show(link);
	else if (!inCard(event)) hide();
});
on("focusout", (event) => termOf(event) && !touched && leave());
on("keydown", ({ key }) => key === "Escape" && hide());
