// What a card that asks for a prediction does in a page without a kernel: see kafkalab/widgets/views/predict.py.
//
// What was said to the cards of the page is kept for as long as its tab is open, if the browser may keep anything.

import { openSeal } from "./open_seal";
import type { RunModel } from "./run_model";

// The sentences of the card, with {} for what is given and for the truth; its sealed answer.
export interface Card {
	sealed: string;
	asked: string;
	kept: string;
	right: string;
	wrong: string;
	compare: string;
}

interface Said {
	given: string;
	told: boolean;
	ticked?: number[];
	first?: boolean; // whether it was right when it was first told
}

const LEAST_WORDS = 4,
	KEY = `klab-predict ${globalThis.location?.pathname}`,
	ANSWERED = "this card is told already",
	known: Record<string, Said> = recall(),
	cards = new Map<string, RunModel>();

function recall(): Record<string, Said> {
	try {
		return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
	} catch {
		return {};
	}
}
function remember() {
	try {
		sessionStorage.setItem(KEY, JSON.stringify(known));
	} catch {} // the page itself has it
}

const fill = (sentence: string, ...given: string[]) =>
	given.reduce((text, one) => text.replace("{}", () => one), sentence);
const numberIn = (text: string) => (/\d/.test(text) ? Number(text.replaceAll(" ", "")) : Number.NaN);
const plain = (text: string) => text.split(/\s+/).filter(Boolean).join(" ").toLowerCase();

export function isRight(given: string, answer: string | number | string[]) {
	return typeof answer === "number"
		? numberIn(given) === answer
		: [answer].flat().some((one) => plain(one) === given.toLowerCase());
}

// How many of the `count` cards of the page were right when they were first told, and how many are open.
export function scoreOf(all: Array<Pick<Said, "first">>, count: number) {
	const told = all.filter(({ first }) => first !== undefined),
		open = count - told.length;
	return `${told.filter(({ first }) => first).length} of ${count} right${open ? `, ${open} still open` : ""}`;
}

const countCards = () =>
	new Set(
		[...document.querySelectorAll("kafka-run[part=predict]:not(.sentence)")].map((one) => one.getAttribute("src")),
	).size;

function tellScore() {
	const counted = [...cards].filter(([, model]) => !isSentence(model)),
		text = scoreOf(Object.values(known), countCards());
	for (const [, model] of counted) model.set("score_text", text);
}

function update(model: RunModel, values: Record<string, unknown>) {
	for (const [name, value] of Object.entries(values)) model.set(name, value);
}

const isSentence = (model: RunModel) => model.get("kind") === "sentence";

async function compare(model: RunModel, card: Card, said: Said) {
	const [answer, because, criteria = []] = await openSeal(card.sealed);
	said.told = true;
	update(model, { truth: String(answer), because, criteria, ticked: said.ticked ?? [] });
	update(model, { verdict: "compared", now: card.compare });
}

function tick(model: RunModel, said: Said, at: number) {
	const before = said.ticked ?? [];
	said.ticked = before.includes(at) ? before.filter((one) => one !== at) : [...before, at].sort((a, b) => a - b);
	update(model, { ticked: said.ticked });
}

async function tell(model: RunModel, card: Card, said: Said) {
	if (isSentence(model)) return compare(model, card, said);
	const [answer, because] = await openSeal(card.sealed),
		truth = String([answer].flat()[0]),
		right = isRight(said.given, answer);
	said.told = true;
	said.first ??= right;
	update(model, {
		...{ truth, because, verdict: right ? "right" : "wrong" },
		now: right ? fill(card.right, said.given) : fill(card.wrong, said.given, truth),
	});
}

function keep(model: RunModel, card: Card, said: Said, given: string) {
	if (!given) throw new Error("Type an answer first.");
	if (model.get("kind") === "number" && Number.isNaN(numberIn(given))) throw new Error("A number is asked for.");
	if (isSentence(model) && given.split(/\s+/).length < LEAST_WORDS) throw new Error("Write a whole sentence first.");
	said.given = given;
	update(model, isSentence(model) ? { given } : { given, now: fill(card.kept, given) });
}

async function press(model: RunModel, card: Card, said: Said, action: string, target: string) {
	if (action === "tick") tick(model, said, Number(target));
	else if (action === "again") {
		Object.assign(said, { given: "", told: false, ticked: [] });
		update(model, { given: "", verdict: "", truth: "", because: "", criteria: [], ticked: [], now: card.asked });
	} else if (said.told) throw new Error(ANSWERED);
	else if (action === "tell") await tell(model, card, said);
	else {
		keep(model, card, said, target.trim());
		if (isSentence(model)) await compare(model, card, said);
	}
	remember();
	tellScore();
}

// Lets the page answer for the card with this name, and shows what was said to it before.
export async function playCard(name: string, model: RunModel, card: Card) {
	known[name] ??= { given: "", told: false };
	const said = known[name];
	cards.set(name, model);
	model.answer = (_, { action, target }) =>
		press(model, card, said, String(action), String(target ?? "")).catch(({ message }) =>
			model.fire("msg:custom", { kind: "error", text: message }),
		);
	if (said.given) keep(model, card, said, said.given);
	if (said.told) await tell(model, card, said);
	tellScore();
}
