// Python for a notebook's kernel. JupyterLite asks this module for it, as it would ask Pyodide's own.
//
// Python begins to start when this module is loaded, which may be long before it is asked for, and unpacks two archives
// (pack.mjs) instead of some thirty wheels. Where the page shares memory with its workers, the page can interrupt it.

import { loadPyodide as load } from "./pyodide.mjs";

const HERE = new URL("./", import.meta.url).href,
	said = [];
let hear = (...one) => said.push(one);

/** One of our archives, unpacked by the browser itself, which is quicker at it than Python. */
async function archive(name) {
	const response = await fetch(HERE + name);
	if (!response.ok) throw new Error(`${HERE}${name} is not there (${response.status})`);
	return new Response(response.body.pipeThrough(new DecompressionStream("gzip")));
}

/** Lay the packages' files into Python's file system, without a copy of their bytes. */
function lay(files, packed) {
	const size = new DataView(packed).getUint32(0, true),
		index = JSON.parse(new TextDecoder().decode(new Uint8Array(packed, 4, size))),
		made = new Set();
	let at = 4 + size;
	for (const [path, length] of index) {
		const folder = path.slice(0, path.lastIndexOf("/"));
		if (!made.has(folder)) files.mkdirTree(folder);
		made.add(folder);
		files.writeFile(path, new Uint8Array(packed, at, length), { canOwn: true });
		at += length;
	}
}

/** Let the page interrupt Python: it gets one byte of shared memory, where 2 means what Control-C means elsewhere. */
function interruptible(python) {
	if (!globalThis.crossOriginIsolated) return;
	const interrupt = new Uint8Array(new SharedArrayBuffer(1));
	python.setInterruptBuffer(interrupt);
	postMessage({ kafkalabInterrupt: interrupt });
}

async function start() {
	const packed = archive("packages.packed").then((response) => response.arrayBuffer()),
		library = await archive("library.packed").then((response) => response.blob()),
		stdLibURL = URL.createObjectURL(library),
		stdout = (text) => hear("stdout", text),
		stderr = (text) => hear("stderr", text),
		python = await load({ indexURL: HERE, stdLibURL, stdout, stderr });
	URL.revokeObjectURL(stdLibURL);
	lay(python.FS, await packed);
	python.runPython(`
import importlib

importlib.invalidate_caches()
import piplite.piplite, pyodide_kernel
from kafkalab import Sequence, check, lab03, progress
import anywidget, graphviz`);
	interruptible(python);
	return python;
}

const started = start();
started.catch(() => undefined);

/** Return Python. The packages that the options name are there: all those of this site are. */
export async function loadPyodide({ stdout, stderr }) {
	hear = (stream, text) => (stream === "stdout" ? stdout : stderr)?.(text);
	for (const one of said.splice(0)) hear(...one);
	return started;
}
