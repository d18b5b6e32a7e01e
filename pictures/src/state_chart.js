// A state machine as dot laid it out, and where a transactional id, a producer or a group stands in it.
//
// The arrow that fired is drawn bold, and a table says what every question would get in the present state.

import "./states.css";
import "./state_chart.css";
import { breakable, esc, parse, sizeOf, still, sync } from "./run";
import { openView } from "./view";

const OPS = { coordinator: "txn", producer: "client", group: "group" },
	FLY_MS = 420,
	STATIONS = 16,
	NARROW = 600;
const NOTHING = { coordinator: "no transactional id yet", producer: "no producer yet", group: "no group yet" };
const FEW = 2; // of so many questions that lead to a state each is named
const SIGN = { go: "→", same: "=", wait: "…", refuse: "✕" };

// Every change of every subject, in the order of steps; `via` is the state it came from, "" where no arrow led here.
function placesOf(run, name, arrows) {
	const found = [],
		last = {};
	for (const { step, patch } of run.events) {
		for (const [op, id, known] of patch) {
			if (op !== OPS[name] || (op === "client" && !("tid" in known))) continue;
			const subject = op === "client" ? `${id} ${known.tid}`.trim() : id,
				node = op === "client" ? id : known.node;
			const { state, pending = "" } = known,
				before = last[subject];
			let via = "";
			if (before && before.node === node) {
				if (before.state !== state) via = before.state;
				else if (arrows.has(`${state} ${state}`) && !pending && !before.pending) via = state;
				else if (pending) via = before.via;
			}
			found.push((last[subject] = { step, subject, state, pending, via, node, known }));
		}
	}
	return found;
}

function factsOf(run, { known, node }) {
	const label = run.label(node);
	if ("generation" in known) {
		const members = Object.entries(known.members).map(
			([member, partitions]) => `${member}: ${partitions.join(", ") || "nothing"}`,
		);
		return [
			`on ${label}`,
			`generation ${known.generation}`,
			...(known.leader ? [`led by ${known.leader}`] : []),
			...(members.length ? members : ["no members"]),
		];
	}
	const ids = known.producer_id >= 0 ? `producer ${known.producer_id}, epoch ${known.epoch}` : "no producer id";
	return [known.partitions ? `on ${label}` : `in ${label}`, ids, ...(known.partitions ?? [])];
}

const placeOf = ({ places, model }, step) => {
	const subject = model.get("subject");
	return places.findLast((p) => p.step <= step && (!subject || p.subject === subject));
};

const wordsOf = ([state, ask, , to, answer, because]) =>
	`${to ? `${state} → ${to}` : state}: ${ask}${answer ? ` — ${answer}` : ""}${because ? `. ${because}` : ""}`;
// With places to break between the words of the name of a state or a request.
const camel = (text) => breakable(text).replace(/(?<=[a-z])(?=[A-Z](?!xn))/g, "<wbr>");
const rowOf = (view) => (view.place ? view.machine.cells.filter(([state]) => state === view.place.state) : []);

// The arrow between two states: its own, or the one that stands for all that end in a fatal error.
const arrowOf = (view, a, b) =>
	view.chart.querySelector(`#${CSS.escape(view.id(`e_${a}__${b}`))}`) ??
	view.chart.querySelector(`#${CSS.escape(view.id(`e_any__${b}`))}`);
const boxOf = (view, state) => view.chart.querySelector(`#${CSS.escape(view.id(`s_${state}`))}`);

function load(view) {
	const { model, run, chart } = view,
		machine = (view.machine = model.get("machine"));
	chart.innerHTML = model.get("picture").replaceAll('id="', `id="${view.id("")}`);
	const picture = chart.querySelector("svg");
	picture.setAttribute("aria-label", machine.title);
	const scale = sizeOf(model, view.journey) === "projector" ? 1.78 : 1.4;
	chart.classList.toggle("narrow", picture.viewBox.baseVal.width < NARROW);
	picture.style.maxWidth = `${Math.round(picture.viewBox.baseVal.width * scale)}px`;
	view.root.dataset.machine = machine.name;
	view.places = placesOf(
		run,
		machine.name,
		new Set(machine.cells.filter(([, , , to]) => to).map(([state, , , to]) => `${state} ${to}`)),
	);
	const subjects = [...new Set(view.places.map((p) => p.subject))],
		chosen = model.get("subject");
	view.$("which").innerHTML = [["", "the last to change"], ...subjects.map((s) => [s, s])]
		.map(([value, text]) => `<option value="${esc(value)}"${value === chosen ? " selected" : ""}>${esc(text)}</option>`)
		.join("");
	for (const edge of chart.querySelectorAll(".edge")) {
		const [a, b] = edge.id.slice(view.id("e_").length).split("__");
		const cells = machine.cells.filter(
			([state, , , to]) => to === b && (state === a || (a === "any" && b === "FATAL_ERROR" && state !== b)),
		);
		const told = a === "any" ? [`any state → ${b}: an error that nothing cures`] : cells.map(wordsOf);
		Object.assign(edge, { told: told.join(" · ") });
		edge.setAttribute("tabindex", "0");
		edge.setAttribute("role", "img");
		edge.setAttribute("aria-label", edge.told);
	}
	for (const box of chart.querySelectorAll(".state title"))
		box.textContent = `${box.textContent}: ${machine.states[box.textContent] ?? "each state"}`;
}

