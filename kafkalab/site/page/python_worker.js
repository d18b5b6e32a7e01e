// Python in a worker: the page stays live while a run is made.
//
// It takes {kind: "start"}, then the page's messages as JSON, and posts JSON; "idle" says that a message is done.

let receive;

const tell = (message) => postMessage(JSON.stringify(message));

// One of the page's archives, unpacked by the browser itself, which is quicker at it than Python. `count` gets the
// number of bytes of each part that has come.
async function archive(url, count) {
	const response = await fetch(url);
	if (!response.ok) throw new Error(`${url} is not there (${response.status})`);
	const counting = new TransformStream({
		transform(part, to) {
			count(part.length);
			to.enqueue(part);
		},
	});
	return new Response(response.body.pipeThrough(counting).pipeThrough(new DecompressionStream("gzip")));
}

// What counts bytes, and tells the page of every tenth of a megabyte. Of Pyodide's own files, named in `large`, it
// learns when they are there.
function counter(large) {
	let loaded = 0,
		told = -1;
	const count = (bytes) => {
		loaded += bytes;
		if (Math.floor(loaded / 1e5) > told) tell({ kind: "loading", loaded });
		told = Math.floor(loaded / 1e5);
	};
	new PerformanceObserver((list) => {
		for (const { name } of list.getEntries()) count(large[name.split("/").at(-1)] ?? 0);
	}).observe({ type: "resource", buffered: true });
	return count;
}

async function start({ runtime, lock, library, kafkalab, large, interrupt }) {
	const count = counter(large),
		packed = archive(kafkalab, count),
		stdlib = archive(library, count).then((response) => response.blob()),
		{ loadPyodide } = await import(`${runtime}pyodide.mjs`),
		stdLibURL = URL.createObjectURL(await stdlib),
		python = await loadPyodide({ indexURL: runtime, lockFileContents: lock, packageBaseUrl: runtime, stdLibURL });
	URL.revokeObjectURL(stdLibURL);
	python.unpackArchive(await (await packed).arrayBuffer(), "zip", { extractDir: "/kafkalab" });
	if (interrupt) python.setInterruptBuffer(interrupt);
	const begin = python.runPython(`
import sys
sys.path.insert(0, "/kafkalab")
from kafkalab.site.page.stand_in import install
install()
from kafkalab.site.page.session import start
start`);
	receive = begin((text) => postMessage(text));
}

let before = Promise.resolve();
addEventListener("message", ({ data }) => {
	before = before.then(async () => {
		try {
			if (typeof data === "string") receive?.(data);
			else await start(data);
		} catch (error) {
			const lines = String(error.message ?? error)
				.trim()
				.split("\n");
			tell({ kind: "broken", text: lines.at(-1), all: String(error.message ?? error) });
		}
		tell({ kind: "idle" });
	});
});
