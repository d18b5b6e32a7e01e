// Says what a browser lacks for the labs, and what to do. In JupyterLite it also leads links to the site's pages.
(() => {
	const here = document.currentScript.src.replace(/_static\/guard\.js.*$/, "");
	const inLab = document.currentScript.dataset.lab !== undefined;
	const LOW = 5_000_000;
	const OWN = "or install kafkalab on your computer, where `make lab` opens the same labs.";
	const SAYS = {
		wasm:
			"This browser has no WebAssembly, so Python cannot run in it. " +
			`Take a current Firefox, Chrome, Edge or Safari, ${OWN}`,
		storage:
			"This browser keeps no files for this page; private windows often do not. The labs run, but what you " +
			"write is gone when the tab closes. Open the page in a normal window, or save with File → Download.",
		worker:
			"This page's address allows no service workers, so what you solve is not kept. " +
			`Open it by https or at localhost, ${OWN}`,
		full:
			"The browser's storage for this page is full: nothing more is saved. What was saved before is still " +
			"there. Download this notebook now (File → Download), then delete other sites' data in the settings.",
		interrupt:
			"This page cannot stop a cell that runs. Save (Ctrl+S), then take Kernel → Restart Kernel: what you wrote and " +
			"what you solved is kept. If you reload the page once, Interrupt works in it.",
	};
	const said = new Set();

	function say(what) {
		if (said.has(what)) return;
		said.add(what);
		const note = document.createElement("p");
		note.className = "klab-notice";
		note.setAttribute("role", "alert");
		note.dataset.notice = what;
		note.textContent = SAYS[what];
		if (inLab) {
			note.style.cssText =
				"position:fixed;z-index:10001;inset:auto 0 0 0;margin:0;padding:10px 16px;" +
				"font:15px/1.45 system-ui,sans-serif;color:var(--jp-ui-font-color1,CanvasText);" +
				"background:var(--jp-layout-color1,Canvas);border-top:3px solid var(--jp-warn-color1,currentcolor)";
			const close = document.createElement("button");
			close.textContent = "Close";
			close.style.marginLeft = "12px";
			close.onclick = () => {
				note.remove();
				said.delete(what);
			};
			note.append(close);
		}
		document.body.prepend(note);
	}

	/** Whether a database can be opened and holds what is put into it. */
	function stores() {
		return new Promise((done) => {
			try {
				const asked = indexedDB.open("kafkalab-probe");
				asked.onupgradeneeded = () => asked.result.createObjectStore("probe");
				asked.onerror = () => done(false);
				asked.onsuccess = () => {
					asked.result.close();
					done(true);
				};
			} catch {
				done(false);
			}
		});
	}

	async function room() {
		const { quota, usage } = (await navigator.storage?.estimate?.()) ?? {};
		if (quota !== undefined && quota - usage < LOW) say("full");
	}

	async function look() {
		if (typeof WebAssembly !== "object") return say("wasm");
		if (!(await stores())) return say("storage");
		if (!navigator.serviceWorker) say("worker");
		await room();
		if (inLab) setInterval(room, 20_000);
	}

	/** Where a link of a notebook leads on this site: a lab, one of our pages; null for others. */
	function place(address) {
		const [, file, anchor] = address.match(/\/jupyter\/files\/([^#?]*)(#.*)?$/) ?? [];
		if (!file) return null;
		const mark = anchor ?? "";
		if (file.endsWith(".ipynb")) return `${here}jupyter/notebooks/index.html?path=${file}${mark}`;
		return here + file.replace(/\.md$/, ".html").replace(/\.(py|js|css|klab)$/, ".$1.txt") + mark;
	}

	/** Every lab opens in a tab of its own: the kernel of this one keeps what it has computed. */
	function follow(event) {
		const found = place(event.target.closest?.("a[href]")?.href ?? "");
		if (!found) return;
		event.preventDefault();
		event.stopPropagation();
		window.open(found, "_blank", "noopener");
	}

	window.addEventListener("unhandledrejection", (event) => {
		if (/quota/i.test(`${event.reason?.name} ${event.reason?.message}`)) say("full");
	});
	window.addEventListener("kafkalab-say", (event) => say(event.detail));
	if (inLab) window.addEventListener("click", follow, { capture: true });
	if (document.body) look();
	else document.addEventListener("DOMContentLoaded", look);
})();
