// Scrolls a picture into view whose cell the reader has just run: JupyterLab's Shift+Enter shows the next cell instead.

const AFTER_MS = [50, 400, 1000], // JupyterLab scrolls meanwhile, once or twice
	MARGIN_PX = "6px";

// Return whether the reader has run this element's cell a moment ago, and it alone. Its number is the newest, no other
// cell runs or waits, the active cell is this one or the next, and a key or a click came within the last seconds. A
// page that is restored lacks the key; Run All has cells that wait.
function isRunByItself(el: Element): boolean {
	const cell = el.closest(".jp-CodeCell"),
		notebook = cell?.closest(".jp-Notebook");
	if (!cell || !notebook || !navigator.userActivation?.isActive) return false;
	const cells = [...notebook.querySelectorAll(".jp-Cell")],
		promptOf = (one: Element) => one.querySelector(".jp-InputPrompt")?.textContent ?? "",
		numberOf = (one: Element) => Number(/\d+/.exec(promptOf(one))?.[0] ?? 0),
		beyond = cells.findIndex((one) => one.matches(".jp-mod-active")) - cells.indexOf(cell),
		others = cells.filter((one) => one !== cell);
	if (beyond !== 0 && beyond !== 1) return false;
	if (others.some((one) => promptOf(one).includes("*"))) return false;
	return promptOf(cell).includes("*") || others.every((one) => numberOf(one) < numberOf(cell));
}

export function reveal(el: HTMLElement): void {
	if (!isRunByItself(el)) return;
	const room = el.closest(".jp-WindowedPanel-outer") ?? document.documentElement,
		{ signal, abort } = stopper();
	for (const name of ["wheel", "pointerdown", "keydown", "touchstart"])
		document.addEventListener(name, abort, { signal, capture: true, passive: true });
	for (const after of AFTER_MS) {
		setTimeout(() => {
			if (signal.aborted) return;
			el.style.scrollMargin = MARGIN_PX;
			el.scrollIntoView({ block: el.offsetHeight > room.clientHeight ? "start" : "nearest" });
			if (after === AFTER_MS.at(-1)) abort();
		}, after);
	}
}

// A signal that stops what listens to it, or waits for its turn.
function stopper(): { signal: AbortSignal; abort: () => void } {
	const controller = new AbortController();
	return { signal: controller.signal, abort: () => controller.abort() };
}
