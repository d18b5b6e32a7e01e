// The run shown as a code, as Python and as a file; and opening a code or a file that somebody else has made.

import "./share.css";
import { openPanel, tool } from "./panel";
import { PATIENCE_MS } from "./run";

async function copy(p, what, text) {
	const box = p.$(`.${what}`);
	try {
		await navigator.clipboard.writeText(text);
		p.say(`The ${what} is on the clipboard.`);
	} catch {
		const range = document.createRange(),
			selection = getSelection();
		range.selectNodeContents(box);
		selection.removeAllRanges();
		selection.addRange(range);
		p.say(
			document.execCommand?.("copy") ? `The ${what} is on the clipboard.` : `The ${what} is selected: press Ctrl+C.`,
		);
	}
}

function saveFile(p, { name, file }, type = "application/json") {
	const link = document.createElement("a"),
		url = URL.createObjectURL(new Blob([file], { type }));
	Object.assign(link, { href: url, download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 1000);
	p.say(`Saved as ${name}.`);
}

function drawShare(p) {
	const shared = p.model.get("shared") ?? {};
	p.$(".where").textContent = `run ${p.journey.get("place")} · digest ${shared.digest ?? ""}`;
	if (p.shown !== shared)
		p.say(shared.why ? `This run cannot be shared: ${shared.why}.` : p.run.title, shared.why ? "wrong" : "");
	p.shown = shared;
	p.$(".code").textContent = shared.code;
	p.$(".python").textContent = shared.python;
}

function whyShare(p, action) {
	const { why } = p.model.get("shared") ?? {};
	if (/copy|python|save/.test(action) && why) return why;
	if (action === "code" && !p.$(".typed").value.trim()) return "type or paste a code first";
	return p.waiting && /code|file|page/.test(action) ? "the kernel is making the run" : "";
}

function send(p, message) {
	clearTimeout(p.waiting);
	p.waiting = setTimeout(
		() => ((p.waiting = 0), p.say("The kernel does not answer. Run the cell again.", "said wrong"), p.marks()),
		PATIENCE_MS,
	);
	p.model.send(message);
	p.marks();
}

async function openFile(p, file) {
	if (!file) return;
	if (file.size > 2e6) return p.say(`${file.name} is too large for a scenario.`, "said wrong");
	send(p, { kind: "open", name: file.name, text: await file.text() });
}

function actShare(p, action) {
	const shared = p.model.get("shared");
	if (action === "copy") copy(p, "code", shared.code);
	else if (action === "python") copy(p, "python", shared.python);
	else if (action === "save") saveFile(p, shared);
	else if (action === "page") send(p, { kind: "page" });
	else if (action === "file") p.$(".file").click();
	else if (action === "code") send(p, { kind: "code", code: p.$(".typed").value });
	else return false;
	return true;
}

async function openShare(model, el) {
	let p;
	const close = await openPanel(model, el, {
		name: "share",
		title: "Share",
		draw: drawShare,
		act: actShare,
		why: whyShare,
		traits: ["shared"],
		load: (panel) => (p ??= panel),
		keys: { c: "copy", p: "python", s: "save", w: "page", o: "file" },
		body:
			`<section><h4>Code</h4><div class="line"><output class="code" aria-label="Code of this run">` +
			`</output>${tool("copy", "copy", "", ' aria-label="Copy the code"')}</div>
			<h4>Python</h4><div class="line"><pre class="python" tabindex="0" aria-label="Python that` +
			` makes this run"></pre>${tool("python", "copy", "", ' aria-label="Copy the Python"')}</div>
			<div class="line">${tool("save", "save as .klab file")}${tool("page", "save as a page")}` +
			`<small>for any browser, without Python</small></div></section>
			<section><h4>Open</h4><div class="line"><input type="text" class="typed" placeholder="K1-…"` +
			` spellcheck="false" autocomplete="off" aria-label="A code">${tool("code", "open the code")}</div>
			<div class="line drop">${tool("file", "open a .klab file …")}<small>or drop one here` +
			`</small><input type="file" class="file" accept=".klab,application/json" hidden></div></section>`,
		help:
			"<p><small>c p</small>Copy the code, the Python</p>" +
			"<p><small>s w o</small>Save as a file, as a page; open a file</p>" +
			"<p>The code names this very run: typed into another notebook it gives the same steps. " +
			"A typo is noticed, and the run shown stays.</p>",
	});
	const { root } = p,
		told = (message) => {
			clearTimeout(p.waiting);
			p.waiting = 0;
			if (message.kind === "done") p.$(".typed").value = "";
			p.marks();
			if (message.kind === "page") return saveFile(p, message, "text/html");
			p.say(message.text, message.kind === "error" ? "said wrong" : "said");
		};
	model.on("msg:custom", told);
	p.$(".file").addEventListener("change", ({ target }) => (openFile(p, target.files[0]), (target.value = "")));
	p.$(".typed").addEventListener("input", p.marks);
	p.$(".typed").addEventListener(
		"keydown",
		({ key }) => key === "Enter" && p.act("code", "", p.$('[data-action="code"]')),
	);
	root.addEventListener("dragover", (event) => event.preventDefault());
	root.addEventListener("drop", (event) => {
		event.preventDefault();
		openFile(p, event.dataTransfer.files[0]);
	});
	return () => {
		model.off("msg:custom", told);
		clearTimeout(p.waiting);
		close();
	};
}

export default { render: ({ model, el }) => openShare(model, el) };
