// What a node is in a step, beside being a node: coordinator, leader, a client's producer; each in its role's colour.

import { esc } from "./run";

export const ROLES = {
	"transaction coordinator": ["txn-coordinator", "TC"],
	"group coordinator": ["group-coordinator", "GC"],
};

// What a lane's heading says of a node: [colour role, short, in full]; `room` says whether a text has room there.
export function rolesOf(roles = [], client, room = () => true) {
	if (client) {
		const { state = "", producer_id: id, epoch } = client;
		const known = id >= 0 ? [`p${id} e${epoch}`, `producer ${id}, epoch ${epoch}`] : [];
		const [short, full] = [
			[state, known[0]],
			[state, known[1]],
		].map((words) => words.filter(Boolean).join(" · "));
		const fitting = [short, state].find(room) ?? state.replace(/(?<!^IN)_(TRANSACTION|ERROR)$/, "");
		return short ? [["client", fitting, full]] : [];
	}
	const led = roles.filter((role) => /^leader of /.test(role)).map((role) => role.slice(10));
	const others = roles.filter((role) => role in ROLES).map((role) => [...ROLES[role], role]);
	const names = led.join(", ");
	return led.length
		? [...others, ["leader", room(names) || led.length === 1 ? names : `leads ${led.length}`, `leads ${names}`]]
		: others;
}

export const roleSpans = (roles) =>
	roles
		.map(([role, short, full]) => {
			const about = `title="${esc(full)}" aria-label="${esc(full)}"`;
			return `<span class="role ${role}" ${about}>${esc(short)}</span>`;
		})
		.join("");
