// Look up why a press would change nothing: the kernel has computed the reasons, and sends them with the payload.

const FRAME_FAULTS = ["drop", "duplicate", "delay", "hold", "reorder"],
	DELAY_MS = 1000,
	ADVANCE_MS = 10000;

const asSentence = (text) => text && text.charAt(0).toUpperCase() + text.slice(1) + (/[.?]$/.test(text) ? "" : ".");

// The reason noted of a button up to a step: "" if it is enabled, undefined if nothing is noted.
function noted(changes = [], step) {
	return changes[upTo(changes.length, (i) => changes[i][0] <= step)]?.[1] ?? undefined;
}

// Return why the button would change nothing at this step, "" if it would. `detail` is what it is about besides its
// target: a number of milliseconds, a broker. See `reason_at` in enabled_actions.py.
function whyPress({ actions: { fixed, start, limits, reasons } }, step, action, target = "", detail = "") {
	if (fixed) return fixed;
	const pair = target.split("|").sort().join("|"),
		at = Math.max(step, start),
		of = (key) => noted(reasons[key], at),
		struck = of(`${action} ${target}`),
		[least, most, otherwise] = limits[action] ?? [];
	if (!struck && least && !(Number.isInteger(detail) && least <= detail && detail <= most))
		return otherwise.replace("{}", detail);
	return (of(`${action} ${pair} ${detail}`) ?? of(`${action} ${pair}`) ?? of(action) ?? "").replaceAll("{}", target);
}
