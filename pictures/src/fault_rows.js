// Every fault as a button at the cursor's step, enabled where it would change something; and the tree of runs.

import "./fault_panel.css";
import { branches, entryText, inOrder, labelOf, openPanel, tool } from "./old_panel";
import { ADVANCE_MS, DELAY_MS, FRAME_FAULTS, detailOf, laterThan, whyPress } from "./presses";
import { roleSpans, rolesOf } from "./roles";
import { breakable, envelope, esc, sync } from "./run";

const WORDS = {
	drop: ["× drop", "The frame is lost on its way"],
	duplicate: ["×2 duplicate", "The frame arrives twice"],
	delay: ["delay", "The frame arrives later, and is overtaken"],
	hold: ["hold", "The frame stays on its way until it is released"],
	release: ["release", "The held frame arrives now"],
	reorder: ["reorder", "The frame arrives right after another one"],
	crash: ["crash", "The process ends; a broker's logs stay. The frame that is being sent never leaves"],
	crash_sent: ["crash after sending", "The process ends; the frame that it has just sent arrives"],
	restart: ["restart", "The broker starts again, with its logs"],
	pause: ["pause", "It stops doing anything; what arrives waits"],
	resume: ["resume", "It goes on, first with all that has waited"],
	cut: ["isolate", "No frame gets from here to any other node or back"],
	heal: ["rejoin", "Frames fly to and from here again"],
	advance: ["advance", "All clocks jump forward"],
	upgrade: ["transaction.version 2", "The feature rises; a producer follows with its next transaction"],
	elect: ["elect", "The controller makes it the leader"],
	roll: ["roll", "A new segment begins"],
	compact: ["compact", "Each replica begins a new segment and cleans what is before it"],
	delete_segment: ["delete segment", "The leader deletes its oldest segment"],
};
const NODE_BUTTONS = {
	broker: ["crash", "crash_sent", "restart", "pause", "resume", "cut", "heal"],
	client: ["crash", "crash_sent", "pause", "resume", "cut", "heal"],
	controller: ["cut", "heal"],
};
const FRAME_BUTTONS = ["drop", "duplicate", "delay", "hold", "release"];
// The parts of the panel: side by side where there is room, else one at a time.
const PARTS = {
	frame: "frame",
	nodes: "nodes",
	network: "network",
	storage: "leaders",
	rules: "rules",
	runs: "futures",
};
const NAMING = '<input type="text" class="naming" maxlength="60" size="12" aria-label="Name of the run shown">';
const PANEL_BODY = `
	<nav>${Object.entries(PARTS)
		.map(([part, name]) => tool("part", name, part))
		.join("")}</nav>
	<div class="faults">
		<div class="rows"></div>
		<details class="partitions"><summary>Leaders and storage</summary><div class="rows2"></div></details>
		<details class="rules"><summary>Rules of the protocol</summary><div class="list"></div></details>
	</div>
	<section class="runs" aria-label="Runs">
		<h4>Runs ${tool("undo", "↶ undo")}${tool("redo", "↷ redo")}<label>name ${NAMING}</label></h4>
		<div class="tree"></div>
	</section>`;
const PANEL_HELP =
	[
		["d", "Drop the chosen frame"],
		["u", "Duplicate it"],
		["l", "Delay it"],
		["h", "Hold it"],
		["r", "Release it"],
		["1 2 3", "Crash a broker after this step (0: the first client)"],
		["a", "Advance the clocks"],
	]
		.map(([key, what]) => `<p><small>${key}</small>${what}</p>`)
		.join("") +
	"<p>Each fault makes a new run: the same up to this step, another future. " +
	"The tree keeps them all; click one to go there.</p>" +
	"<p>A dotted button would change nothing; point at it, or press it, to read why.</p>";

