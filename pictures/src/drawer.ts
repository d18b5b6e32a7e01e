// The fault panel in a drawer: over a column that the diagram leaves free, or below everything where there is no room.

import { openFaults } from "./fault_rows";
import { sizeOf } from "./run";
import type { View } from "./sequence_view";

const NARROW_EM = 52;

// The size of all pictures of the page: a projector's, or a laptop's.
export function enlarge({ model, journey }: View) {
	document.documentElement.dataset.klabSize = sizeOf(model, journey) === "projector" ? "laptop" : "projector";
	document.dispatchEvent(new Event("klab-size"));
}

// What opens and closes the panel beside `v`; both are in `pair`.
export class Drawer {
	private readonly v: View;
	private readonly pair: HTMLElement;
	private readonly watch = new ResizeObserver(() => this.place());
	private aside: HTMLElement | undefined;
	private shut = () => {};

	constructor(v: View, pair: HTMLElement) {
		this.v = v;
		this.pair = pair;
		for (const one of [v.root, v.$("beside")]) this.watch.observe(one);
	}

	toggle() {
		if (this.aside) this.hide();
		else this.show();
	}

	close() {
		this.remove();
		this.watch.disconnect();
	}

	private place() {
		const { aside, v } = this;
		if (!aside) return;
		const under = v.root.clientWidth < NARROW_EM * v.u;
		v.root.classList.toggle("faulting", !under);
		aside.classList.toggle("under", under);
		const [free, room] = [v.$("beside"), this.pair].map((e) => e.getBoundingClientRect()),
			places = { left: free.left - room.left, top: free.top - room.top, width: free.width, height: free.height };
		for (const [name, value] of Object.entries(places)) aside.style.setProperty(name, under ? "" : `${value}px`);
	}

	private async show() {
		const { v } = this,
			aside = document.createElement("aside");
		v.root.classList.remove("inspecting");
		aside.className = "klab-aside";
		this.aside = this.pair.appendChild(aside);
		this.place();
		v.redraw();
		const close = await openFaults(v.model, aside);
		if (this.aside !== aside) return close();
		this.shut = close;
		const cross = document.createElement("button");
		Object.assign(cross, { type: "button", textContent: "×", title: "Close (p)", ariaLabel: "Close the faults" });
		cross.addEventListener("click", () => this.hide());
		aside.querySelector(".bar")?.append(cross);
		aside.addEventListener("keydown", (event) => this.press(event, aside), true);
		(aside.firstElementChild as HTMLElement).focus({ preventScroll: !aside.matches(".under") });
	}

	private press(event: KeyboardEvent, aside: HTMLElement) {
		const { key, ctrlKey, metaKey, altKey } = event,
			help = aside.querySelector<HTMLElement>(".help");
		if (ctrlKey || metaKey || altKey || (event.target as Element).matches("input, select")) return;
		if (key !== "p" && (key !== "Escape" || !help?.hidden)) return;
		event.stopPropagation();
		event.preventDefault();
		this.hide();
	}

	private remove() {
		this.shut();
		this.shut = () => {};
		this.aside?.remove();
		this.aside = undefined;
		this.v.root.classList.remove("faulting");
	}

	private hide() {
		this.remove();
		this.v.redraw();
		this.v.root.focus({ preventScroll: true });
	}
}
