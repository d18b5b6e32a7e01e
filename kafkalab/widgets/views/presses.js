// Why a press would change nothing, from the payload alone: word for word what `why` in presses.py says.

const FRAME_FAULTS = ["drop", "duplicate", "delay", "hold", "reorder"],
	DELAY_MS = 1000,
	ADVANCE_MS = 10000;
const FAULT_NAMES = {
	crash: "Crash",
	restart: "Restart",
	pause: "Pause",
	resume: "Resume",
	release: "Release",
	cut: "Cut",
	heal: "Heal",
	compact: "Compact",
	roll: "Roll",
	delete_segment: "DeleteSegment",
};

function atStep(changes, step, otherwise = []) {
	const at = upTo(changes.length, (i) => changes[i][0] <= step);
	return at < 0 ? otherwise : changes[at][1];
}

const asSentence = (text) => text && text.charAt(0).toUpperCase() + text.slice(1) + (/[.?]$/.test(text) ? "" : ".");
const split = (names) =>
	names
		.split(",")
		.map((name) => name.trim())
		.filter(Boolean);

// The two sides of a cut: "b1|b2,b3", or "b1" alone against all others.
function sides(run, target) {
	const [first, second] = target.split("|"),
		a = split(first);
	return [a, second === undefined ? run.nodes.map((n) => n.id).filter((id) => !a.includes(id)) : split(second)];
}

function whyPress(run, step, action, target = "", details = {}) {
	const { actions } = run;
	if (actions.fixed) return actions.fixed;
	const at = Math.max(step, actions.start);
	if (FRAME_FAULTS.includes(action)) return whyFrame(run, action, target, details);
	if (action === "advance")
		return whole(details.ms ?? ADVANCE_MS) ? "" : `ms is a number of milliseconds from 1 on, not ${details.ms}`;
	let reason,
		key = target;
	if (action === "release")
		reason = atStep(actions.kept, at).includes(target)
			? ""
			: target
				? `${target} is not held at this step`
				: "choose a frame first";
	else if (/crash|restart|pause|resume/.test(action)) reason = whyNode(run, at, action, target);
	else if (/cut|heal/.test(action)) {
		reason = whyNetwork(run, at, action, target);
		key = sides(run, target).join(" ");
	} else if (action === "elect") {
		reason = whyElect(run, at, target, details);
		key = `${target} ${details.broker} ${details.unclean ? "True" : "False"}`;
	} else {
		reason = atStep(actions.storage[target] ?? [], at).includes(action)
			? ""
			: {
					compact: `nothing in ${target} can be compacted at this step`,
					roll: `no active segment of ${target} has records at this step`,
					delete_segment: `no segment of ${target} is full and replicated at this step`,
				}[action];
	}
	const again = actions.planned.includes(`${at} ${FAULT_NAMES[action] ?? "ElectLeader"} ${key}`);
	return reason || (again ? "this happens right after this step already" : "");
}

const whole = (number) => Number.isInteger(number) && number >= 1 && number <= 1e12;

function whyFrame({ frames, flown, actions }, action, target, { delay_ms = DELAY_MS, after }) {
	const frame = frames[target],
		struck = actions.struck[target] ?? [];
	if (!frame || frame.copy_of) return "choose a frame first";
	if (frame.fate === "dropped") return `${target} is dropped already`;
	if (struck.some((fault) => fault.startsWith("Hold "))) return `${target} is held already`;
	if (struck.some((fault) => fault.startsWith("Reorder "))) return `${target} is overtaken already`;
	if (actions.stillborn.includes(target)) return `${target} never leaves: ${frame.from} crashes in that moment`;
	if (action === "duplicate" && flown.some((f) => f.copy_of === target)) return `${target} arrives twice already`;
	if (action === "delay") {
		if (!whole(delay_ms)) return `delay_ms is a number of milliseconds from 1 on, not ${delay_ms}`;
		return struck.includes(`Delay ${target} ${delay_ms}`) ? `${target} is ${delay_ms} ms late already` : "";
	}
	if (action !== "reorder") return "";
	const other = frames[after];
	if (!other || other.copy_of) return `reorder needs the frame after which ${target} arrives`;
	return other.sent <= frame.sent ? `${after} is not sent later than ${target}, so it cannot overtake it` : "";
}

function whyNode({ nodes, actions }, at, action, target) {
	const node = nodes.find((n) => n.id === target && n.kind !== "controller");
	if (!node) return `${action} needs a node`;
	const down = atStep(actions.down, at).includes(target),
		paused = atStep(actions.paused, at).includes(target);
	if (action === "restart") {
		if (node.kind !== "broker") return `${node.label} is a client; only a broker can be restarted`;
		return down ? "" : `${node.label} is not down`;
	}
	if (action === "resume") return paused ? "" : `${node.label} is not paused`;
	if (down) return `${node.label} is down${action === "crash" ? " already" : ""}`;
	return paused && action === "pause" ? `${node.label} is paused already` : "";
}

function whyNetwork(run, at, action, target) {
	const [a, b] = sides(run, target),
		cut = atStep(run.actions.cut, at);
	if (!a.length || !b.length || a.some((name) => b.includes(name)))
		return `${action} needs two nodes such as "b1|b2", or one to part from all others`;
	const pairs = a.flatMap((x) => b.map((y) => [x, y].sort().join("|")));
	if (action === "cut") return pairs.some((pair) => !cut.includes(pair)) ? "" : "no frame gets through there already";
	return pairs.some((pair) => cut.includes(pair)) ? "" : "nothing is cut there";
}

function whyElect({ nodes, actions }, at, partition, { broker, unclean }) {
	const label = nodes.find((n) => n.id === broker)?.label ?? broker,
		replicas = actions.replicas[partition] ?? [];
	if (!replicas.includes(broker)) return `${label} is no replica of ${partition}; there are ${replicas.join(", ")}`;
	const [leader, inSync] = atStep(actions.leads[partition], at, ["", []]);
	if (leader === broker) return `${label} leads ${partition} already`;
	if (!atStep(actions.alive, at).includes(broker)) return `${label} is not alive for the controller`;
	const clean = inSync.includes(broker) || (actions.any_leader && !partition.startsWith("__transaction_state-"));
	if (unclean) return clean ? `${label} is in sync: elect it cleanly` : "";
	return clean ? "" : `${label} is not in sync for ${partition}: only an unclean election can`;
}
