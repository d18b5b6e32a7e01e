// Texts that only an answer opens: the inverse of `seal` in kafkalab/site/book/exercises.py.

export interface Seals {
	salt: string;
	rounds: number;
	sealed: Record<string, string>; // by label
}

const LABEL_BYTES = 12,
	KEY_BYTES = 20,
	bytesOf = (text: string) => new TextEncoder().encode(text);

async function stretch(from: Uint8Array<ArrayBuffer>, salt: string, iterations: number, bytes: number) {
	const key = await crypto.subtle.importKey("raw", from, "PBKDF2", false, ["deriveBits"]),
		how = { name: "PBKDF2", hash: "SHA-256", salt: bytesOf(salt), iterations };
	return new Uint8Array(await crypto.subtle.deriveBits(how, key, 8 * bytes));
}

// The text of a part of an answer, or of the whole; undefined if there is none.
export async function openSeal<T>({ salt, rounds, sealed }: Seals, part: unknown): Promise<T | undefined> {
	const made = await stretch(bytesOf(JSON.stringify(part)), salt, rounds, LABEL_BYTES + KEY_BYTES),
		found = sealed[btoa(String.fromCharCode(...made.subarray(0, LABEL_BYTES)))];
	if (!found) return undefined;
	const mixed = Uint8Array.from(atob(found), (sign) => sign.charCodeAt(0)),
		stream = await stretch(made.subarray(LABEL_BYTES), "", 1, mixed.length),
		packed = new Blob([mixed.map((byte, i) => byte ^ stream[i])]).stream();
	return new Response(packed.pipeThrough(new DecompressionStream("deflate"))).json();
}
