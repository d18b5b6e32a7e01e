// Four machines side by side: one transfer, one press on all, one moment.
//
// How each ends, its logs, its newest frames; all frames of one machine on demand.

import "./alternatives.css";
import { html, nothing, repeat, svg } from "./lit";
import { type Keys, Panel, type PanelValues, shows } from "./panel";

type Part = "committed" | "aborted" | "in doubt" | "down";

interface Row {
	step: number;
	at: number;
	kind: "frame" | "append" | "state" | "crash" | "recover" | "more";
	from: string;
	to: string;
	label: string;
	fate: string;
	text: string;
	dashed?: boolean;
}

// What is shown of a machine at each moment: see `panel_of`.
interface Machine {
	model: string;
	nodes: Array<{ id: string; role: string }>;
	rows: Row[];
	places: Record<string, [number, boolean]>;
	logs: Record<string, Array<[string, Array<[string, string]>]>>;
	down: Record<string, string[]>;
	parts: Array<[string, Part]>;
	told: string;
}

// Each press: its name, which its button says, and its sentence.
interface Values extends PanelValues {
	panels: Machine[];
	presses: Array<[string, string]>;
	pressed: string;
	again: boolean;
	place: string;
}

const LANE = 44,
	LINE = 18,
	GAP_MS = 400,
	SIGN: Record<Part, string> = { committed: "✓", aborted: "✕", "in doubt": "…", down: "✕" };

// What an entry is drawn as: a record that is open or decided, which its sign says, a marker, or something else.
function cellOf(text: string, kind: string) {
	if (/ [✓✕]$/.test(text)) return kind === "commit" ? "committed" : "aborted";
	if (/^(commit|abort)\b/i.test(text)) return `marker ${kind.toUpperCase()}`;
	return kind === "open" ? kind : "";
}
const laneOf = ({ nodes }: Machine, node: string) => {
	const at = nodes.findIndex(({ id }) => id === node);
	return at < 0 ? undefined : LANE / 2 + at * LANE;
};

// The arrow of a frame between two lanes, or from a lane to itself.
function arrow(from: number, to: number) {
	const way = to >= from ? 1 : -1,
		y = LINE / 2;
	return to === from
		? `M${from},${y - 4}h14v8H${from + 3}m5,-4l-5,4l5,4`
		: `M${from},${y}H${to - 3 * way}m${-5 * way},-4l${5 * way},4l${-5 * way},4`;
}

function signOfRow({ kind, dashed, fate }: Row, from = -LANE, to = from) {
	if (kind === "more" || (from < 0 && kind !== "frame")) return nothing;
	if (kind !== "frame")
		return svg`<rect class="chip ${kind}" x=${from - 5} y=${LINE / 2 - 5} width="10" height="10"
			rx=${kind === "state" ? 5 : 0} />`;
	const cross = svg`<text class="cross" x=${to} y=${LINE / 2 + 4}>✕</text>`;
	return svg`<path class="arrow ${dashed ? "answer" : ""}" d=${arrow(from, to)} />${fate === "lost" ? cross : ""}`;
}

class Alternatives extends Panel<Values> {
	readonly name = "alternatives";
	readonly title = "Four machines";
	override readonly traits = ["panels", "pressed", "again", "place"] as const;
	override readonly keys: Keys = {
		...Object.fromEntries(this.get("presses").map(([name], i) => [String(i + 1), name])),
		a: "again",
		f: "frames",
	};
	private opened = ""; // the machine of which all frames are shown

	get places() {
		return Object.keys(this.get("panels")[0]?.places ?? {});
	}
	get at() {
		return this.places.indexOf(this.get("place"));
	}

	override change() {
		const [, said = ""] = this.get("presses").find(([name]) => name === this.get("pressed")) ?? [],
			again = this.get("again") ? " What has crashed starts again after two minutes." : "",
			words = `${said}${again} Moment: ${this.get("place")}.`;
		Object.assign(this.root.dataset, { place: this.get("place"), pressed: this.get("pressed"), opened: this.opened });
		if (this.$(".now").textContent !== words) this.say(words);
	}
	override where() {
		return `${this.at + 1} of ${this.places.length}: ${this.get("place")}`;
	}

