// The tree of a journey's runs: a line for each, joined to the run that it was made of.

import { svg, html, type TemplateResult } from "./lit";
import type { Fork } from "./types";

type Line = { depth: number; run: Fork };

// The runs with their depth, each right after its parent and that one's earlier children.
export function inOrder(tree: Fork[], parent = -1, depth = 0): Line[] {
	return tree
		.filter((run) => run.parent === parent)
		.flatMap((run) => [{ depth, run }, ...inOrder(tree, run.id, depth + 1)]);
}

const labelOf = ({ label }: Fork) => label.replace("(frame=", "(") || "the scenario";
const kindOf = ({ outcome }: Fork) => outcome.split(" ")[0] ?? "";

function describe(run: Fork) {
	const from = run.parent >= 0 ? `, from step ${run.at}` : "";
	return `${run.id} ${run.name ? `${run.name}: ` : ""}${labelOf(run)}${from}, ${run.outcome}`;
}

// For each line its dot, joined to its parent's.
function branches(lines: Line[], height: number, place: number) {
	const x = (depth: number) => 9 + depth * 16,
		y = (i: number) => (i + 0.5) * height,
		lineOf = new Map(lines.map(({ run }, i) => [run.id, i]));
	const joins = lines.map(({ depth, run }, i) => {
		const above = lineOf.get(run.parent);
		if (above === undefined) return "";
		return svg`<path d="M${x(depth - 1)},${y(above)}V${y(i) - 7}q0,7 7,7H${x(depth)}" />`;
	});
	const dots = lines.map(({ depth, run }, i) => {
		const here = run.id === place;
		return svg`<circle class=${here ? "here" : kindOf(run)} cx=${x(depth)} cy=${y(i)} r=${here ? 6 : 4.5} />`;
	});
	return svg`<g>${joins}${dots}</g>`;
}

// `tool` makes a line's button, which goes to the run; `height` is that of a line.
export function treeOf(
	tree: Fork[],
	place: number,
	height: number,
	tool: (run: Fork, label: TemplateResult, title: string) => TemplateResult,
) {
	const lines = inOrder(tree),
		deepest = Math.max(...lines.map(({ depth }) => depth));
	const runs = lines.map(({ depth, run }) => {
		const label = html`${run.id}&ensp;${run.name ? html`<b>${run.name}</b> ` : ""}<code>${labelOf(run)}</code>`;
		return html`<div class="run" aria-current=${run.id === place} style="padding-left:${22 + depth * 16}px">
			${tool(run, label, describe(run))}<em class=${kindOf(run)}>${run.outcome}</em></div>`;
	});
	return html`<div style="--row:${height}px">
		<svg width=${30 + deepest * 16} height=${lines.length * height} aria-hidden="true">
		${branches(lines, height, place)}</svg>${runs}</div>`;
}
