// What pictures use of lit-html, and two kinds of markup made of it.

import { html, type nothing, svg, type TemplateResult } from "lit-html";
import { rounded } from "./basics";

export { html, nothing, render, svg, type TemplateResult } from "lit-html";
export { keyed } from "lit-html/directives/keyed.js";
export { live } from "lit-html/directives/live.js";
export { repeat } from "lit-html/directives/repeat.js";
export { unsafeHTML } from "lit-html/directives/unsafe-html.js";

export type Markup = TemplateResult | string | typeof nothing;

// The markup of a vector graphic with numbers to a tenth of a pixel.
export const scaled = (texts: TemplateStringsArray, ...values: unknown[]): TemplateResult<2> =>
	svg(texts, ...values.map(rounded));

// A name with places to break after what `cut` finds.
export const breaks = (name: string, cut = /(?<=_)/): Markup[] =>
	name.split(cut).map((part, i) => (i ? html`<wbr>${part}` : part));
