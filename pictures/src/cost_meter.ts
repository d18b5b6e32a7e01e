// What the run has cost up to the step that is shown: the rows of kafkalab/history/costs.py, cut at that step.

import "./cost_meter.css";
import { type Column, type Costs, type Row, costRows } from "./costs";
import { html } from "./lit";
import { JourneyPanel, type PanelValues, shows } from "./panel";

interface Values extends PanelValues {
	costs?: Partial<Costs>;
	by: "api" | "phase";
}

const HEADS: Record<Column, string> = {
	frames: "frames",
	bytes: "bytes",
	entries: "log entries",
	round_trips: "round trips",
	ms: "ms",
};
// Before Python has counted.
const NONE: Costs = { trips: [], entries: [], decided: [], phases: {}, order: [], start: "" };
const COLUMNS = Object.keys(HEADS) as Column[];

function format(value: number | null, digits: number) {
	return value?.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }) ?? "–";
}

class CostMeter extends JourneyPanel<Values> {
	readonly name = "cost";
	readonly title = "Cost meter";
	override readonly traits = ["costs", "by"] as const;
	override readonly keys = { b: "by" };

	private get costs(): Costs {
		return { ...NONE, ...this.get("costs") };
	}

	override change() {
		const { decided } = costRows(this.costs, this.get("by"), this.step);
		this.say(`${decided || "No"} transaction${decided === 1 ? "" : "s"} decided by step ${this.step}.`);
	}
	override where() {
		return `run ${this.journey.get("place")} · step ${this.step}`;
	}

	inside() {
		const by = this.get("by"),
			{ rows, whole } = costRows(this.costs, by, this.step),
			choice = (one: Values["by"]) =>
				this.tool("by", `by ${one === "api" ? "API" : one}`, { target: one, pressed: by === one }),
			heads = [by === "api" ? "API" : "phase", ...COLUMNS.map((column) => HEADS[column])];
		return html`<p class="by">${choice("api")} ${choice("phase")}</p><div class="costs"><table>
			<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
			<tbody>${rows.map((row) => this.line(row, whole))}</tbody></table></div>`;
	}
	private line(row: Row, whole: Row) {
		const sum = row.name === "all" || row.name === "per transaction",
			part = (column: Column) => (sum ? 0 : Math.round((100 * (row[column] ?? 0)) / (whole[column] || 1))),
			digits = row.name === "per transaction" ? 1 : 0,
			cell = (column: Column) => html`<td style="--part:${part(column)}%">${format(row[column], digits)}</td>`;
		return html`<tr class=${sum ? "sum" : ""}><th scope="row">${row.name}</th>${COLUMNS.map(cell)}</tr>`;
	}

	override act(action: string, target: string) {
		if (action !== "by") return false;
		this.set("by", (target as "") || (this.get("by") === "api" ? "phase" : "api"));
		this.draw();
		return true;
	}

	help() {
		return html`<p><small>b</small>By API, by phase</p>
			<p>What was spent up to the step shown. Round trips: those that could only come one after another.
			ms: how long at least one of them was under way. Per transaction: without the phase start.</p>`;
	}
}

export default shows(CostMeter);