// `of` is what a button is about, for those who hear its name without its row.
const fault = (action, target, of, more = "", label = WORDS[action][0]) =>
	tool(
		action.replace("_sent", ""),
		esc(label),
		target,
		` data-title="${esc(WORDS[action][1])}" aria-label="${esc(`${label.replace(/^×2? ?/, "")} ${of}`)}"${more}`,
	);
const row = (part, what, buttons, more = "") =>
	`<div class="row" data-part="${part}"><b>${what}</b><span>${buttons.join("")}${more}</span></div>`;
const number = (p, name, otherwise) => Number(p.$(`input.${name}`)?.value ?? otherwise);

// What a button is about besides its target.
function detailsOf(p, action, button) {
	if (action === "delay") return { delay_ms: number(p, "delay_ms", DELAY_MS) };
	if (action === "crash") return button?.dataset.sent ? { sent: true } : {};
	if (action === "advance") return { ms: number(p, "advance_ms", ADVANCE_MS) };
	if (action === "reorder") return { after: p.$("select.after")?.value ?? "" };
	if (action === "elect") return { broker: button.dataset.broker, unclean: button.dataset.unclean === "true" };
	return {};
}

function targetOf(p, action, target) {
	if (target === "pair") return `${p.$("select.side-a").value}|${p.$("select.side-b").value}`;
	return FRAME_FAULTS.includes(action) || action === "release" ? (p.frame?.id ?? "") : target;
}

function whyButton(p, action, target, button) {
	if (p.journey.klab.busy && action !== "rule") return "the kernel is making the new run";
	if (action === "undo") return p.journey.get("can_undo") ? "" : "there is no fault to undo";
	if (action === "redo") return p.journey.get("can_redo") ? "" : "nothing has been undone";
	if (action === "goto") return Number(target) === p.journey.get("place") ? "this run is shown already" : "";
	if (action === "rule_off" || action === "rule_on") return button?.dataset.why ?? "";
	return action in WORDS
		? whyPress(p.run, p.step, action, targetOf(p, action, target), detailOf(detailsOf(p, action, button)))
		: "";
}

function chosen(p) {
	for (let at = p.step; at >= 0; at = p.run.events[at].cause) {
		const frame = p.run.frames[p.run.events[at].frame];
		if (frame) return frame.copy_of ? p.run.frames[frame.copy_of] : frame;
	}
}

function drawFaults(p) {
	const { run, step, journey } = p,
		event = run.events[step],
		state = run.at(Math.max(step, run.actions.start));
	p.frame = chosen(p);
	p.$(".where").innerHTML = `step ${step} · t = ${event.at} ms · run ${journey.get("place")}`;
	p.say(event.text + (run.ending ? ` This run has no end: ${run.ending}.` : ""), event.kind);
	sync(p.$(".rows"), [
		["frame", frameRow(p)],
		...run.nodes.map((node) => [node.id, nodeRow(node, state)]),
		["link", linkRow(run)],
		["clock", row("network", "Clock", [fault("advance", "", "the clock"), `<label>${field(p, "advance_ms")}</label>`])],
		["cluster", row("network", "Cluster", [fault("upgrade", "", "the cluster")])],
	]);
	const shown = run.partitions.filter((partition) => replicasOf(run, state, partition).length);
	sync(
		p.$(".rows2"),
		shown.map((partition) => [partition, partitionRow(run, state, partition)]),
	);
	drawRules(p);
	drawTree(p);
}

// A number of milliseconds, which keeps what has been typed.
function field(p, name) {
	const [label, otherwise] = name === "delay_ms" ? ["Delay in ms", DELAY_MS] : ["Advance by ms", ADVANCE_MS],
		value = number(p, name, otherwise) || otherwise;
	return `<input type="number" class="${name}" min="1" value="${value}" aria-label="${label}">ms`;
}

