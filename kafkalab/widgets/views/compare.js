// Two runs in two columns from where they part, with one cursor; below them what both show there.

const ROWS_SHOWN = 40,
	BATCHES = 16;

function steps(p) {
	const rows = p.model.get("rows").slice(0, p.row + 1);
	return [0, 1].map((side) => rows.findLast((r) => r[side] >= 0)?.[side] ?? 0);
}

// A log in a line, as the text twin has it: its last batches.
function stripLine(state, partition) {
	const node = state.leader[partition] ?? "",
		log = logOf(state, node, partition),
		batches = log.last(BATCHES),
		ended = {},
		cells = [];
	for (const b of [...batches].reverse()) {
		const span = b.last > b.base ? `${b.base}-${b.last}` : `${b.base}`;
		if (b.kind !== "data") {
			ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
			cells.unshift([b.kind === "COMMIT" ? "commit" : "abort", `${span} ${b.kind} e${b.epoch}`]);
			continue;
		}
		const fate = b.txn ? (ended[b.pid] ?? "open") : "",
			who = b.pid >= 0 ? ` p${b.pid} e${b.epoch} s${b.seq}` : "";
		cells.unshift([
			fate || "plain",
			`${span} ${b.decoded || b.records.map(([, value]) => value).join(" ")}${who}${fate && ` ${fate}`}`,
		]);
	}
	if (log.count > batches.length) cells.unshift(["more", `${log.count - batches.length} earlier …`]);
	const where = node ? `${partition} on ${node}` : `${partition} without a leader`;
	return [`${where}, HW ${log.hw}, LSO ${log.lso}:`, cells];
}

function txnLine(id, t) {
	return (
		`${id}: ${t.state}${t.pending ? ` -> ${t.pending}` : ""}, producer ${t.producer_id}` +
		` epoch ${t.epoch}${t.partitions.length ? ` {${t.partitions.join(", ")}}` : ""}`
	);
}

function stateOf(run, step) {
	const state = run.at(step),
		lines = {};
	for (const [id, t] of Object.entries(state.txns)) lines[id] = [txnLine(id, t), []];
	for (const partition of run.partitions) lines[partition] = stripLine(state, partition);
	return lines;
}

const inWords = ([head, cells]) =>
	[
		head,
		cells.length || !/:$/.test(head)
			? cells.map(([kind, text]) => (kind === "more" ? text : `[${text}]`)).join(" ")
			: "empty",
	]
		.join(" ")
		.trim();

function loadCompare(p) {
	const names = ["left", "right"];
	for (const name of names) {
		const payload = p.model.get(name);
		if (p[`${name}Payload`] !== payload) [p[name], p[`${name}Payload`]] = [openRun(payload), payload];
	}
	if (p.rows !== p.model.get("rows")) [p.rows, p.row] = [p.model.get("rows"), p.model.get("row")];
	if (p.told !== p.model.get("row")) p.row = p.told = p.model.get("row");
}

