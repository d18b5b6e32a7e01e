// What is said to an answer that is given in a form: the first part of it that is not right, or that all of it is.

import { openText, type Seals } from "./seals";

// A word for each row, or names to be put in order.
export interface Form extends Seals {
	rows?: Array<{ says: string; words: string[] }>;
	names?: string[];
}

// What is said to a wrong part, or to the whole right answer; all of it is HTML of this site.
interface Told {
	says: string;
	more: string; // a hint that fits, or why it is right
	run: string;
}
export interface Verdict extends Partial<Told> {
	count: string;
	right?: boolean;
	place?: number; // of the first part that is not right
}

// The parts of an answer that are judged one by one; null for a row that is still blank.
export function partsOf({ rows }: Pick<Form, "rows">, given: string[]): Array<[number | string, string] | null> {
	if (rows) return given.map((word, place) => (word ? [place, word] : null));
	return given.slice(1).map((name, place) => [given[place] as string, name]);
}

export async function judge(form: Form, given: string[]): Promise<Verdict> {
	const parts = partsOf(form, given),
		what = form.rows ? "are right" : "neighbouring pairs are in order",
		whole = parts.includes(null) ? undefined : await openText<Told>(form, parts);
	if (whole) return { ...whole, count: "", right: true };
	const wrong = await Promise.all(parts.map((part) => part && openText<Told>(form, part))),
		place = wrong.findIndex((told, i) => told || !parts[i]),
		right = wrong.filter((told, i) => !told && parts[i]).length,
		count = `${right} of ${parts.length} ${what}.`;
	return { count, place, says: `<p>Row ${place + 1} is still blank.</p>`, ...wrong[place] };
}
