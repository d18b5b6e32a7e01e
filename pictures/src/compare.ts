// Two runs from where they part, with one cursor: what is the same is drawn once, what differs side by side.

import "./compare.css";
import { time } from "./basics";
import { SAVE_MS } from "./journey";
import { html, nothing, type TemplateResult } from "./lit";
import { freshIn } from "./log_cells";
import { Panel, type PanelValues, shows } from "./panel";
import { openRun } from "./run";
import { isInternal, keyedOf, stripOf } from "./sequence_logs";
import { foundIn, placedFindings } from "./sequence_verdict";
import type { LogsShown } from "./sequence_view";
import { linesOf, verdictOf } from "./side_by_side";
import { eventSign } from "./signs";
import type { Report, Run } from "./types";

// A row: a step of each run, or -1; whether both say the same; what each says besides.
type Row = [number, number, boolean, string?, string?];

interface Values extends PanelValues {
	left: string;
	right: string;
	names: string[];
	rows: Row[];
	row: number;
	apart: number;
	verdicts: Report[];
}

// One run at its step; also what the parts of a sequence need to draw it.
interface Side extends LogsShown {
	step: number;
	report: Report | undefined;
	lines: Record<string, string>;
}

const ROWS_SHOWN = 40;
const MOVES = [
	["home", "|◂", "First row"],
	["left", "◂", "Row before"],
	["right", "▸", "Next row"],
	["end", "▸|", "Last row"],
] as const;

const wordsAt = (run: Run, step: number, data = "") =>
	step < 0 ? "" : `${step} ${run.events[step]?.text}${data ? ` (${data})` : ""}`;

class Compare extends Panel<Values> {
	readonly name = "compare";
	readonly title = "Compare";
	override readonly traits = ["left", "right", "rows", "row", "names", "verdicts"] as const;
	override readonly keys = { d: "difference" };
	private row = 0; // the cursor, of which the kernel learns later
	private told = -1;
	private runs: Array<{ packed: string; run: Run }> = [];
	private sides: Side[] = [];
	private asked: Row[] | undefined;
	private saving = 0;

	get rows() {
		return this.get("rows");
	}
	get current(): Row {
		return this.rows[this.row] ?? [-1, -1, true];
	}

	protected override listen() {
		super.listen();
		const sized = new ResizeObserver(() => this.toTheRow());
		sized.observe(this.$(".columns"));
		this.on(() => sized.disconnect());
		this.on(() => clearTimeout(this.saving));
		this.$(".where").setAttribute("aria-live", "polite");
	}
	override show() {
		this.load();
		super.show();
	}
	private load() {
		if (this.told !== this.get("row")) this.row = this.told = this.get("row");
		this.runs = [this.get("left"), this.get("right")].map((packed, side) => {
			const known = this.runs[side];
			return known?.packed === packed ? known : { packed, run: openRun(packed) };
		});
		this.sides = this.runs.map(({ run }, side) => {
			const step = this.rows.slice(0, this.row + 1).findLast((row) => (row[side] as number) >= 0)?.[side] as number,
				report = this.get("verdicts")[side];
			return sideAt(run, step ?? 0, report);
		});
	}
	override change() {
		const apart = this.get("apart");
		this.root.dataset.row = String(this.row);
		this.say(
			apart < 0
				? "The runs are the same to their end."
				: `The runs are the same up to step ${apart - 1}; at step ${apart} they part.`,
			"",
		);
	}
	override draw() {
		super.draw();
		this.toTheRow();
		this.askVerdicts();
	}
	override where() {
		const told = this.sides.map(({ run }, side) => {
			const step = this.current[side] as number;
			return step < 0 ? "" : ` ${this.get("names")[side]}: ${run.events[step]?.text}`;
		});
		return html`row ${this.row + 1} of ${this.rows.length}<span class="aloud">.${told.join("")}</span>`;
	}

	inside() {
		const first = Math.max(0, Math.min(this.row - ROWS_SHOWN / 2, this.rows.length - ROWS_SHOWN)),
			shown = this.rows.slice(first, first + ROWS_SHOWN),
			keys = [...new Set(this.sides.flatMap(({ lines }) => Object.keys(lines)))],
			moves = MOVES.map(([action, sign, name]) => this.tool(action, sign, { name, title: name }));
		return html`<div class="bar"><div>${moves}</div>${this.tool("difference", "≠ where they part")}</div>
			<div class="names">${this.sides.map((side, i) => this.head(side, i))}</div>
			<div class="columns" role="list" tabindex="0" aria-label="Both runs">${
				first ? html`<div class="more"><small>${first} earlier rows</small></div>` : ""
			}${shown.map((row, i) => this.pair(row, first + i))}</div>
			<div class="below logs">${keys.map((key) => this.held(key))}</div>`;
	}
	private head({ run, report }: Side, side: number) {
		const { broken, words } = verdictOf(report),
			name = this.get("names")[side] ?? "",
			step = this.current[side] as number,
			here = step < 0 ? "" : html`<small>${step}</small> ${run.events[step]?.text}`,
			all = broken.map(
				({ words, later }, i) => html`${i ? ", " : ""}<b class=${later ? "later" : "forbidden"}>${words}</b>`,
			);
		return html`<div class="side"><p><b class="run" title=${name}>${name}</b></p>
			<p><span class="verdict" title=${report?.sentence ?? ""}>${words}${all}</span></p><p class="here">${here}</p></div>`;
	}
	private pair(row: Row, i: number) {
		const [left, right, same, ...data] = row,
			apart = this.get("apart"),
			once = same && left === right && (apart < 0 || left < apart),
			[one = "", other = ""] = this.sides.map(({ run }, side) => wordsAt(run, row[side] as number, data[side])),
			cells = this.sides.map(({ run }, side) => cellAt(run, row[side] as number, once, data[side]));
		return html`<div class="pair ${same ? "" : "differs"} ${once ? "once" : ""}" data-row=${i} role="listitem"
			aria-current=${i === this.row} data-action="goto" data-target=${i} data-left=${one} data-right=${other}
			aria-label=${same ? `the same: ${one}` : `${one || "nothing"} | ${other || "nothing"}`}
			title=${once ? one : `${one}\n${other}`}><i>${same ? "=" : "≠"}</i>${cells[0]}${once ? "" : cells[1]}</div>`;
	}
	// A transaction or a log, of both sides.
	private held(key: string) {
		const [one = "", other = ""] = this.sides.map(({ lines }) => lines[key]),
			same = one === other,
			[left, right] = this.sides.map((side) => heldBy(side, key));
		return html`<div class="pair ${same ? "once" : "differs"}" data-state=${key} data-left=${one} data-right=${other}>
			<i>${same ? "=" : "≠"}</i>${left}${same ? "" : right}</div>`;
	}

