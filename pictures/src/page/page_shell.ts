// What a page that is only a picture brings: two themes.

import "./page_shell.css";

export function chooseTheme(button: Element) {
	const { dataset } = document.documentElement,
		dark = () => (dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
	button.addEventListener("click", () => (dataset.theme = dark() ? "light" : "dark"));
}
