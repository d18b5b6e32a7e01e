// On every page of the book. What is folded and has the page's address is unfolded.
//
// What a lab as a notebook needs is fetched as soon as the reader points at a link to one. What isolates the labs' pages
// (isolate.js) is set up at once, so that Interrupt works in the first one.
const PYTHON = [
	"python.mjs",
	"pyodide.mjs",
	"pyodide.asm.mjs",
	"pyodide.asm.wasm",
	"library.packed",
	"packages.packed",
];
const KINDS = ["pointerover", "focusin"];
const site = new URL("../", import.meta.url);

function unfold() {
	const target = document.getElementById(decodeURIComponent(location.hash.slice(1)).split("@")[0]);
	const folded = target?.closest("details:not([open])");
	for (let one = folded; one; one = one.parentElement.closest("details")) one.open = true;
	if (folded) target.scrollIntoView();
}

function prefetch({ target }) {
	if (!target.closest?.('a[href*="jupyter/"]') || navigator.connection?.saveData) return;
	for (const kind of KINDS) removeEventListener(kind, prefetch);
	for (const name of PYTHON) {
		const link = document.createElement("link");
		link.rel = "prefetch";
		link.href = new URL(`static/pyodide/${name}`, site).href;
		document.head.append(link);
	}
}

unfold();
addEventListener("hashchange", unfold);
for (const kind of KINDS) addEventListener(kind, prefetch);
const worker = new URL("jupyter/service-worker.js?enableCache=false", site);
navigator.serviceWorker?.register(worker.href).catch(() => undefined);
