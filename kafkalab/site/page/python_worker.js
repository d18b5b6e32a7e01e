// Python in a worker: the page stays live while a run is made.
//
// It takes {kind: "start"}, then the page's messages as JSON, and posts JSON; "idle" says that a message is done.

let receive;

const tell = (message) => postMessage(JSON.stringify(message));

// One of the page's archives, unpacked by the browser itself, which is quicker at it than Python.
async function archive(url) {
	const response = await fetch(url);
	if (!response.ok) throw new Error(`${url} is not there (${response.status})`);
	return new Response(response.body.pipeThrough(new DecompressionStream("gzip")));
}

async function start({ runtime, lock, library, kafkalab, interrupt }) {
	const packed = archive(kafkalab),
		stdlib = archive(library).then((response) => response.blob()),
		{ loadPyodide } = await import(`${runtime}pyodide.mjs`),
		stdLibURL = URL.createObjectURL(await stdlib),
		python = await loadPyodide({ indexURL: runtime, lockFileContents: lock, packageBaseUrl: runtime, stdLibURL });
	URL.revokeObjectURL(stdLibURL);
	tell({ kind: "loading", text: "Python is ready. Kafka comes next …" });
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