	// Scrolls to the cursor's row and to what differs below; again once the widget has a size, which it lacks at first.
	private toTheRow() {
		const box = this.$(".columns"),
			below = this.$(".below"),
			current = this.$('.columns [aria-current="true"]'),
			apart = this.$(".below .differs"),
			under = (part: Element, inside: Element) => part.getBoundingClientRect().top - inside.getBoundingClientRect().top;
		below.scrollTop = apart ? below.scrollTop + under(apart, below) : 0;
		if (!current) return;
		const above = under(current, box);
		if (above < 4 || above > box.clientHeight - 40) box.scrollTop += above - box.clientHeight / 3;
	}
	// Asks the kernel, once for two runs, when they have been painted.
	private askVerdicts() {
		if (this.get("verdicts").length || this.asked === this.rows) return;
		this.asked = this.rows;
		requestAnimationFrame(() => setTimeout(() => this.model.send({ kind: "check" })));
	}

	override why(action: string) {
		return action === "difference" && this.get("apart") < 0 ? "the runs are the same to their end" : "";
	}
	override act(action: string, target: string) {
		const apart = this.get("apart"),
			moves: Record<string, number> = {
				left: this.row - 1,
				right: this.row + 1,
				home: 0,
				end: this.rows.length - 1,
				goto: Number(target),
				difference: apart < 0 ? this.row : this.rows.findIndex(([a, b]) => Math.max(a, b) >= apart),
			},
			to = moves[action];
		if (to === undefined) return true;
		this.row = this.told = Math.max(0, Math.min(to, this.rows.length - 1));
		this.model.set("row", this.row);
		clearTimeout(this.saving);
		this.saving = setTimeout(() => this.model.save_changes(), SAVE_MS);
		return true;
	}

	help() {
		return html`<p><small>d</small>Where the runs part</p>
			<p>= both runs say the same; ≠ one says it, or they say it differently. What both share before they part, and a log
			that is the same in both, is drawn once.</p>
			<p>Below: transactions and logs at the cursor, on a side without a row as it was before; of a long log the last 16
			batches. Beside the names: what the checks say of each run to its end.</p>`;
	}
}

function sideAt(run: Run & { keyed?: LogsShown["keyed"] }, step: number, report: Report | undefined): Side {
	run.keyed ??= keyedOf(run);
	return {
		run,
		step,
		report,
		state: run.at(step),
		lines: linesOf(run, step),
		keyed: run.keyed,
		fresh: freshIn(run.events[step]?.patch ?? []),
		levels: Object.fromEntries(run.partitions.map((partition) => [partition, []])),
		...placedFindings(report ? foundIn(report) : null, step),
	};
}

const GAP = html`<span class="gap"></span>`;

function cellAt(run: Run, step: number, once: boolean, data = ""): TemplateResult {
	const event = run.events[step];
	if (!event) return GAP;
	return html`<span class="cell-of">${eventSign(run, event, once ? step : Infinity)}${
		data ? html`<b class="data">${data}</b>` : ""
	}<small class="at">${time(event.at)}</small></span>`;
}

// A transaction or a log of one side.
function heldBy(side: Side, key: string) {
	const { run, state, lines } = side,
		t = state.txns[key];
	if (!lines[key]) return GAP;
	if (!t) {
		return html`<section class="strip ${isInternal(key) ? "internal" : ""}">
			<div class="grid">${stripOf(side, key)}</div></section>`;
	}
	const where = t.partitions.length ? ` · in ${t.partitions.join(", ")}` : "";
	return html`<div class="held txn">
		<div class="label txn-coordinator"><b>${key}</b> <small>on ${run.label(t.node)}</small></div>
		<b class="extra active">${t.state}</b><p>${t.pending ? html`<i>→ ${t.pending}, pending</i>` : nothing}
		<small>producer ${t.producer_id}, epoch ${t.epoch}${where}</small></p></div>`;
}

export default shows(Compare);
