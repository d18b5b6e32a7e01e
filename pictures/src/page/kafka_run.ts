// <kafka-run src="…" part="…">: a picture of a recorded run in an article. It steps in the page, without Python.
//
// It holds the static picture until it comes near the screen; then its data and its modules are loaded, once a page.

import "./kafka_run.css";
import { hearAddresses, linkTo } from "./address";
import { follow } from "./asking";
import { Foretold } from "./foretold";
import { defineOpened } from "./opened";
import { watchNear } from "./near";
import { playCard } from "./predict_card";
import { JourneyView, linkToRun, modelNamed, RunModel, SharedJourney } from "./run_model";
import { type Common, type Kept, type Stored, commonModule, moduleOf, once, payloadNamed, unpackOnce } from "./stored";
import { hearTextLinks } from "./text_links";
import { mendTheme } from "./theme";

const HEADER = 64, // the book's, which covers the top of the page
	journeys = new Map<string, SharedJourney>();

interface Root extends HTMLElement {
	stepNamed?: (name: string) => number | undefined;
}
type Model = RunModel | JourneyView;

// The models of a picture, which are those of another one where both are the same.
const modelsOf = (src: URL, kept: Kept) => once(`models of ${src}`, () => makeModels(src, kept));

async function makeModels(src: URL, { models }: Kept): Promise<Map<string, Model>> {
	const made = new Map<string, Model>();
	for (const [id, kept] of Object.entries(models)) {
		if (kept.run) {
			const all = { ...kept, values: { ...kept.values, payload: await payloadNamed(kept.run) } };
			made.set(id, journeyNamed(new URL(id, src).href, all).viewOf(all.values));
		} else {
			const model = new RunModel(kept, made);
			made.set(id, model);
			if (kept.card) await playCard(src.pathname, model, kept.card);
		}
	}
	for (const model of made.values()) if (model instanceof RunModel) join(model, made);
	return made;
}

function journeyNamed(name: string, kept: Stored): SharedJourney {
	const known = journeys.get(name);
	if (known) return known;
	const made = new SharedJourney(kept);
	made.foretold = new Foretold(made, kept.futures ?? {});
	journeys.set(name, made);
	return made;
}

// A picture's way to its journey, if it is of one.
function journeyIn(models: ReadonlyMap<string, Model>, model: RunModel): JourneyView | undefined {
	const found = modelNamed(models, String(model.get("journey")));
	return found instanceof JourneyView ? found : undefined;
}

function join(model: RunModel, models: Map<string, Model>) {
	const journey = journeyIn(models, model);
	if (!journey) return;
	model.journey = journey.shared;
	journey.shared.views.push(model);
	follow(model, journey.shared);
}

// The heading below which a picture stands.
const headingOf = (picture: Element) => {
	const heading = picture.closest("section")?.querySelector(":scope > :is(h1, h2, h3, h4)");
	return `Picture: ${(heading?.textContent ?? "").replace(/#$/, "").trim()}`;
};

// What must not move while a picture above it grows: the heading that the address names, while it is on the screen; for
// a picture above the screen, where the browser itself does not see to that, what follows it.
function heldBelow(picture: Element): Element | undefined {
	const target = document.querySelector(":target"),
		top = target?.getBoundingClientRect().top ?? -1,
		follows = picture.compareDocumentPosition(target ?? picture) & Node.DOCUMENT_POSITION_FOLLOWING;
	if (target && follows && top >= 0 && top < innerHeight) return target;
	const isAbove = picture.getBoundingClientRect().bottom <= HEADER && !CSS.supports("overflow-anchor", "auto");
	return isAbove ? (picture.closest(".cell")?.nextElementSibling ?? undefined) : undefined;
}

// When a picture has been laid out for the room that it has; in a page that nobody sees, a little later.
const laidOut = () =>
	Promise.race([
		new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
		new Promise((done) => setTimeout(done, 200)),
	]);

