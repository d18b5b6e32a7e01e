// What a page without a kernel brings: the model of a picture, which keeps its values in the page, and two themes.

import "./page_shell.css";

export class PageModel {
	constructor(values) {
		Object.assign(this, { values, heard: {} });
	}
	get(name) {
		return this.values[name];
	}
	set(name, value) {
		if (this.values[name] === value) return;
		this.values[name] = value;
		this.fire(`change:${name}`);
	}
	on(name, hear) {
		(this.heard[name] ??= []).push(hear);
	}
	off(name, hear) {
		this.heard[name] = (this.heard[name] ?? []).filter((one) => one !== hear);
	}
	fire(name, ...told) {
		for (const hear of this.heard[name] ?? []) hear(...told);
	}
	save_changes() {}
}

export function chooseTheme(button) {
	const { dataset } = document.documentElement,
		dark = () => (dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	button.addEventListener("click", () => (dataset.theme = dark() ? "light" : "dark"));
}
