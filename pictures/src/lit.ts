// What pictures use of lit-html; its `svg` is named `drawing` here.

import { svg, type TemplateResult } from "lit-html";

export { html, nothing, render, svg as drawing, type TemplateResult } from "lit-html";
export { keyed } from "lit-html/directives/keyed.js";
export { live } from "lit-html/directives/live.js";
export { repeat } from "lit-html/directives/repeat.js";
export { unsafeHTML } from "lit-html/directives/unsafe-html.js";

const cut = (value: unknown) => (typeof value === "number" ? Math.round(value * 10) / 10 : value);

// The markup of a vector graphic with numbers to a tenth of a pixel.
export const scaled = (texts: TemplateStringsArray, ...values: unknown[]): TemplateResult<2> =>
	svg(texts, ...values.map(cut));
