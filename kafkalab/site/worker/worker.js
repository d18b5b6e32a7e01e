// Python in a worker: the page stays live while a run is made.
//
// It loads Python at once, takes the page's messages as JSON, and posts JSON; "idle" says that a message is done.

const tell = (message) => postMessage(JSON.stringify(message)),
	address = (name) => new URL(name, import.meta.url).href;
let receive;

async function load(name) {
	const response = await fetch(address(name));
	if (!response.ok) throw new Error(`${address(name)} is not there (${response.status})`);
	return response;
}

// One of the archives, unpacked by the browser itself, which is quicker at it than Python. `count` gets the number of
// bytes of each part that has come.
async function archive(name, count) {
	const counting = new TransformStream({
		transform(part, to) {
			count(part.length);
			to.enqueue(part);
		},
	});
	return new Response((await load(name)).body.pipeThrough(counting).pipeThrough(new DecompressionStream("gzip")));
}

// What counts bytes, and tells the page of every tenth of a megabyte. Of Pyodide's own files, named in `large`, it
// learns when they are there.
function counter({ large, weight }) {
	let loaded = 0,
		told = -1;
	const count = (bytes) => {
		loaded += bytes;
		if (Math.floor(loaded / 1e5) > told) tell({ kind: "loading", loaded: Math.min(loaded, weight), weight });
		told = Math.floor(loaded / 1e5);
	};
	new PerformanceObserver((list) => {
		for (const { name } of list.getEntries()) count(large[name.split("/").at(-1)] ?? 0);
	}).observe({ type: "resource", buffered: true });
	return count;
}

// Python's library comes beside Pyodide itself, and kafkalab after both: Python starts while it is on its way.
async function start() {
	const facts = await (await load("facts.json")).json(),
		count = counter(facts),
		library = archive("library.packed", count).then((response) => response.blob()),
		packed = library.then(() => archive("kafkalab.packed", count)),
		indexURL = address(facts.runtime),
		{ loadPyodide } = await import(`${indexURL}pyodide.mjs`),
		plain = fetch;
	self.fetch = (url, ...more) =>
		String(url).endsWith("/python_stdlib.zip") ? library.then((blob) => new Response(blob)) : plain(url, ...more);
	const python = await loadPyodide({ indexURL, lockFileContents: facts.lock, packageBaseUrl: indexURL });
	python.unpackArchive(await (await packed).arrayBuffer(), "zip", { extractDir: "/kafkalab" });
	const begin = python.runPython(`
import sys
sys.path.insert(0, "/kafkalab")
from kafkalab.site.worker.stand_in import install
install()
from kafkalab.site.worker.session import start
start`);
	receive = begin((text) => postMessage(text));
}

async function tried(action) {
	try {
		await action();
	} catch (error) {
		const all = String(error.message ?? error).trim();
		tell({ kind: "broken", text: all.split("\n").at(-1), all });
	}
}

let before = tried(start);
addEventListener("message", ({ data }) => {
	before = before.then(() => tried(() => receive?.(data))).then(() => tell({ kind: "idle" }));
});