function draw(view) {
	const { $, run, step, model, chart } = view,
		before = view.place,
		place = (view.place = placeOf(view, step)),
		cells = rowOf(view),
		asked = model.get("question");
	$("which").value = model.get("subject");
	const pending = place?.pending ? ` <i data-pending="${place.pending}">→ ${place.pending}, pending</i>` : "";
	const led = view.machine.cells.filter(([a, , , b]) => a === place?.via && b === place.state).map(([, ask]) => ask),
		because = led.length <= FEW ? `: ${esc(led.join(" or "))}` : "",
		via = place?.via ? `<p class="via">came by <b>${place.via} → ${place.state}</b>${because}</p>` : "";
	sync($("subject"), [
		[
			"",
			place
				? `<div data-subject="${esc(place.subject)}" data-state="${place.state}"><p class="big">${esc(place.subject)} ` +
					`<b>${place.state}</b>${pending}</p><p>${esc(view.machine.states[place.state] ?? "")}</p>
		<p><small class="facts">${esc(factsOf(run, place).join(" · "))}</small></p>${via}</div>`
				: `<div><p class="big">${esc(model.get("subject") || NOTHING[view.machine.name])}</p></div>`,
		],
	]);
	for (const node of chart.querySelectorAll(".active, .pending, .fired, .asked"))
		node.classList.remove("active", "pending", "fired", "asked");
	if (place) {
		boxOf(view, place.state)?.classList.add("active");
		if (place.pending)
			for (const node of [boxOf(view, place.pending), arrowOf(view, place.state, place.pending)])
				node?.classList.add("pending");
		else if (place.via) arrowOf(view, place.via, place.state)?.classList.add("fired");
	}
	const cell = cells.find(([, ask]) => ask === asked);
	if (cell?.[3]) arrowOf(view, cell[0], cell[3])?.classList.add("asked");
	tell(view, cell ? wordsOf(cell) : "");
	const rows = cells.map(
		([, ask, kind, to, answer, because], i) =>
			`<tr class="${kind}" data-choose="${i}" tabindex="0"` +
			` data-ask="${esc(ask)}"${because ? ` title="${esc(because)}"` : ""}><td>${SIGN[kind]}` +
			`</td><th scope="row">${camel(ask)}</th><td class="answer">${camel(answer || "–")}` +
			`</td><td class="to">${camel(to || "stays")}</td></tr>`,
	);
	$("what-if").hidden = !model.get("what_if");
	sync($("cells"), model.get("what_if") ? [["", `<table>${rows.join("")}</table>`]] : []);
	for (const row of $("cells").querySelectorAll("tr")) row.setAttribute("aria-selected", row.dataset.ask === asked);
	$("heading").textContent = place ? `What if, in ${place.state}` : "";
	$("note").textContent = place ? view.machine.note : "";
	view.root.querySelector("[data-action=what_if]").setAttribute("aria-pressed", model.get("what_if"));
	move(view, before, place);
	if (place && before?.state !== place.state) reveal(view.$("main"), boxOf(view, place.state));
}

// Scrolls the part, not the page, until the state is in it.
function reveal(part, box) {
	if (!box || part.scrollHeight <= part.clientHeight) return;
	const room = part.getBoundingClientRect(),
		{ top, bottom } = box.getBoundingClientRect();
	if (top < room.top || bottom > room.bottom) part.scrollTop += (top + bottom - room.top - room.bottom) / 2;
}

const tell = (view, text) => {
	view.$("told").textContent = text || "Point at an arrow, or choose a question.";
};

