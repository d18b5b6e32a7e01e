// Four machines side by side: one transfer, one press on all, one moment; frames down the page, logs, how it ends.

import "./neighbours.css";
import { openPanel, tool } from "./old_panel";
import { esc, sync } from "./run";

const LANE = 44,
	LINE = 18,
	LABEL_ROOM = 250,
	GAP_MS = 400;

function neighbourPlaces(p) {
	return Object.keys(p.model.get("panels")[0].places);
}

function neighbourRow(row, lanes, y, before) {
	const here = lanes[row.from] ?? -1,
		to = lanes[row.to],
		lost = row.fate === "lost";
	const gap =
		before && row.at - before.at >= GAP_MS
			? `<tspan class="gap">after ${((row.at - before.at) / 1000).toFixed(1)} s: </tspan>`
			: "";
	const label =
		`<text class="label${lost ? " lost" : ""}" x="${lanes.$end}" y="${y + 4}">${gap}${esc(row.label)}` +
		`${lost ? " ✕ lost" : ""}</text>`;
	let sign = "";
	if (row.kind === "frame") {
		const way = to >= here ? 1 : -1,
			line =
				to === here
					? `M${here},${y - 4}h14v8H${here + 3}m5,-4l-5,4l5,4`
					: `M${here},${y}H${to - 3 * way}m${-5 * way},-4l${5 * way},4l${-5 * way},4`;
		sign =
			`<path class="arrow${row.dashed ? " answer" : ""}" d="${line}"/>` +
			(lost ? `<text class="cross" x="${to}" y="${y + 4}">✕</text>` : "");
	} else if (here >= 0 && row.kind !== "more") {
		const round = row.kind === "state" ? ' rx="5"' : "";
		sign = `<rect class="chip ${row.kind}" x="${here - 5}" y="${y - 5}" width="10" height="10"${round}/>`;
	}
	return `<g data-step="${row.step}"><title>${esc(`${row.at} ms: ${row.text}`)}</title>${sign}${label}</g>`;
}

function neighbourPanel(panel, place, big) {
	const [step, came] = panel.places[place],
		scale = big ? 1.75 : 1,
		down = panel.down[place],
		rows = panel.rows.filter((row) => row.step <= step),
		lanes = Object.fromEntries(panel.nodes.map(({ id }, i) => [id, 22 + i * LANE]));
	lanes.$end = 22 + panel.nodes.length * LANE - 14;
	const width = lanes.$end + LABEL_ROOM,
		height = Math.max(rows.length, 1) * LINE + 4;
	const heads = panel.nodes
		.map(
			({ id, role }) =>
				`<text class="lane ${role}${down.includes(id) ? " down" : ""}" x="${lanes[id]}" y="12">` +
				`<title>${esc(role)}</title>${down.includes(id) ? "✕" : ""}${esc(id)}</text>`,
		)
		.join("");
	const lines = panel.nodes.map(({ id }) => `<path class="life" d="M${lanes[id]},0V${height}"/>`).join("");
	const svg = (h, inner, name) =>
		`<svg class="${name}" width="${width * scale}" height="${h * scale}" viewBox="0 0 ${width} ${h}">${inner}</svg>`;
	const cellsOf = (cells) => cells.map(([text, kind]) => `<span class="cell ${kind}">${esc(text)}</span>`).join(""),
		logs = panel.logs[place].map(([name, cells]) => `<p class="log"><b>${esc(name)}</b>${cellsOf(cells)}</p>`).join("");
	const drawn = rows.map((row, i) => neighbourRow(row, lanes, i * LINE + 10, rows[i - 1])).join("");
	const ends = panel.parts
		.map(([text, state]) => `<span class="part ${state.replace(" ", "-")}">${PART_SIGN[state]} ${esc(text)}</span>`)
		.join("");
	const ended = place === "end" ? `<p class="ended">${ends}<span class="told">${esc(panel.told)}</span></p>` : "";
	return (
		`<h4>${esc(panel.model)}${came ? "" : `<em>“${esc(place)}” never comes</em>`}</h4>` +
		svg(16, heads, "heads") +
		`<div class="rows" tabindex="-1">${svg(height, lines + drawn, "frames")}</div>` +
		`<div class="logs">${logs}</div>${ended}`
	);
}

