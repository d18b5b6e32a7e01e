// What pictures use of lit-html; the markup of vector graphics is named `drawing`, because `svg` still makes text in
// markup.ts.

export { html, nothing, render, svg as drawing, type TemplateResult } from "lit-html";
export { keyed } from "lit-html/directives/keyed.js";
export { live } from "lit-html/directives/live.js";
export { repeat } from "lit-html/directives/repeat.js";
export { unsafeHTML } from "lit-html/directives/unsafe-html.js";
