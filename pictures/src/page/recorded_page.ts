// A run on a page of its own: no kernel, no network.
//
// The models of the picture and of its journey keep their values in the page; what only a kernel can do is answered
// with a sentence.

import { PageModel, type PictureModule, type Values } from "./page_model";
import { chooseTheme } from "./page_shell";

const RECORDED = "This page is a recording: it shows this run and its steps. For another future open it in a lab";

type Sequence = HTMLElement & { stepNamed?: (name: string) => number | undefined };

class RecordedModel extends PageModel {
	widget_manager?: { get_model(): Promise<PageModel> };

	send({ kind }: { kind: string }) {
		// after the caller has noted that it waits
		setTimeout(() => {
			if (kind === "press") this.fire("msg:custom", { kind: "error", text: `${RECORDED}, with the code below.` });
			if (kind === "what_if") this.set("strips", { place: this.get("place"), why: RECORDED });
		});
	}
}

// Goes to what the page's address names: "#step=54", "#EndTxn#1", "#chapter:decision".
function goToAddress(root: Sequence, journey: PageModel) {
	const name = decodeURIComponent(location.hash.slice(1)),
		step = /^step=\d+$/.test(name) ? Number(name.slice(5)) : name ? root.stepNamed?.(name) : undefined;
	if (step !== undefined) journey.set("step", Math.min(step, Number(root.dataset.events) - 1));
}

export async function openRecording(
	{ default: view }: PictureModule,
	{ journey: journeyValues, view: viewValues }: Record<"journey" | "view", Values>,
	place: Element,
) {
	const journey = new RecordedModel(journeyValues),
		model = new RecordedModel({ ...viewValues, place: journeyValues.place, journey: "IPY_MODEL_journey" });
	model.widget_manager = { get_model: async () => journey };
	await view.render({ model, el: place });
	const root = place.querySelector(".klab") as Sequence;
	chooseTheme(document.querySelector("#theme") as Element);
	goToAddress(root, journey);
	addEventListener("hashchange", () => goToAddress(root, journey));
	root.focus({ preventScroll: true });
}