function frameRow(p) {
	const { run, step, frame: f } = p;
	if (!f)
		return row(
			"frame",
			"No frame",
			FRAME_BUTTONS.map((action) => frameFault(p, action, "", "no frame")),
		);
	const fate = run.fate(f, step),
		ends = `${esc(run.label(f.from))} → ${esc(run.label(f.to))}`,
		sign = `<svg viewBox="-9 -7 18 14" aria-hidden="true">${envelope(8)}</svg>`,
		later = laterThan(run, f);
	return row(
		"frame",
		`<span class="${f.category}">${sign}${esc(f.id).replace("Response", "<wbr>Response")}</span><small>${ends}` +
			` <i class="fate ${fate.replace(" ", "-")}">${fate}</i></small>`,
		FRAME_BUTTONS.map((action) => frameFault(p, action, f.id, f.id)),
		later.length ? reorderFault(f, later) : "",
	);
}

function frameFault(p, action, target, of) {
	const button = fault(action, target, of);
	return action === "delay" ? `${button} <label>${field(p, "delay_ms")}</label> ` : button;
}

function reorderFault(f, later) {
	const options = later.map((o) => `<option>${esc(o.id)}</option>`).join(""),
		after = `<label>after <select class="after" aria-label="Arrives after">${options}</select></label>`;
	return `<span class="late">${after}${fault("reorder", f.id, f.id)}</span>`;
}

function nodeRow({ id, kind, label }, state) {
	const life = state.node[id] ?? "up",
		down = life === "up" ? "" : `<em>${life}</em>`,
		roles = roleSpans(rolesOf(state.roles[id], state.client[id], () => false)),
		buttons = NODE_BUTTONS[kind].map((action) =>
			fault(action, id, label, action === "crash_sent" ? ' data-sent="true"' : ""),
		);
	return row(
		"nodes",
		`<span class="${kind} ${life}">${esc(label)}</span>${down}<span class="roles">${roles}</span>`,
		buttons,
	);
}

function linkRow(run) {
	const option = (node, here) => `<option value="${node.id}"${here ? " selected" : ""}>${esc(node.label)}</option>`,
		select = (side, start) => {
			const options = run.nodes.map((node, i) => option(node, i === start)).join("");
			return `<select class="side-${side}" aria-label="Side ${side} of the cut">${options}</select>`;
		},
		button = (action) => fault(action, "pair", "the link", "", action);
	return row("network", "Link", [select("a", 0), " — ", select("b", 1), " ", button("cut"), button("heal")]);
}

// The replicas that may be elected: none of a partition without an election among the enabled actions.
function replicasOf(run, state, partition) {
	const { replicas = [] } = state.isr[partition] ?? {};
	return `elect ${partition} ${replicas[0]}` in run.actions.reasons ? replicas : [];
}

function partitionRow(run, state, partition) {
	const leader = state.leader[partition],
		{ isr: inSync = [] } = state.isr[partition],
		led = leader ? `led by ${esc(run.label(leader))}` : "no leader";
	const election = (b) => {
		const unclean = !inSync.includes(b),
			data = ` data-broker="${b}" data-unclean="${unclean}"`;
		return fault("elect", partition, `for ${partition}`, data, `elect ${b}${unclean ? " unclean" : ""}`);
	};
	return row("storage", `<span class="partition">${breakable(partition)}</span><small>${led}</small>`, [
		...replicasOf(run, state, partition).map(election),
		...["roll", "compact", "delete_segment"].map((action) => fault(action, partition, partition)),
	]);
}

function drawRules(p) {
	const told = p.model.get("reasons") ?? {},
		current = told.place === p.journey.get("place");
	const list = p.$(".rules .list");
	if (!p.$(".rules").open) return;
	if (!current) {
		sync(list, [["wait", "<p>Trying every rule on this run …</p>"]]);
		if (p.asked !== p.journey.get("place")) p.model.send({ kind: "rules" });
		p.asked = p.journey.get("place");
		return;
	}
	const off = (name) => told.off.includes(name),
		rank = ([name, why]) => (off(name) ? 0 : why ? 2 : 1),
		rules = Object.entries(told.why).sort((a, b) => rank(a) - rank(b));
	sync(
		list,
		rules.map(([name, why]) => [name, ruleRow(name, why, off(name))]),
	);
}

