// A list to choose from, what is to be known of the chosen one, and links in the notebook's text that choose:
// [KAFKA-17754](#show:KAFKA-17754).

import "./chooser.css";
import { openPanel, tool } from "./panel";
import { esc, sizeOf } from "./run";

const SHOW = /^#show:(.+)$/;

function shownKey(link) {
	try {
		return SHOW.exec(decodeURIComponent(link?.getAttribute("href") ?? ""))?.[1];
	} catch {
		return undefined;
	}
}

const chooserKeys = (p) => p.model.get("entries").map(([, key]) => key);

function drawChooser(p) {
	const entries = p.model.get("entries"),
		chosen = p.model.get("chosen"),
		at = chooserKeys(p).indexOf(chosen),
		list = p.$("select");
	p.root.dataset.chosen = chosen;
	p.$("h3").textContent = p.model.get("heading");
	p.$(".where").textContent = `${at + 1} of ${entries.length}`;
	if (p.listed !== entries) {
		const groups = [...new Set(entries.map(([group]) => group))];
		const option = ([, key, title]) => `<option value="${esc(key)}">${esc(title ? `${key}: ${title}` : key)}</option>`;
		const options = (group) =>
			entries
				.filter(([of]) => of === group)
				.map(option)
				.join("");
		list.innerHTML = groups
			.map((group) => (group ? `<optgroup label="${esc(group)}">${options(group)}</optgroup>` : options(group)))
			.join("");
		p.listed = entries;
	}
	list.value = chosen;
	const words = p.model.get("words");
	p.$(".words").innerHTML = words.map(([name, text]) => `<dt>${esc(name)}</dt><dd>${esc(text)}</dd>`).join("");
	if (p.told !== chosen) p.say(p.told === undefined ? "" : `Shown below: ${chosen}.`, "aloud");
	p.told = chosen;
}

function whyChooser(p, action) {
	const keys = chooserKeys(p),
		at = keys.indexOf(p.model.get("chosen"));
	if ((action === "left" || action === "home") && at === 0) return "this is the first entry";
	return (action === "right" || action === "end") && at === keys.length - 1 ? "this is the last entry" : "";
}

function actChooser(p, action, target) {
	if (action === "size") {
		document.documentElement.dataset.klabSize = sizeOf(p.model) === "projector" ? "laptop" : "projector";
		return document.dispatchEvent(new Event("klab-size"));
	}
	p.say("Running it …", "aloud");
	p.model.send({ kind: "press", action, target: target ?? "" });
	return true;
}

async function openChooser(model, el) {
	let p;
	const close = await openPanel(model, el, {
		name: "chooser",
		title: "Choose",
		draw: drawChooser,
		act: actChooser,
		why: whyChooser,
		keys: { b: "size" },
		load: (panel) => (p ??= panel),
		traits: ["heading", "entries", "chosen", "words"],
		body:
			`<div class="line">${tool("left", "◂", "", ' aria-label="The one before" data-title="The one before"')}` +
			`<select aria-label="Choose"></select>` +
			`${tool("right", "▸", "", ' aria-label="The next one" data-title="The next one"')}` +
			`${tool("size", "A↕", "", ' aria-label="Large pictures" data-title="All pictures large, or as before"')}</div>` +
			`<dl class="words"></dl>`,
		help:
			"<p>Choose from the list, or click a name in the tables of this notebook: its run is shown below.</p>" +
			"<p><small>← →</small>The one before, the next one</p>" +
			"<p><small>Home End</small>The first one, the last one</p>" +
			"<p><small>b</small>All pictures large, or as before</p>",
	});
	const told = (message) => message.kind === "error" && p.say(message.text, "said wrong");
	const change = ({ target }) => target.matches("select") && p.act("choose", target.value);
	const follow = (event) => {
		const key = shownKey(event.target.closest?.("a[href]"));
		if (!key || event.ctrlKey || event.metaKey || !p.root.offsetParent || !chooserKeys(p).includes(key)) return;
		event.preventDefault();
		event.stopPropagation();
		p.root.scrollIntoView({ block: "start" });
		p.root.focus({ preventScroll: true });
		if (key !== p.model.get("chosen")) p.act("choose", key);
	};
	model.on("msg:custom", told);
	p.root.addEventListener("change", change);
	document.addEventListener("click", follow, true);
	return () => {
		model.off("msg:custom", told);
		document.removeEventListener("click", follow, true);
		close();
	};
}

export default { render: ({ model, el }) => openChooser(model, el) };
