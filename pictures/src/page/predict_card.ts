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
}

interface Said {
	given: string;
	told: boolean;
	first?: boolean; // whether it was right when it was first told
}

const KEY = `klab-predict ${globalThis.location?.pathname}`,
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
	new Set([...document.querySelectorAll("kafka-run[part=predict]")].map((one) => one.getAttribute("src"))).size;

function tellScore() {
	const text = scoreOf(Object.values(known), countCards());
	for (const model of cards.values()) model.set("score_text", text);
}

function update(model: RunModel, values: Record<string, string>) {
	for (const [name, value] of Object.entries(values)) model.set(name, value);
}

async function tell(model: RunModel, card: Card, said: Said) {
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
	said.given = given;
	update(model, { given, now: fill(card.kept, given) });
}

async function press(model: RunModel, card: Card, said: Said, action: string, target: string) {
	if (action === "again") {
		Object.assign(said, { given: "", told: false });
		update(model, { given: "", verdict: "", truth: "", because: "", now: card.asked });
	} else if (said.told) throw new Error(ANSWERED);
	else if (action === "tell") await tell(model, card, said);
	else keep(model, card, said, target.trim());
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