function drawCompare(p) {
	loadCompare(p);
	const { rows, row } = p,
		apart = p.model.get("apart"),
		[a, b] = p.model.get("names"),
		runs = [p.left, p.right];
	p.root.dataset.row = row;
	const told = rows[row]
		.slice(0, 2)
		.flatMap((step, side) => (step < 0 ? [] : [`${p.model.get("names")[side]}: ${runs[side].events[step].text}`]));
	p.$(".where").setAttribute("aria-live", "polite");
	p.$(".where").innerHTML = `row ${row + 1} of ${rows.length}<span class="aloud">. ${esc(told.join(" "))}</span>`;
	p.say(
		apart < 0
			? "The runs are the same to their end."
			: `The runs are the same up to step ${apart - 1}; at step ${apart} they part.`,
		"",
	);
	const first = Math.max(0, Math.min(row - ROWS_SHOWN / 2, rows.length - ROWS_SHOWN)),
		items = [["names", `<div class="names"><b>${esc(a)}</b><b>${esc(b)}</b></div>`]];
	if (first) items.push(["more", `<div class="more"><small>${first} earlier rows</small></div>`]);
	for (let i = first; i < Math.min(rows.length, first + ROWS_SHOWN); i++) {
		const [left, right, same] = rows[i];
		const cell = (step, run) =>
			step < 0
				? '<span class="gap"></span>'
				: `<span class="${run.events[step].kind}"><small>${step}</small> ${esc(run.events[step].text)}` +
					`<small class="at">${time(run.events[step].at)}</small></span>`;
		items.push([
			i,
			`<div class="pair${same ? "" : " differs"}" data-row="${i}" aria-current="${i === row}" role="listitem"` +
				` data-action="goto" data-target="${i}"><i>${same ? "=" : "≠"}` +
				`</i>${cell(left, runs[0])}${cell(right, runs[1])}</div>`,
		]);
	}
	sync(p.$(".columns"), items);
	const [x, y] = steps(p),
		one = stateOf(p.left, x),
		other = stateOf(p.right, y);
	const markup = (line) =>
		line
			? `<span><b>${esc(line[0])}` +
				`</b> ` +
				(line[1]
					.map(([kind, text]) =>
						kind === "more" ? `<small>${text}</small>` : `<code class="${kind}">` + `${esc(text)}</code>`,
					)
					.join(" ") || (/:$/.test(line[0]) ? "empty" : "")) +
				`</span>`
			: '<span class="gap"></span>';
	sync(
		p.$(".below"),
		[...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => {
			const same = one[key] && other[key] && inWords(one[key]) === inWords(other[key]);
			return [
				key,
				`<div class="pair${same ? "" : " differs"}" data-state="${esc(key)}">` +
					`<i>${same ? "=" : "≠"}</i>${markup(one[key])}${markup(other[key])}</div>`,
			];
		}),
	);
	const current = p.$('.columns [aria-current="true"]'),
		box = p.$(".columns");
	if (current) {
		const above = current.offsetTop - box.offsetTop - box.scrollTop;
		if (above < 30 || above > box.clientHeight - 40) box.scrollTop += above - box.clientHeight / 3;
	}
}

function actCompare(p, action, target) {
	const difference = p.rows.findIndex(([a, b]) => Math.max(a, b) >= p.model.get("apart"));
	const to = {
		left: p.row - 1,
		right: p.row + 1,
		home: 0,
		end: p.rows.length - 1,
		goto: Number(target),
		difference: p.model.get("apart") < 0 ? p.row : difference,
	}[action];
	if (to === undefined) return true;
	p.row = p.told = Math.max(0, Math.min(to, p.rows.length - 1));
	p.model.set("row", p.row);
	clearTimeout(p.saving);
	p.saving = setTimeout(() => p.model.save_changes(), SAVE_MS);
	return true;
}

function whyCompare(p, action) {
	if (action !== "difference") return "";
	return p.model.get("apart") < 0 ? "the runs are the same to their end" : "";
}

export default {
	render: ({ model, el }) =>
		openPanel(model, el, {
			name: "compare",
			title: "Compare",
			draw: drawCompare,
			act: actCompare,
			why: whyCompare,
			traits: ["left", "right", "rows", "row", "names"],
			keys: { d: "difference" },
			body:
				`<div class="bar"><div>${[
					["home", "|◂", "First row"],
					["left", "◂", "Row before"],
					["right", "▸", "Next row"],
					["end", "▸|", "Last row"],
				]
					.map(([action, sign, name]) => tool(action, sign, "", ` aria-label="${name}" data-title="${name}"`))
					.join("")}</div>${tool("difference", "≠ where they part")}</div>` +
				`<div class="columns" role="list" aria-label="Both runs"></div><div class="below"></div>`,
			help:
				"<p><small>d</small>Where the runs part</p>" +
				"<p>= both runs say the same; ≠ one says it, or they say it differently. " +
				"Below: transactions and logs of both at the cursor, on a side without a row as it was before; " +
				"of a long log the last 16 batches.</p>",
		}),
};