export class KafkaRun extends HTMLElement {
	private opening: Promise<void> | undefined;
	private close: (() => void) | undefined;
	private common: Common | undefined;
	private model: RunModel | undefined;
	private journey: JourneyView | undefined;
	private near: IntersectionObserver | undefined;

	connectedCallback() {
		this.role = "figure";
		this.ariaLabel = headingOf(this);
		this.near = watchNear(this, () => this.open());
	}
	disconnectedCallback() {
		this.near?.disconnect();
		this.close?.();
	}
	// The picture, once it is there.
	get root() {
		return this.querySelector<Root>(".klab");
	}
	// Loads the picture; where that fails the static one stays, with a sentence.
	open(): Promise<void> {
		this.near?.disconnect();
		this.opening ??= this.load().catch((error: Error) => {
			this.opening = undefined;
			this.sayWhy(error);
		});
		return this.opening;
	}
	// What Python has made, in place of what is stored.
	given: { model: RunModel; journey: JourneyView } | undefined;
	private async find(): Promise<{ model: RunModel; journey: JourneyView | undefined }> {
		const src = new URL(this.getAttribute("src") ?? "", document.baseURI),
			kept = await unpackOnce<Kept>(src),
			models = await modelsOf(src, kept),
			model = models.get(kept.root) as RunModel;
		return { model, journey: journeyIn(models, model) };
	}
	private async load() {
		const place = document.createElement("div"),
			part = this.getAttribute("part") ?? "",
			[found, { default: picture }] = await Promise.all([this.given ?? this.find(), moduleOf(part)]);
		this.common = await commonModule();
		Object.assign(this, found);
		place.className = "coming";
		this.append(place);
		this.close = (await picture.render({ model: found.model, el: place })) ?? undefined;
		await laidOut();
		this.show(place);
	}
	// Puts the live picture into the place of the static one. What the reader came to see stays where it is.
	private show(place: Element) {
		const held = heldBelow(this),
			top = held?.getBoundingClientRect().top ?? 0;
		place.className = "";
		this.replaceChildren(place, linkTo(this));
		this.classList.add("live");
		if (held) scrollBy({ top: held.getBoundingClientRect().top - top, behavior: "instant" });
	}
	// A link to the run that is shown, where the page does not have it as this picture.
	get link(): string {
		const { journey } = this,
			code = journey?.shared.code;
		return code ? `${linkToRun(code)}&step=${journey.get("step")}` : "";
	}
	// Where the picture stands: the frame that is sent at its step, else the step; "" for a picture without steps.
	get place(): string {
		const { journey, model, common } = this;
		if (!journey || !common) return String(model?.get("row") ?? "");
		const step = Number(journey.get("step")),
			sent = Object.entries(common.runOf(journey as never).frames).find(([, frame]) => frame.sent === step);
		return sent?.[0] ?? String(step);
	}
	// Goes to a place that an address names.
	async go(place: string) {
		await this.open();
		const { journey, model, common } = this,
			number = /^\d+$/.test(place) ? Number(place) : undefined;
		if (!model || !common) return;
		if (!journey) {
			const rows = model.get("rows") as unknown[] | undefined;
			if (rows && number !== undefined) model.set("row", Math.min(number, rows.length - 1));
			return;
		}
		const run = common.runOf(journey as never),
			step = number ?? common.stepNamed(run, common.walkStops(run, journey as never), place);
		if (step !== undefined) journey.set("step", Math.min(step, run.last));
	}
	private sayWhy({ message }: Error) {
		const said = this.querySelector(".said") ?? document.createElement("p"),
			again = document.createElement("button");
		Object.assign(again, { type: "button", textContent: "Try again", onclick: () => this.open() });
		said.className = "said";
		said.role = "alert";
		said.replaceChildren(`This picture cannot be moved now (${message}). `, again);
		this.classList.add("still");
		this.append(said);
	}
}

customElements.define("kafka-run", KafkaRun);
defineOpened();
hearTextLinks();
hearAddresses();
mendTheme();
