// Opens what `Predict.seal` has made (kafkalab/widgets/views/predict.py): an answer that nobody reads by accident.
//
// SHA-256 is written out: browsers have it for pages from https alone, and a class may be served from a laptop.

const SEAL = "sealed-1:",
	PRIMES = primes(64),
	K = PRIMES.map((prime) => fraction(Math.cbrt(prime))),
	BEGIN = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

function primes(count: number): number[] {
	const found: number[] = [];
	for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime)) found.push(n);
	return found;
}

// The first 32 bits after the point.
function fraction(root: number) {
	return ((root % 1) * 2 ** 32) | 0;
}

function padded(data: Uint8Array): DataView {
	const view = new DataView(new ArrayBuffer((((data.length + 8) >> 6) + 1) << 6));
	new Uint8Array(view.buffer).set(data);
	view.setUint8(data.length, 0x80);
	view.setUint32(view.byteLength - 4, data.length * 8);
	return view;
}

const turn = (word: number, by: number) => (word >>> by) | (word << (32 - by));

export function sha256(data: Uint8Array): Uint8Array {
	const view = padded(data),
		hash = Int32Array.from(BEGIN),
		words = new Int32Array(64);
	for (let block = 0; block < view.byteLength; block += 64) {
		for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(block + 4 * i);
		for (let i = 16; i < 64; i += 1) {
			const [early, late] = [words[i - 15], words[i - 2]];
			words[i] =
				words[i - 16] +
				words[i - 7] +
				(turn(early, 7) ^ turn(early, 18) ^ (early >>> 3)) +
				(turn(late, 17) ^ turn(late, 19) ^ (late >>> 10));
		}
		let [a, b, c, d, e, f, g, h] = hash;
		for (let i = 0; i < 64; i += 1) {
			const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + words[i]) | 0,
				other = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
			[h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + other) | 0];
		}
		for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i] += word;
	}
	const digest = new DataView(new ArrayBuffer(32));
	for (const [i, word] of hash.entries()) digest.setInt32(4 * i, word);
	return new Uint8Array(digest.buffer);
}

// The data under a key stream; a second time it is the data.
export function mixed(data: Uint8Array, key: Uint8Array): Uint8Array<ArrayBuffer> {
	const result = Uint8Array.from(data),
		block = new Uint8Array(key.length + 4);
	block.set(key);
	for (let at = 0; at < data.length; at += 32) {
		new DataView(block.buffer).setUint32(key.length, at);
		for (const [i, byte] of sha256(block).entries()) if (at + i < data.length) result[at + i] ^= byte;
	}
	return result;
}

export type Sealed = [answer: string | number | string[], because: string, criteria?: string[]];

// The answer, its reason, and the criteria of a sentence. A seal that was cut or changed is an error.
export async function openSeal(token: string): Promise<Sealed> {
	const text = atob(token.slice(SEAL.length).replaceAll("-", "+").replaceAll("_", "/")),
		raw = Uint8Array.from(text, (letter) => letter.charCodeAt(0)),
		key = raw.slice(0, 4),
		packed = mixed(raw.slice(4), key);
	if (!token.startsWith(SEAL) || sha256(packed).slice(0, 4).join() !== key.join())
		throw new Error("This seal is broken.");
	return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
