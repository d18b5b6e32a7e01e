// Says to an answer in a form which belief its wrong rows fit, which names are in the wrong order, or that it is right.
//
// Python finds a belief in the same way: kafkalab/grading/beliefs.py.

import { openText, type Seals } from "./seals";

// A word for each row, or names to be put in order.
export interface Form extends Seals {
	what?: string; // one row, in a word
	rows?: Array<{ says: string; words: string[] }>;
	names?: string[];
}

// What is said to a wrong pair, or to the whole right answer; all of it is HTML of this site.
interface Told {
	says: string;
	more: string; // a hint that fits, or why it is right
	run: string;
}
// What is said to one word of one row: `refutes` if its belief is named, `look` if none fits.
interface ToldRow {
	wrong: boolean;
	belief: string;
	sentence: string;
	denies: string[]; // the beliefs that a right word denies
	refutes: string;
	look: string;
	more: string;
	run: string;
}
export interface Verdict extends Partial<Told> {
	count: string;
	right?: boolean;
	place?: number; // of the part to look at
	invalid?: boolean; // whether that part is said to be wrong
}

const NUMBERS = "No One Two Three Four Five Six Seven Eight Nine Ten".split(" "),
	DENIALS = 2,
	PARTS = 3;

// The parts of an answer that are judged one by one; null for a row that is still blank.
export function partsOf({ rows }: Pick<Form, "rows">, given: string[]): Array<[number | string, string] | null> {
	if (rows) return given.map((word, place) => (word ? [place, word] : null));
	return given.slice(1).map((name, place) => [given[place] as string, name]);
}

export async function judge(form: Form, given: string[]): Promise<Verdict> {
	const parts = partsOf(form, given),
		{ what = "row" } = form,
		blank = parts.flatMap((part, place) => (part ? [] : [place + 1]));
	if (blank.length)
		return {
			...{ count: "", place: blank[0] - 1, invalid: true },
			says: `<p>Still blank: ${what} ${blank.join(", ")}. Give a value for each ${what} first.</p>`,
		};
	const whole = await openText<Told>(form, parts);
	if (whole) return { ...whole, count: "", right: true };
	if (form.rows) return judgeRows(await Promise.all(parts.map((part) => openText<ToldRow>(form, part))), given, what);
	const wrong = await Promise.all(parts.map((part) => openText<Told>(form, part))),
		count = `${wrong.filter((told) => !told).length} of ${parts.length} neighbouring pairs are in order.`;
	return { count, place: wrong.findIndex((told) => told), invalid: true, ...wrong.find((told) => told) };
}

function judgeRows(opened: Array<ToldRow | undefined>, given: string[], what: string): Verdict {
	const rows = opened as ToldRow[],
		{ belief, explained, shown } = diagnose(rows, given),
		{ sentence, refutes, look, more, run } = rows[shown],
		count = `${rows.filter(({ wrong }) => !wrong).length} of ${rows.length} ${what}s are right.`,
		number = NUMBERS[explained.length] ?? explained.length,
		fit = `${number} of your ${what}s ${explained.length === 1 ? "fits" : "fit"} one belief: ${sentence}.`;
	if (belief) return { count, place: shown, invalid: true, says: `<p>${fit}</p>${refutes}`, more, run };
	return { count, place: shown, says: `<p>No single belief explains the others.</p>${look}`, more: "", run };
}

// The belief that explains most of the wrong rows and that no right row denies, and the row to look at.
export function diagnose(rows: Array<Pick<ToldRow, "wrong" | "belief" | "denies">>, given: string[]) {
	const wrong = [...rows.keys()].filter((place) => rows[place].wrong),
		explained = new Map<string, number[]>(),
		denied = (belief: string) => rows.filter(({ denies }) => denies.includes(belief)).length;
	for (const place of wrong) {
		const { belief } = rows[place];
		if (belief) explained.set(belief, [...(explained.get(belief) ?? []), place]);
	}
	const fitting = [...explained].filter(
		([belief, places]) => places.length > DENIALS * denied(belief) && places.length * PARTS >= wrong.length,
	);
	fitting.sort(([a, one], [b, other]) => other.length - one.length || denied(a) - denied(b));
	if (fitting.length) {
		const [belief, places] = fitting[0];
		return { belief, explained: places, shown: places[0] };
	}
	const number = [...given.join("")].reduce((sum, sign) => sum + (sign.codePointAt(0) ?? 0), 0);
	return { belief: "", explained: [], shown: number % 2 ? wrong[number % wrong.length] : number % rows.length };
}
