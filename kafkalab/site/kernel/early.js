// On the first page: what the first lab needs is fetched while the learner reads.
//
// What isolates the labs' pages (isolate.js) is set up, too, so that Interrupt works in the first one.
const PYTHON = [
	"python.mjs",
	"pyodide.mjs",
	"pyodide.asm.mjs",
	"pyodide.asm.wasm",
	"library.packed",
	"packages.packed",
];

function prefetch() {
	if (navigator.connection?.saveData) return;
	for (const name of PYTHON) {
		const link = document.createElement("link");
		link.rel = "prefetch";
		link.href = `static/pyodide/${name}`;
		document.head.append(link);
	}
}

navigator.serviceWorker?.register("jupyter/service-worker.js?enableCache=false").catch(() => undefined);
if (document.readyState === "complete") prefetch();
else addEventListener("load", prefetch);
