// Where the site has JupyterLite: what a lab as a notebook needs is fetched once the reader points at a link to one.
//
// What isolates the labs' pages (isolate.js) is set up at once, so that Interrupt works in the first one.
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

for (const kind of KINDS) addEventListener(kind, prefetch);
const worker = new URL("jupyter/service-worker.js?enableCache=false", site);
navigator.serviceWorker?.register(worker.href).catch(() => undefined);