// The token runs along the arrows that fired since the last drawing; on a pending one it waits half-way. The next step
// ends its run.
function move(view, before, place) {
	const { token, chart, drawn, step } = view,
		ways = [];
	view.flying?.cancel();
	token.remove();
	if (!place) return;
	if (step > drawn && before) {
		for (const p of view.places) {
			if (p.step > drawn && p.step <= step && p.subject === place.subject && p.via && !p.pending)
				ways.push([p.via, p.state, 0, 1]);
		}
	}
	if (place.pending) ways.push([place.state, place.pending, 0, 0.5]);
	const flights = ways
		.slice(-3)
		.map(([a, b, from, to]) => [arrowOf(view, a, b), from, to])
		.filter(([arrow]) => arrow);
	if (!flights.length) return;
	const at = ([arrow, from, to], t) => {
		const path = arrow.querySelector("path"),
			part = from + (to - from) * t,
			{ x, y } = path.getPointAtLength(path.getTotalLength() * (arrow.classList.contains("back") ? 1 - part : part));
		return [x, y];
	};
	const rest = () => {
		if (place.pending) token.setAttribute("transform", `translate(${at(flights.at(-1), 1)})`);
		else token.remove();
	};
	chart.querySelector("svg > g").append(token);
	if (still() || step <= drawn) return rest();
	const stations = flights.flatMap((flight) =>
		Array.from({ length: STATIONS }, (_, i) => {
			const [x, y] = at(flight, 1 - (1 - i / (STATIONS - 1)) ** 2);
			return { transform: `translate(${x}px, ${y}px)` };
		}),
	);
	view.flying = token.animate(stations, FLY_MS * flights.length);
	view.flying.onfinish = rest;
	boxOf(view, place.state)?.animate([{ opacity: 0.3 }, { opacity: 1 }], FLY_MS * flights.length);
}

const TOOLS = {
	what_if: ["what if", "Show or hide what every question would get", "w"],
	up: ["↑", "Question above", "ArrowUp"],
	down: ["↓", "Question below", "ArrowDown"],
	subject: ["which", "The next transactional id, producer or group", "s"],
};
const LEGEND =
	`<li>Thick box: the present state. Dotted: decided, and being written;` +
	` the token waits half-way. Thick arrow: how it came here.</li>
<li>Point at an arrow, or go to it with Tab: question, answer and` +
	` error. ↑ and ↓ go through the questions of the present state.</li>
<li>→ goes to another state, = nothing changes, … is answered later, ✕ is refused.</li>`;

function why(view, action) {
	const cells = rowOf(view),
		at = cells.findIndex(([, ask]) => ask === view.model.get("question"));
	if (/up|down/.test(action) && !cells.length) return "Nothing is known yet at this step: go forward.";
	if (action === "up" && at === 0) return "This is the first question.";
	if (action === "down" && at === cells.length - 1) return "This is the last question.";
	return action === "subject" && view.$("which").options.length < 3 ? "There is no other one in this run." : "";
}

function act(view, action) {
	const { model } = view,
		cells = rowOf(view),
		at = cells.findIndex(([, ask]) => ask === model.get("question"));
	if (action === "what_if") return view.set({ what_if: !model.get("what_if") });
	if (action === "subject") {
		const values = [...view.$("which").options].map((o) => o.value);
		return view.set({ subject: values[(values.indexOf(model.get("subject")) + 1) % values.length], question: "" });
	}
	const next = at < 0 ? (action === "down" ? 0 : cells.length - 1) : at + (action === "down" ? 1 : -1);
	view.set({ question: cells[next][1], what_if: true });
	view.root.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
}

function start(view) {
	view.chart = view.$("states");
	view.token = parse(
		document.createElementNS("http://www.w3.org/2000/svg", "g"),
		'<g class="token" aria-hidden="true"><circle r="7"/><circle r="3"/></g>',
	);
	const point = ({ target }) => {
		const edge = target.closest(".edge");
		if (edge?.told) tell(view, edge.told);
	};
	for (const name of ["mouseover", "focusin"]) view.chart.addEventListener(name, point);
	view.$("which").addEventListener("change", ({ target }) => view.set({ subject: target.value, question: "" }));
}

export default {
	render: ({ model, el }) =>
		openView(model, el, {
			name: "state-chart",
			title: () => model.get("machine").title,
			tools: TOOLS,
			hidden: ["up", "down", "subject"],
			legend: LEGEND,
			head: `<label class="whose">show <select class="which" aria-label="Which one is shown"></select></label>`,
			body:
				`<div class="main"><section class="chart"><div class="subject"></div><div class="states">` +
				`</div><p class="told" role="status" aria-live="polite"></p></section>
			<section class="what-if"><h3 class="heading"></h3><div class="cells">` +
				`</div><p><small class="note"></small></p></section></div>`,
			traits: ["machine", "picture", "subject", "what_if", "question"],
			open: start,
			load,
			draw,
			act,
			why,
			choose: (view, i) => view.set({ question: rowOf(view)[i][1] }),
			close: (view) => view.flying?.cancel(),
		}),
};
