// The module of every picture in a notebook: it loads the picture's parts, which the kernel sends once, once a page.

const loaded = (globalThis.kafkalabParts ??= new Map()); // by their text, so that versions of kafkalab do not mix

function once(text, load) {
	if (!loaded.has(text)) loaded.set(text, load(text));
	return loaded.get(text);
}

const addressOf = (code) => once(code, () => URL.createObjectURL(new Blob([code], { type: "text/javascript" })));

function addStyle(css) {
	const style = once(css, () => Object.assign(document.createElement("style"), { textContent: css }));
	if (!style.isConnected) document.head.append(style);
}

// The modules of the parts of a picture: the common one and its own.
async function modulesOf(model) {
	const partOf = (name) => model.widget_manager.get_model(name.slice("IPY_MODEL_".length)),
		parts = await Promise.all(model.get("parts").map(partOf)),
		[common, own] = parts.map((part) => part.get("code"));
	for (const part of parts) addStyle(part.get("css"));
	const all = [addressOf(common), addressOf(own.replaceAll("kafkalab:common", addressOf(common)))];
	return Promise.all(all.map((address) => import(address)));
}

async function render(given) {
	const [{ reveal }, { default: picture }] = await modulesOf(given.model),
		close = await picture.render(given);
	reveal(given.el);
	return close;
}

export default { render };