	inside() {
		const place = this.get("place"),
			presses = this.get("presses").map(([name, title], i) =>
				this.tool(name, `${i + 1} ${name}`, { title, pressed: name === this.get("pressed") }),
			),
			again = this.tool("again", "restart", {
				title: "What has crashed starts again after two minutes",
				pressed: this.get("again"),
			}),
			moments = this.places.map((name) => this.tool("goto", name, { target: name, pressed: name === place }));
		return html`<div class="presses" role="group" aria-label="Press on all four">${presses}
			${again}</div>
			<div class="moments" role="group" aria-label="Moment">${this.tool("left", "◂", { name: "back" })}${moments}
			${this.tool("right", "▸", { name: "forward" })}</div>
			<div class="four">${this.get("panels").map((machine) => this.machine(machine, place))}</div>`;
	}
	private machine(machine: Machine, place: string) {
		const { model, places, logs, down } = machine,
			[step = 0, came = true] = places[place] ?? [],
			rows = machine.rows.filter((row) => row.step <= step),
			open = this.opened === model,
			frames = this.tool("frames", open ? "all four" : `all ${rows.length} frames`, {
				target: model,
				name: open ? `all four, not ${model} alone` : `all ${rows.length} frames and events of ${model}`,
				pressed: open,
			});
		const shown = rows.map((row, i) => ({ row, before: rows[i - 1] })),
			heads = this.lanes(machine, down[place] ?? []),
			ended = place === this.places.at(-1),
			verdict = ended ? this.verdict(machine) : "";
		return html`<section role="group" aria-label=${model} class=${open ? "open" : ""} ?hidden=${this.opened && !open}>
			<header><h4 role="none">${model}</h4>${came ? "" : html`<em>“${place}” never comes</em>`}
			${open ? verdict : ""}<span class="told">${ended ? machine.told : ""}</span>${frames}</header>
			${open ? "" : verdict}
			<div class="logs">${logs[place]?.map(([name, cells]) => this.log(name, cells))}</div>
			<div class="heads">${heads}${open ? heads : ""}</div>
			<ol class="rows" style="--half:${Math.ceil(rows.length / 2)}" tabindex=${open ? 0 : nothing}
			aria-label="frames and events of ${model}">${repeat(
				open ? shown : shown.reverse(),
				({ row }) => row.step,
				({ row, before }) => this.row(machine, row, before),
			)}</ol></section>`;
	}
	private verdict({ parts }: Machine) {
		return html`<p class="ended">${parts.map(
			([text, state]) => html`<span class="part ${state.replace(" ", "-")}">${SIGN[state]} ${text}</span>`,
		)}</p>`;
	}
	private log(name: string, cells: Array<[string, string]>) {
		const cell = ([text, kind]: [string, string]) =>
			html`<span class="cell ${cellOf(text, kind)}"><span class="text">${text}</span></span>`;
		return html`<p class="log"><b>${name}</b>${cells.map(cell)}</p>`;
	}
	private lanes(machine: Machine, down: string[]) {
		return html`<p class="lanes">${machine.nodes.map(
			({ id, role }) =>
				html`<b class="lane ${role} ${down.includes(id) ? "down" : ""}" title=${role}>${
					down.includes(id) ? "✕" : ""
				}${id}</b>`,
		)}</p>`;
	}
	private row(machine: Machine, row: Row, before: Row | undefined) {
		const gap = before && row.at - before.at >= GAP_MS ? `after ${((row.at - before.at) / 1000).toFixed(1)} s: ` : "",
			wide = machine.nodes.length * LANE,
			lives = machine.nodes.map(({ id }) => `M${laneOf(machine, id)},0V200`).join(""),
			lost = row.fate === "lost";
		return html`<li data-step=${row.step} title="${row.at} ms: ${row.text}">
			<svg viewBox="0 0 ${wide} ${LINE}" style="width:${wide / 13}em;height:${LINE / 13}em" aria-hidden="true">
			<path class="life" d=${lives} />${signOfRow(row, laneOf(machine, row.from), laneOf(machine, row.to))}</svg>
			<span class="label ${lost ? "lost" : ""}"><small>${gap}</small>${row.label}${lost ? " ✕ lost" : ""}</span></li>`;
	}

	override why(action: string) {
		if ((action === "left" || action === "home") && this.at === 0) return "this is the first moment";
		return (action === "right" || action === "end") && this.at === this.places.length - 1
			? "this is the last moment"
			: "";
	}
	override act(action: string, target: string) {
		const { places, at } = this,
			last = places.length - 1,
			moves: Record<string, number> = { left: at - 1, right: at + 1, home: 0, end: last, goto: places.indexOf(target) },
			to = places[moves[action] ?? -1];
		if (action === "frames") this.turnTo(target);
		else if (to === undefined) this.model.send({ kind: "press", action, target });
		else this.set("place", to);
		this.draw();
		return true;
	}
	// All frames of a machine, or all four again; without a name those of the next machine.
	private turnTo(model: string) {
		const models = ["", ...this.get("panels").map((machine) => machine.model)],
			next = models[(models.indexOf(this.opened) + 1) % models.length] ?? "";
		this.opened = model ? (this.opened === model ? "" : model) : next;
	}

	help() {
		return html`<p><small>1 … 5</small>The same press on all four</p>
			<p><small>a</small>Start what has crashed again, after two minutes</p>
			<p><small>← →</small>The moment before, the next moment</p>
			<p><small>f</small>All frames of one machine, of the next, of none</p>`;
	}
}

export default shows(Alternatives);
