// Texts that only an answer opens: the inverse of `seal` in kafkalab/site/book/exercises.py.

import { mixed, sha256 } from "./open_seal";

export interface Seals {
	salt: string;
	rounds: number;
	sealed: Record<string, string>; // by label
}

const LABEL_BYTES = 12;

// The text of a part of an answer, or of the whole; undefined if there is none.
export async function openText<T>({ salt, rounds, sealed }: Seals, part: unknown): Promise<T | undefined> {
	let made = new TextEncoder().encode(`${salt} ${JSON.stringify(part)}`) as Uint8Array;
	for (let round = 0; round < rounds; round += 1) made = sha256(made);
	const found = sealed[btoa(String.fromCharCode(...made.subarray(0, LABEL_BYTES)))];
	if (!found) return undefined;
	const text = Uint8Array.from(atob(found), (sign) => sign.charCodeAt(0)),
		packed = new Blob([mixed(text, made.subarray(LABEL_BYTES))]).stream();
	return new Response(packed.pipeThrough(new DecompressionStream("deflate"))).json();
}
