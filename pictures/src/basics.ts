// Small helpers of all pictures: a search, and how times, numbers, reasons and keys are said.

const DAY = 86_400_000;
// "14 ms", from ten seconds on "70.023 s", and from a day on "8 d 5126 ms"; the same as `time` in Python.
export const time = (ms: number): string => {
	if (ms >= DAY) return `${Math.floor(ms / DAY)} d ${time(ms % DAY)}`;
	return ms < 10000 ? `${ms} ms` : `${(ms / 1000).toFixed(3)} s`;
};
// A reason as a sentence; a name with a number, such as b2, stays as it is.
export const asSentence = (text: string) =>
	text && text.replace(/^(?!\w*\d)./, (first) => first.toUpperCase()) + (/[.?]$/.test(text) ? "" : ".");
export const rounded = <T>(value: T) => (typeof value === "number" ? Math.round(value * 10) / 10 : value);
// Text in which numbers are rounded, such as the data of a path.
export const path = (texts: TemplateStringsArray, ...values: unknown[]): string =>
	texts.reduce((all, text, i) => all + rounded(values[i - 1]) + text);
// The path of an envelope: a frame in flight.
export const envelopePath = (r: number) =>
	path`M${-r},${-r * 0.7}h${r * 2}v${r * 1.4}h${-r * 2}zl${r},${r * 0.8}l${r},${-r * 0.8}`;
// Whether less motion is asked for.
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const KEY_NAMES: Record<string, string> = {
	" ": "space",
	ArrowLeft: "←",
	ArrowRight: "→",
	ArrowUp: "↑",
	ArrowDown: "↓",
};
export const keyName = (key: string) => KEY_NAMES[key] ?? key;

// The last index below `count` for which `holds`, where it holds for a first part only; -1 for none.
export function upTo(count: number, holds: (index: number) => boolean): number {
	for (let low = 0; ; ) {
		if (low >= count) return low - 1;
		const middle = (low + count) >> 1;
		if (holds(middle)) low = middle + 1;
		else count = middle;
	}
}

// The name of a button that shows `shown` and does `what`: it has what is seen, by which somebody may call it.
export const nameOf = (shown: string, what: string) =>
	/\p{L}/u.test(shown) && !what.toLowerCase().includes(shown.toLowerCase()) ? `${shown}: ${what}` : what;
