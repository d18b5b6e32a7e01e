// Look up why a press would change nothing: the kernel has computed the reasons, and sends them with the payload.

import { FAULT_WORDS } from "./fault_words";
import type { Frame, RunEvent } from "./payload";
import { isShown, upTo } from "./run";
import type { Run, State } from "./types";

// A fault, as its button knows it: see `FaultBase` in kafkalab/faults/fault.py. `number` is the name of the field that
// a person types, and the number that is there before.
export interface Fault {
	press: string;
	on: "frame" | "node" | "link" | "clock" | "cluster" | "leader" | "log";
	label: string;
	title: string;
	details: string[];
	other: string; // the detail that names a second frame
	number: [string, number] | [];
	brokersOnly: boolean;
	requestsOnly: boolean;
	clientsOnly: boolean;
	apis: string[];
	variants: Array<{ details: Details; label: string; title: string }>;
}

export const FAULTS = FAULT_WORDS as Fault[],
	faultOf = (press: string) => FAULTS.find((fault) => fault.press === press),
	isFault = (press: string) => !!faultOf(press),
	faultsOn = (on: Fault["on"]) => FAULTS.filter((fault) => fault.on === on),
	// The faults of a node of this kind: its own, and those of its links to all others.
	ofNode = (kind: string) => [
		...faultsOn("node").filter(({ brokersOnly }) => kind === "broker" || (kind === "client" && !brokersOnly)),
		...faultsOn("link"),
	];

// The reason noted of a button up to a step: "" if it is enabled, undefined if nothing is noted.
function noted(changes: Array<[number, string | null]> = [], step: number) {
	return changes[upTo(changes.length, (i) => (changes[i]?.[0] ?? 0) <= step)]?.[1] ?? undefined;
}

// Return why the button would change nothing at this step, "" if it would. `detail` is what it is about besides its
// target: a number of milliseconds, a broker. See `reason_at` in enabled_actions.py.
export function whyPress(run: Run, step: number, action: string, target = "", detail: string | number = ""): string {
	const { fixed, start, limits, reasons } = actionsOf(run);
	if (fixed) return fixed;
	const pair = target.split("|").sort().join("|"),
		at = Math.max(step, start),
		of = (key: string) => noted(reasons[key], at),
		struck = of(`${action} ${target}`),
		[least, most, otherwise] = limits[action] ?? [];
	if (
		!struck &&
		least &&
		!(typeof detail === "number" && Number.isInteger(detail) && least <= detail && detail <= most)
	)
		return otherwise.replace("{}", String(detail));
	const why = (of(`${action} ${pair} ${detail}`) ?? of(`${action} ${pair}`) ?? of(action) ?? "").replaceAll(
		"{}",
		target,
	);
	const event = run.events[at];
	return why || whyOnly(run, action, target) || (detail === "sent" && event ? whySent(run, event, target) : "");
}

// A fault of requests, perhaps only of those that clients send.
function whyOnly(run: Run, action: string, target: string) {
	const { requestsOnly, clientsOnly, apis = [] } = faultOf(action) ?? {};
	const name = target.split("#")[0] ?? "";
	if (requestsOnly && target.includes("Response#")) return `${target} is a response; choose its request`;
	const sender = run.nodes.find(({ id }) => id === run.frames[target]?.from);
	if (clientsOnly && sender && sender.kind !== "client") return `${target} is not sent by a client`;
	const lacks = apis.length > 0 && name && !apis.includes(name);
	return lacks ? `no ${name}Response says nothing but an error; there are those of ${apis.join(", ")}` : "";
}

const actionsOf = (run: Run) => run.actions ?? { fixed: "", start: 0, limits: {}, reasons: {} };

// A crash that lets a frame arrive needs one that is sent in that moment.
const whySent = (run: Run, { kind, node }: RunEvent, target: string) =>
	kind === "send" && node === target ? "" : `${run.label(target)} sends no frame at this step`;

// The details of a press as one value: a number, "b2 unclean", "sent".
export interface Details {
	[milliseconds: string]: string | number | boolean | null | undefined;
	after?: string;
	before?: string;
	broker?: string | undefined;
	unclean?: boolean;
	sent?: boolean;
	handled?: boolean;
}

export const detailOf = (details: Details): string | number => {
	const { broker = "", unclean, sent, handled } = details,
		number = Object.values(details).find((value) => typeof value === "number");
	return (number as number | undefined) ?? (sent ? "sent" : handled ? "handled" : broker + (unclean ? " unclean" : ""));
};

// The frames after which this one may arrive: those sent later that have to do with it.
export function laterThan(run: Run, f: Frame) {
	const near = (other: Frame) => other.category === f.category || other.to === f.to;
	return run.flown.filter((o) => o.sent > f.sent && !o.copy_of && near(o)).slice(0, 40);
}

// The shown frames that are on their way at a step, in the order in which they were sent: `in_flight` of arrivals.py.
export const inFlight = (run: Run, step: number, groups: Set<string>, hidden: Set<string>) =>
	run.flown
		.filter((f) => f.sent <= step && step < run.end(f) && !f.copy_of)
		.filter((f) => groups.has(f.category) && isShown(run, run.events[f.sent], hidden))
		.sort((a, b) => a.sent - b.sent);

// Whether a frame in flight stays where it is until it is released.
export const isHeld = ({ held }: State, f: Frame): boolean => !!held[f.copy_of || f.id];

// Why a frame is not in flight at a step; "" if it is.
export function whyNotFlying(run: Run, step: number, f: Frame) {
	if (f.copy_of) return `${f.id} is the second delivery of ${f.copy_of}; a fault strikes both`;
	if (step < f.sent) return `${f.id} is not sent yet`;
	if (step < run.end(f)) return "";
	return f.fate === "delivered" ? `${f.id} has arrived` : `${f.id} is ${f.fate}`;
}

// Why a frame cannot be made to arrive before the others of `flying`, "" if it can: `why_not_first` of arrivals.py.
export function whyNext(run: Run, step: number, f: Frame, flying: Frame[]) {
	const away = actionsOf(run).fixed || whyNotFlying(run, step, f);
	if (away) return away;
	if (run.live) return whyPress(run, step, "drop", f.id);
	const released = !whyPress(run, step, "release", f.id),
		arrives = released ? (run.events[step]?.at ?? 0) + 1 : f.received_at;
	if (arrives === null) return `${f.id} never arrives in this run`;
	const before = flying.filter(
		(o) =>
			o !== f &&
			o.received !== null &&
			(released ? (o.received_at ?? Infinity) < arrives : o.received < (f.received ?? -1)),
	);
	const whys = before.map((o) =>
		o.sent < f.sent
			? whyPress(run, step, "reorder", o.id)
			: whyPress(run, step, "delay", o.id, Math.max(1, arrives - o.at)),
	);
	return before.length || released ? (whys.find(Boolean) ?? "") : `${f.id} is the next to arrive already`;
}
