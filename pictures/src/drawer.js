// The fault panel in a drawer: over a column that the diagram leaves free, or below everything where there is no room.

import { openFaults } from "./fault_rows";
import { parse, sizeOf } from "./run";

const NARROW_EM = 52;

// The size of all pictures of the page: a projector's, or a laptop's.
export function enlarge({ model, journey }) {
	document.documentElement.dataset.klabSize = sizeOf(model, journey) === "projector" ? "laptop" : "projector";
	document.dispatchEvent(new Event("klab-size"));
}

// What opens and closes the panel beside `v`; both are in `pair`.
export function drawerOf(v, pair) {
	const { root, model, $ } = v;
	let aside = null,
		shut = () => {};

	function place() {
		if (!aside) return;
		const under = root.clientWidth < NARROW_EM * v.u;
		root.classList.toggle("faulting", !under);
		aside.classList.toggle("under", under);
		const [free, room] = [$("beside"), pair].map((e) => e.getBoundingClientRect());
		const places = { left: free.left - room.left, top: free.top - room.top, width: free.width, height: free.height };
		for (const name in places) aside.style[name] = under ? "" : `${places[name]}px`;
	}

	const watch = new ResizeObserver(place);
	for (const one of [root, $("beside")]) watch.observe(one);

	async function show() {
		root.classList.remove("inspecting");
		aside = pair.appendChild(parse(pair, `<aside class="klab-aside"></aside>`));
		place();
		v.redraw();
		const mine = aside,
			close = await openFaults(model, mine);
		if (aside !== mine) return close();
		shut = close;
		const cross = parse(mine, `<button type="button" aria-label="Close the faults" title="Close (p)">×</button>`);
		mine.querySelector("header").append(cross);
		cross.addEventListener("click", hide);
		mine.addEventListener("keydown", keyed, true);
		mine.firstElementChild.focus({ preventScroll: !mine.matches(".under") });
	}

	function keyed(event) {
		const { key, target, ctrlKey, metaKey, altKey } = event,
			help = aside.querySelector(".help");
		if (ctrlKey || metaKey || altKey || target.matches("input, select")) return;
		if (key !== "p" && (key !== "Escape" || !help.hidden)) return;
		event.stopPropagation();
		event.preventDefault();
		hide();
	}

	function close() {
		shut();
		shut = () => {};
		aside?.remove();
		aside = null;
		root.classList.remove("faulting");
	}

	function hide() {
		close();
		v.redraw();
		root.focus({ preventScroll: true });
	}

	return { toggle: () => (aside ? hide() : show()), close: () => (close(), watch.disconnect()), isOpen: () => !!aside };
}
