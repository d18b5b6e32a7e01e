// A run of a Kafka cluster as a sequence diagram with logs and states, stepped through in the browser.
//
// What is shown is a fold over the events' patches (openRun), laid out for the visible groups (plan). The parts draw
// themselves from the view, `v`: diagram.js, sequence_states.js, sequence_logs.js, sequence_verdict.js,
// controls.js, chapters.js, what_if.js, inspector.js; links.js lets the notebook's text move it; faults by hand:
// envelopes.js, fault_menu.js, drawer.js.

import "./sequence.css";
import { WAY, drawWay, growWalk, hearContents, jumpOf, layWalk, openContents, openFold } from "./chapters";
import { CONTROLS, HELP, drawFilter, drawTools, hearKeys, whyNot } from "./controls";
import { drawDiagram, drawLanes, glide, measure, sizePicture } from "./diagram";
import { drawerOf, enlarge } from "./drawer";
import { forget, hearHands, openLane, openNewest } from "./envelopes";
import { plan } from "./flights";
import { foldMarkup, inspectorMarkup } from "./inspector";
import { hearLinks } from "./links";
import {
	aloud,
	esc,
	hearAlways,
	isAtTheEnd,
	journeyOf,
	listen,
	moveTo,
	parse,
	press,
	runOf,
	sizeOf,
	still,
	sync,
	time,
	upTo,
} from "./run";
import { barsOf, drawLogs, dropAndSlide, keyedOf, levelsOf, writesOf } from "./sequence_logs";
import { drawStates, railOf } from "./sequence_states";
import { askVerdict, drawVerdict, takeFindings } from "./sequence_verdict";
import { foldAt } from "./walk";
import { STRIPS, WONDERS, drawStrips, hearStrips } from "./what_if";

const PLAY_MS = 900,
	GLIDE_MS = 280;
let instances = 0;

const SKELETON =
	`${CONTROLS}${STRIPS}${WAY}<div class="told"><p class="chapter" role="status"></p>` +
	`<p class="now" role="status" aria-live="polite"></p><button type="button" class="folded" data-action="open"></button>
	<div class="judged"><div class="found"></div><div class="chips"></div></div></div>
<div class="findings" role="group" aria-label="What the checks found" hidden></div>
<div class="main"><section class="diagram"><div class="lanes"></div><div class="scroll"><div class="sheet">` +
	`<svg>${'<g aria-hidden="true"></g>'.repeat(4)}<g role="group" aria-label="Frames in flight"></g></svg>` +
	`</div></div><p class="invitation" role="status" hidden>Press → to begin.</p></section>
	<section class="frame" aria-label="The chosen frame"></section><div class="beside"></div></div>
<div class="states"></div>
<div class="logs"></div>${HELP}`;