const PART_SIGN = { committed: "✓", aborted: "✕", "in doubt": "…", down: "✕" };

function drawNeighbours(p) {
	const get = (name) => p.model.get(name),
		place = get("place"),
		places = neighbourPlaces(p);
	p.$(".where").textContent = `${places.indexOf(place) + 1} of ${places.length}: ${place}`;
	p.root.dataset.place = place;
	p.root.dataset.pressed = get("pressed");
	for (const button of p.all(".presses [data-action]")) {
		const on = button.dataset.action === "again" ? get("again") : button.dataset.action === get("pressed");
		button.setAttribute("aria-pressed", String(on));
	}
	for (const button of p.all(".moments [data-target]"))
		button.setAttribute("aria-pressed", String(button.dataset.target === place));
	const big = p.root.dataset.size === "projector";
	sync(
		p.$(".four"),
		get("panels").map((panel) => [
			panel.model,
			`<section aria-label="${esc(panel.model)}">${neighbourPanel(panel, place, big)}</section>`,
		]),
	);
	for (const rows of p.all(".rows")) rows.scrollTop = rows.scrollHeight;
	const said = get("presses").find(([name]) => name === get("pressed"))[1],
		again = get("again") ? " What has crashed starts again after two minutes." : "",
		words = `${said}${again} Moment: ${place}.`;
	if (p.$(".now").textContent !== words) p.say(words);
}

function neighbourGo(p, place) {
	p.model.set("place", place);
	p.model.save_changes();
	p.draw();
	return true;
}

function whyNeighbours(p, action) {
	const places = neighbourPlaces(p),
		at = places.indexOf(p.model.get("place"));
	if ((action === "left" || action === "home") && at === 0) return "this is the first moment";
	return (action === "right" || action === "end") && at === places.length - 1 ? "this is the last moment" : "";
}

function actNeighbours(p, action, target) {
	const places = neighbourPlaces(p),
		at = places.indexOf(p.model.get("place"));
	const to = { left: at - 1, right: at + 1, home: 0, end: places.length - 1, goto: places.indexOf(target) }[action];
	if (to !== undefined) return neighbourGo(p, places[to]);
	p.model.send({ kind: "press", action, target: target ?? "" });
	return true;
}

async function openNeighbours(model, el) {
	let p;
	const names = model.get("presses"),
		places = Object.keys(model.get("panels")[0].places);
	const buttons = names.map(([name, says], i) => tool(name, `${i + 1} ${esc(name)}`, "", ` data-title="${esc(says)}"`));
	const keys = { ...Object.fromEntries(names.map(([name], i) => [String(i + 1), name])), a: "again" };
	const close = await openPanel(model, el, {
		name: "neighbours",
		title: "Four machines",
		draw: drawNeighbours,
		act: actNeighbours,
		why: whyNeighbours,
		keys,
		load: (panel) => (p ??= panel),
		traits: ["panels", "pressed", "again", "place"],
		body:
			`<div class="presses" role="group" aria-label="Press on all four">${buttons.join("")}` +
			`${tool("again", "start again")}</div>` +
			`<div class="moments" role="group" aria-label="Moment">${tool("left", "←", "", ' aria-label="back"')}` +
			places.map((name) => tool("goto", esc(name), name)).join("") +
			`${tool("right", "→", "", ' aria-label="forward"')}</div><div class="four"></div>`,
		help:
			"<p><small>1 … 5</small>The same press on all four</p>" +
			"<p><small>a</small>Start what has crashed again, after two minutes</p>" +
			"<p><small>← →</small>The moment before, the next moment</p>",
	});
	const told = (message) => message.kind === "error" && p.say(message.text, "said wrong");
	model.on("msg:custom", told);
	return () => {
		model.off("msg:custom", told);
		close();
	};
}

export default { render: ({ model, el }) => openNeighbours(model, el) };
