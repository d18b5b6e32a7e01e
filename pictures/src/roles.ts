// What a node is in a step, beside being a node: coordinator, leader, a client's producer; each in its role's colour.

import { html } from "./lit";
import type { Client } from "./payload";

// What a lane's heading says: colour role, short, in full.
type Role = [string, string, string];

export const ROLES: Record<string, [string, string]> = {
	"transaction coordinator": ["txn-coordinator", "TC"],
	"group coordinator": ["group-coordinator", "GC"],
};

// What a lane's heading says of a node: [colour role, short, in full]; `room` says whether a text has room there.
export function rolesOf(roles: string[] = [], client?: Client, room: (text: string) => boolean = () => true): Role[] {
	if (client) {
		const { state = "", producer_id: id = -1, epoch } = client,
			join = (...words: string[]) => words.filter(Boolean).join(" · "),
			short = join(state, id >= 0 ? `p${id} e${epoch}` : ""),
			full = join(state, id >= 0 ? `producer ${id}, epoch ${epoch}` : ""),
			fitting = [short, state].find(room) ?? state.replace(/(?<!^IN)_(TRANSACTION|ERROR)$/, "");
		return short ? [["client", fitting, full]] : [];
	}
	const led = roles.filter((role) => /^leader of /.test(role)).map((role) => role.slice(10));
	const others = roles.flatMap((role): Role[] => (ROLES[role] ? [[...ROLES[role], role]] : []));
	const names = led.join(", ");
	return led.length
		? [...others, ["leader", room(names) || led.length === 1 ? names : `leads ${led.length}`, `leads ${names}`]]
		: others;
}

export const roleSpans = (roles: Role[]) =>
	roles.map(
		([role, short, full]) =>
			html`<span class="role ${role}" title=${full} role="img" aria-label=${full}>${short}</span>`,
	);