function ruleRow(name, why, off) {
	const now = off ? "on" : "off",
		aria = `aria-label="switch ${now}: ${esc(name)}"`,
		title = `data-title="A new run from the start ${off ? "with" : "without"} this rule"`,
		button = tool(`rule_${now}`, `switch ${now}`, name, ` ${aria} data-why="${esc(why)}" ${title}`);
	return `<div class="rule${why ? " idle" : ""}">${button}<span>${esc(name)}${off ? " <b>is off</b>" : ""}</span></div>`;
}

function drawTree(p) {
	const rows = inOrder(p.journey.get("tree")),
		place = p.journey.get("place"),
		size = parseFloat(getComputedStyle(p.root).fontSize) || 13,
		height = Math.round(size * 1.95);
	const deepest = Math.max(...rows.map(([depth]) => depth)),
		dots = `<svg width="${30 + deepest * 16}" height="${rows.length * height}" aria-hidden="true">`,
		runs = rows.map(([depth, e]) => runRow(depth, e, e.id === place)).join("");
	const markup = `<div style="--row:${height}px">${dots}${branches(rows, height, place)}</svg>${runs}</div>`;
	sync(p.$(".tree"), [["tree", markup]]);
	const naming = p.$(".naming"),
		name = p.journey.get("tree").find((e) => e.id === place)?.name ?? "";
	if (document.activeElement !== naming) naming.value = name;
}

function runRow(depth, e, here) {
	const label = `${e.id}&ensp;${e.name ? `<b>${esc(e.name)}</b> ` : ""}<code>${esc(labelOf(e))}</code>`,
		title = esc(entryText(e)),
		button = tool("goto", label, e.id, ` data-title="${title}" aria-label="Run ${title}"`),
		outcome = `<em class="${e.outcome.split(" ")[0]}">${esc(e.outcome)}</em>`;
	return `<div class="run" aria-current="${here}" style="padding-left:${22 + depth * 16}px">${button}${outcome}</div>`;
}

// Show one part of a narrow panel.
function turnTo(p, part) {
	p.root.dataset.part = part;
	const folded = { storage: p.$(".partitions"), rules: p.$(".rules") }[part];
	if (folded) folded.open = true;
	for (const one of p.all("nav button")) one.setAttribute("aria-pressed", one.dataset.target === part);
	return true;
}

function actFault(p, action, target, button) {
	if (action === "part") return turnTo(p, target);
	if (!(action in WORDS) && !/^(rule_off|rule_on|goto|name)$/.test(action)) return false;
	p.press(action, targetOf(p, action, target), detailsOf(p, action, button));
	return true;
}

export async function openFaults(model, el) {
	let p;
	const close = await openPanel(model, el, {
		name: "fault-panel",
		title: "Faults",
		body: PANEL_BODY,
		help: PANEL_HELP,
		why: whyButton,
		act: actFault,
		traits: ["reasons"],
		keys: { d: "drop", u: "duplicate", l: "delay", h: "hold", r: "release", a: "advance" },
		load: (panel) => (p ??= panel),
		draw: drawFaults,
	});
	p.root.addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
		if (ctrlKey || metaKey || altKey || target.matches("input, select") || !/^[0-9]$/.test(key)) return;
		const node = p.run.nodes.filter((n) => n.kind === (key === "0" ? "client" : "broker"))[Math.max(0, key - 1)];
		if (node) p.act("crash", node.id, p.$(`[data-action="crash"][data-target="${node.id}"]`));
	});
	p.root.addEventListener("input", ({ target }) => target.matches("select, input[type=number]") && p.marks());
	turnTo(p, "frame");
	p.$(".rules").addEventListener("toggle", p.draw);
	p.$(".naming").addEventListener("change", ({ target }) => p.press("name", target.value));
	return close;
}