async function open(model, el) {
	await hearAlways(model);
	const journey = await journeyOf(model),
		root = parse(el, `<div class="klab sequence" tabindex="0" role="application">${SKELETON}</div>`);
	const pair = parse(el, `<div class="klab-pair"></div>`);
	pair.append(root);
	el.append(pair);
	const $ = (name) => root.querySelector(`.${name}`),
		v = { model, journey, root, $, step: 0, drawn: 0, prefix: `klab${++instances}-`, fitted: new Map() };
	v.pen = document.createElement("canvas").getContext("2d");
	const now = $("now"),
		scroll = $("scroll"),
		help = $("help"),
		voice = aloud(journey, root, now);
	const moving = [];
	const extentOf = ({ nodes, partitions }) => `${nodes.length} ${partitions.length}`;

	const place = () => upTo(v.stops.length, (i) => v.stops[i] <= v.step);

	// Moves an element for a moment, unless less motion is asked for. The next step ends it.
	v.move = (element, frames, ended, duration = GLIDE_MS) => {
		if (still()) return ended?.();
		const one = element.animate(frames, { duration, easing: "ease-out" });
		one.onfinish = one.oncancel = () => ended?.();
		moving.push(one);
	};

	function go(to, tell = true) {
		if (to === undefined || to === v.step) return;
		v.step = Math.max(0, Math.min(to, v.run.last));
		if (tell) moveTo(journey, v.step);
		draw();
	}

	function say(text, how = "said") {
		now.textContent = now.title = text;
		now.className = `now ${how}`;
	}

	function pause() {
		if (!v.playing) return;
		clearInterval(v.playing);
		v.playing = 0;
		drawTools(v);
	}

	function play() {
		if (v.playing) return pause();
		if (v.step >= v.stops.at(-1)) go(v.stops[0]);
		v.playing = setInterval(() => (v.step < v.stops.at(-1) ? go(v.stops[place() + 1]) : pause()), PLAY_MS);
		drawTools(v);
	}

	function act(action, target) {
		const { stops } = v,
			at = place();
		if (action === "play") return play();
		pause();
		if (action === "right" && isAtTheEnd(v)) return ask(action);
		const moves = {
			right: stops[at + 1],
			left: stops[stops[at] === v.step ? at - 1 : at],
			home: stops[0],
			end: stops.at(-1),
		};
		if (action in moves) return go(moves[action]);
		if (/^(next|previous)_|^open$/.test(action)) {
			const no = whyNot(v, action);
			return no ? say(no) : action === "open" ? openFold(v) : go(jumpOf(v, action));
		}
		if (action === "chapters") return openContents(v, $("contents").hidden);
		if (action === "every") return (journey.set("every", !journey.get("every")), journey.save_changes());
		if (action === "finding") {
			const name = target ?? v.shown[0]?.name;
			v.opened = v.opened === name ? "" : name;
			return name ? draw() : say("The checks have found nothing up to this step.");
		}
		if (action === "inspect") {
			if (root.classList.contains("faulting")) v.drawer.toggle();
			return (root.classList.toggle("inspecting"), draw());
		}
		if (action === "internal") return ((v.internal = !v.internal), draw());
		if (action === "filter") return void ($("filter").hidden = !$("filter").hidden);
		if (action === "menu") return openNewest(v);
		if (action === "node") return openLane(v, target);
		if (action === "size") return enlarge(v);
		if (action === "faults") return v.drawer.toggle();
		if (action === "what_if") return (model.set(action, !model.get(action)), model.save_changes());
		if (action === "time") return (model.set("time", v.across ? "down" : "across"), model.save_changes());
		if (action !== "help") return ask(action, target);
		help.hidden = !help.hidden;
		(help.hidden ? root : help.querySelector("button")).focus({ preventScroll: true });
	}

	function ask(action, target = "") {
		const no = whyNot(v, action, target);
		if (no) return say(no);
		press(journey, action, /drop|dup/.test(action) ? v.run.events[v.step].frame : target);
	}

	function told({ kind, text }) {
		drawTools(v);
		if (kind === "error") say(text, "said wrong");
	}

	function load() {
		const run = runOf(journey);
		forget(v);
		Object.assign(v, { run, tokens: {}, recent: [], opened: "", writes: writesOf(run), extent: extentOf(run) });
		v.step = v.drawn = Math.max(0, Math.min(journey.get("step"), run.last));
		sync(
			$("logs"),
			run.partitions.map((p) => [
				p,
				`<section class="strip" data-partition="${esc(p)}"><div class="grid"></div></section>`,
			]),
		);
		root.setAttribute("aria-label", `${run.title}. Arrow keys step, question mark for help.`);
		drawRun();
		relay();
	}

	function drawRun() {
		const { run } = v;
		Object.assign(v, { levels: levelsOf(run, v.writes), keyed: keyedOf(run, v.writes) });
		sync(
			$("chips"),
			run.faults.map((fault, i) => [i, `<code>${esc(fault)}</code>`]),
		);
		Object.assign(root.dataset, { events: run.events.length, place: journey.get("place") });
	}

	// The run has grown. Lay only out what is new, unless there are new lanes or strips.
	function grow() {
		const { run, plan } = v;
		if (!v.width || extentOf(run) !== v.extent) return load();
		writesOf(run, v.writes);
		drawRun();
		plan.grow();
		if (plan.longest > v.longest) sizePicture(v);
		if (run.apis.size + run.transactions.length !== v.filtered) drawFilter(v);
		growWalk(v);
		v.step = Math.max(0, Math.min(journey.get("step"), run.last));
		draw();
	}

	function relay() {
		v.across = model.get("time") === "across";
		Object.assign(root.dataset, { size: sizeOf(model, journey), time: model.get("time") });
		v.u = parseFloat(getComputedStyle(root).fontSize) || 13;
		v.plan = plan(v.run, new Set(journey.get("groups")), new Set(journey.get("hidden")), v.u, v.across);
		layWalk(v);
		drawFilter(v);
		root.style.setProperty("--lanes", v.plan.lanes.length);
		v.width = 0;
		resized();
	}

	function resized() {
		const { width } = v;
		if (!measure(v)) return;
		if (v.width === width && !v.across) return scrollTo(drawDiagram(v)); // only a strip has become higher
		v.rail = railOf(v);
		draw();
	}

	const scrollTo = (shift) => (scroll[v.across ? "scrollLeft" : "scrollTop"] = shift);

	function draw() {
		if (!v.width) return;
		if (v.step !== v.drawn) forget(v);
		const { run, step } = v,
			focused = root.contains(document.activeElement),
			event = run.events[step] ?? {},
			count = v.stops.length,
			index = place() + 1,
			lively = step > v.drawn && !still(),
			bars = lively ? barsOf(v) : null; // before anything is written
		for (const one of moving.splice(0)) one.cancel();
		v.state = run.at(step);
		v.chosen = run.frameAt(step);
		takeFindings(v);
		Object.assign(root.dataset, { step, stopIndex: index, stopCount: count });
		$("where").innerHTML =
			`<span class="word">step </span><b>${index}</b><span class="word"> of </span><i>/</i>${count} · ` +
			`<span class="word">t = </span><b>${time(event.at ?? 0)}</b>`;
		voice();
		say(foldAt(run, step, v.stops) || event.text, event.kind);
		drawWay(v, index);
		drawStrips(v, index);
		drawLanes(v);
		const shift = drawDiagram(v);
		drawStates(v);
		drawVerdict(v);
		drawFrame();
		drawTools(v);
		const moved = drawLogs(v);
		if (lively) glide(v);
		scrollTo(shift); // all is written before anything is measured: one layout
		for (const grid of moved) grid.scrollLeft = 1e6;
		if (lively) dropAndSlide(v, bars);
		if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
		v.drawn = step;
		askVerdict(v);
	}

	function drawFrame() {
		const f = v.chosen,
			full = root.classList.contains("inspecting"),
			fold = foldMarkup(v.run, f, v.step, full, v.run.events[v.step]?.frame === f?.id, !!v.internal);
		sync($("frame"), [
			["fold", fold],
			...(f && full ? [[f.id, inspectorMarkup(v.run, f, v.step, v.run.events[v.step].frame === f.id)]] : []),
		]);
	}

	function follow(name, to) {
		pause();
		if (to === undefined) say(`This run has no ${name.replace("chapter:", "chapter ")}.`, "said wrong");
		else go(to);
		root.scrollIntoView({ block: "nearest" });
		root.focus({ preventScroll: true });
	}

	Object.assign(v, { say, pause, redraw: draw, drawer: drawerOf(v, pair) });
	hearHands(v);
	hearContents(v);
	hearStrips(v, go);
	const unlinked = hearLinks(v, follow);
	hearKeys(v, act, go);
	const deaf = listen(
		journey,
		{
			payload: load,
			groups: relay,
			hidden: relay,
			size: relay,
			every: relay,
			opened: relay,
			verdict: draw,
			step: () => go(journey.get("step"), false),
			can_undo: () => drawTools(v),
			can_redo: () => drawTools(v),
		},
		told,
		grow,
	);
	for (const name of ["size", "time"]) model.on(`change:${name}`, relay);
	for (const name of WONDERS) model.on(`change:${name}`, draw);
	const watch = new ResizeObserver(resized);
	watch.observe(scroll);
	v.state = { node: {} };
	load();
	return () => {
		deaf();
		unlinked();
		for (const name of ["size", "time"]) model.off(`change:${name}`, relay);
		for (const name of WONDERS) model.off(`change:${name}`, draw);
		watch.disconnect();
		clearInterval(v.playing);
		clearTimeout(v.ticking);
		v.drawer.close();
		pair.remove();
	};
}

export default { render: ({ model, el }) => open(model, el) };
