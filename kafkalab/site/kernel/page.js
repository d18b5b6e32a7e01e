// In a notebook's page: Python starts while JupyterLab itself still loads, and Interrupt reaches a cell that runs.
(() => {
	const site = document.currentScript.src.replace(/jupyter\/kernel\/page\.js[^/]*$/, ""),
		Plain = globalThis.Worker,
		KERNELS_OWN = /\/(coincident|comlink)\.worker\.\w+\.js$/,
		INTERRUPT = ["notebook:interrupt-kernel", "kernelmenu:interrupt", "console:interrupt-kernel"];
	if (!Plain || typeof WebAssembly !== "object") return;
	const memories = new Map(),
		{ waitAsync } = Atomics;

	// JupyterLite's kernel expects a promise, also where Python has answered before the page waits: a cell would
	// never end.
	if (waitAsync)
		Atomics.waitAsync = (...all) => {
			const { value } = waitAsync.apply(Atomics, all);
			return { async: true, value: Promise.resolve(value) };
		};

	function start() {
		const kind = globalThis.crossOriginIsolated ? "coincident" : "comlink",
			worker = new Plain(`${site}jupyter/kernel/${kind}.mjs`, { type: "module" });
		worker.addEventListener("message", ({ data }) => {
			if (data?.kafkalabInterrupt) memories.set(worker, data.kafkalabInterrupt);
		});
		const end = worker.terminate.bind(worker);
		worker.terminate = () => {
			memories.delete(worker);
			end();
		};
		return worker;
	}

	let early = start();

	globalThis.Worker = new Proxy(Plain, {
		construct(worker, [url, ...more], made) {
			if (!KERNELS_OWN.test(new URL(url, document.baseURI).pathname))
				return Reflect.construct(worker, [url, ...more], made);
			const found = early ?? start();
			early = undefined;
			return found;
		},
	});

	/** JupyterLite drops the cells that wait; the one that runs stops when Python sees a 2 in the shared byte. */
	function interrupt(app) {
		const kernel = app.shell.currentWidget?.sessionContext?.session?.kernel;
		if (kernel?.status !== "busy") return;
		if (!memories.size) dispatchEvent(new CustomEvent("kafkalab-say", { detail: "interrupt" }));
		for (const memory of memories.values()) Atomics.store(memory, 0, 2);
		const idle = setInterval(() => {
			if (kernel.status === "busy") return;
			clearInterval(idle);
			for (const memory of memories.values()) Atomics.store(memory, 0, 0);
		}, 50);
	}

	const there = setInterval(() => {
		const app = globalThis.jupyterapp;
		if (!app) return;
		clearInterval(there);
		app.commands.commandExecuted.connect((_, { id }) => INTERRUPT.includes(id) && interrupt(app));
	}, 200);
})();
