// A run of a Kafka cluster as a sequence diagram with logs and states, stepped through in the browser.
//
// Reading order: the state is a fold over the events' patches (Run), the rows are laid out once for each choice of
// groups (layout), and draw() brings what is on the screen to the step of the cursor, touching only what changed.
// Only a press that changes the world asks the kernel.

const GROUPS = ["transaction", "verification", "replication", "metadata"];
const ALWAYS = ["fault", "crash", "recover"];
const CHECKPOINT = 64;
const TAPE = 16;
const PLAY_MS = 900;
const SAVE_MS = 150;
const PATIENCE_MS = 20000;
const LONG_MS = 25;
const KEYS = {
  ArrowLeft: "left", ArrowRight: "right", Home: "home", End: "end", " ": "play",
  d: "drop", u: "duplicate", c: "crash", z: "undo", y: "redo", "?": "help",
};
let instances = 0;

const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const span = (a, b) => (a === b ? `${a}` : `${a}–${b}`);
const round = (n) => Math.round(n * 10) / 10;
const version = (profile) => String(profile).split("/").pop();

// ---- the state that a picture shows, as a fold ----

const NOTHING = { nodes: {}, roles: {}, leader: {}, logs: {}, txns: {}, clients: {} };
const EMPTY_LOG = { batches: [], hw: 0, lso: 0 };

const logOf = (state, node, partition) => state.logs[`${node} ${partition}`] ?? EMPTY_LOG;

function put(state, map, key, value) {
  return { ...state, [map]: { ...state[map], [key]: value } };
}

function putLog(state, node, partition, change) {
  return put(state, "logs", `${node} ${partition}`, { ...logOf(state, node, partition), ...change });
}

function apply(state, [op, a, b, c]) {
  switch (op) {
    case "node": return put(state, "nodes", a, b);
    case "roles": return put(state, "roles", a, b);
    case "leader": return put(state, "leader", a, b);
    case "batch": return putLog(state, a, b, { batches: [...logOf(state, a, b).batches, c] });
    case "truncate": return putLog(state, a, b, { batches: logOf(state, a, b).batches.filter((x) => x.base < c) });
    case "hw": case "lso": return putLog(state, a, b, { [op]: c });
    case "client": return put(state, "clients", a, { ...state.clients[a], ...b });
    case "txn": {
      const old = state.txns[a];
      const moved = old && !b.pending && (old.pending || old.state !== b.state || !same(old, b));
      const via = !old || b.pending ? old?.via : moved ? [old.state, b.state] : old.via;
      return put(state, "txns", a, { ...b, via });
    }
    default: return state;
  }
}

const same = (a, b) => a.epoch === b.epoch && a.producer_id === b.producer_id && `${a.partitions}` === `${b.partitions}`;

// ---- a run: events, frames, checkpoints, and what is worked out once ----

class Run {
  constructor(payload) {
    Object.assign(this, payload);
    this.checkpoints = [];
    this.marks = [];
    this.effects = new Map();
    this.copies = new Set();
    this.life = {};
    this.ends = {};
    let state = this.initial.reduce(apply, NOTHING);
    for (const node of this.nodes) this.life[node.id] = [[-1, state.nodes[node.id] ?? "up"]];
    for (const event of this.events) {
      if (event.step % CHECKPOINT === 0) this.checkpoints.push(state);
      if (event.kind !== "send" && event.kind !== "receive") this.marks[event.step] = mark(event, state);
      if (event.cause >= 0) this.effects.set(event.cause, [...(this.effects.get(event.cause) ?? []), event.step]);
      if (event.kind === "fault" && event.frame) this.ends[event.frame] ??= event.step;
      for (const op of event.patch) {
        if (op[0] === "node") this.life[op[1]]?.push([event.step, op[2]]);
        state = apply(state, op);
      }
    }
    this.last = this.events.length - 1;
    for (const frame of Object.values(this.frames)) {
      if (frame.copy_of) this.copies.add(frame.copy_of);
      this.ends[frame.id] = this.endOf(frame);
    }
    this.memo = { step: -1, state: this.checkpoints[0] ?? state };
  }

  // The step from which on the frame is no longer in flight; Infinity for never.
  endOf(frame) {
    if (frame.received !== null) return frame.received;
    if (frame.fate === "dropped") return this.ends[frame.id] ?? frame.sent;
    if (frame.fate !== "lost") return Infinity;
    const down = this.life[frame.to]?.find(([step, now], i, all) => now === "down" && (all[i + 1]?.[0] ?? Infinity) > frame.sent);
    return Math.max(frame.sent + 1, down ? down[0] : 0);
  }

  // The state after the events 0 to `step`.
  at(step) {
    const mark = Math.min(Math.floor((step + 1) / CHECKPOINT), this.checkpoints.length - 1);
    let { step: from, state } = this.memo;
    if (from > step || from < mark * CHECKPOINT - 1) [from, state] = [mark * CHECKPOINT - 1, this.checkpoints[mark]];
    for (let i = from + 1; i <= step; i++) state = this.events[i].patch.reduce(apply, state);
    this.memo = { step, state };
    return state;
  }

  nodeAt(id, step) {
    return this.life[id].findLast(([from]) => from <= step)[1];
  }

  // The frame that a step is about: its own, or that of the nearest cause that has one.
  frameOf(step) {
    for (let event = this.events[step]; event; event = this.events[event.cause]) {
      if (event.frame && this.frames[event.frame]) return this.frames[event.frame];
    }
    return null;
  }

  // "in flight" until the cursor has passed the frame's end: the future is not told.
  fateAt(frame, step) {
    return step < this.ends[frame.id] ? "in flight" : frame.fate;
  }

  // The steps that a frame's arrival led to, without those behind the next arrival.
  caused(frame, step) {
    const found = [];
    const queue = frame.received === null ? [] : [...(this.effects.get(frame.received) ?? [])];
    while (queue.length && found.length < 40) {
      const next = queue.shift();
      const event = this.events[next];
      if (next > step || event.kind === "receive") continue;
      if (event.kind !== "send" || event.group !== "replication") found.push(event);
      if (event.kind !== "send") queue.push(...(this.effects.get(next) ?? []));
    }
    return found.sort((a, b) => a.step - b.step);
  }

  label(id) {
    return this.nodes.find((n) => n.id === id)?.label ?? id;
  }
}

// The few words that stand on a lane for an event that is no frame.
function mark(event, before) {
  const words = [];
  for (const [op, a, b, c] of event.patch) {
    if (op === "batch") words.push(`${c.kind === "data" ? "append" : c.kind + " to"} ${b} @${span(c.base, c.last)}`);
    if (op === "client" && b.last) words.push(b.last);
    if (op === "txn") words.push(moveText(before.txns[a], b));
    if (op === "truncate") words.push(`truncate ${b} to ${c}`);
  }
  const hw = event.patch.find(([op]) => op === "hw");
  if (hw) {
    const old = logOf(before, hw[1], hw[2]);
    const lso = event.patch.find(([op]) => op === "lso")?.[3] ?? old.lso;
    const same = old.hw === old.lso && lso === hw[3];
    const moved = old.lso === lso ? ` · LSO ${lso}` : ` · LSO ${old.lso}→${lso}`;
    words.push(`${hw[2]}: HW${same ? ", LSO" : ""} ${old.hw}→${hw[3]}${same ? "" : moved}`);
  }
  if (words.length) return words.join(", ");
  const frame = event.frame ? ` ${event.frame}` : "";
  return { crash: "crash", recover: "restart", fault: event.name + frame }[event.kind] ?? event.name;
}

function moveText(old, now) {
  if (now.pending) return `${now.state} → ${now.pending}, pending`;
  if (!old) return now.state;
  if (old.state !== now.state) return `${old.state} → ${now.state}`;
  const added = now.partitions.filter((p) => !old.partitions.includes(p));
  return added.length ? `${now.state} + ${added.join(", ")}` : now.state;
}

// ---- rows: which events have a place in the diagram, and where ----

function isStop(event, groups) {
  return event.stop && (ALWAYS.includes(event.kind) || !event.group || groups.has(event.group));
}

function layout(run, shown, unit) {
  const groups = new Set(shown);
  const view = { groups, stops: [], rows: [], rowOf: new Map(), unit };
  let y = unit * 0.5;
  let clock = -1;
  for (const event of run.events) {
    const frame = run.frames[event.frame];
    const flies = frame && groups.has(frame.group) && (event.kind === "send" || event.kind === "receive");
    const stop = isStop(event, groups);
    if (stop) view.stops.push(event.step);
    if (!stop && !flies) continue;
    const waited = clock < 0 ? 0 : event.at - clock;
    const gap = waited >= LONG_MS ? unit * 1.7 : 0;
    const height = unit * (event.kind === "receive" && !stop ? (frame.copy_of ? 1.9 : 1.1) : 2.15);
    view.rowOf.set(event.step, view.rows.length);
    view.rows.push({ event, stop, y: y + gap, height, wait: gap ? waited : 0, time: event.at !== clock });
    y += gap + height;
    clock = event.at;
  }
  view.lanes = run.nodes.filter((n) => n.kind !== "controller" || groups.has("metadata"));
  view.frames = Object.values(run.frames)
    .filter((f) => groups.has(f.group) && view.rowOf.has(f.sent))
    .map((frame) => ({ frame, from: view.rowOf.get(frame.sent), to: lastRow(view, Math.min(run.ends[frame.id], run.last)) }))
    .sort((a, b) => a.from - b.from);
  let reach = 0;
  for (const f of view.frames) f.reach = reach = Math.max(reach, f.to);
  return view;
}

// The index of the last row at or before a step, -1 if there is none.
function lastRow(view, step) {
  return upTo(view.rows.length, (i) => view.rows[i].event.step <= step);
}

// The last index below `count` for which `holds`, where it holds for a first part only.
function upTo(count, holds) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// ---- bringing children of an element to a list of [key, markup], touching only those that differ ----

function parse(parent, markup) {
  const holder = parent instanceof SVGElement
    ? document.createElementNS("http://www.w3.org/2000/svg", "g")
    : document.createElement("div");
  holder.innerHTML = markup;
  return holder.firstElementChild;
}

function sync(parent, items) {
  const old = parent.kept ?? new Map();
  parent.kept = new Map();
  let place = parent.firstChild;
  for (const [key, markup] of items) {
    let entry = old.get(key);
    if (!entry || entry.markup !== markup) {
      const node = parse(parent, markup);
      if (entry && place === entry.node) place = node;
      entry?.node.replaceWith(node);
      entry = { markup, node };
    }
    old.delete(key);
    parent.kept.set(key, entry);
    if (place === entry.node) place = place.nextSibling;
    else parent.insertBefore(entry.node, place);
  }
  for (const { node } of old.values()) node.remove();
}

// ---- drawing one frame, one marker ----

function point({ x1, y1, x2, y2, loop }, t) {
  if (!loop) return [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t];
  const out = x1 + loop;
  if (t < 0.4) return [x1 + loop * (t / 0.4), y1];
  return t < 0.6 ? [out, y1 + (y2 - y1) * ((t - 0.4) / 0.2)] : [out - loop * ((t - 0.6) / 0.4), y2];
}

function line(g, upto) {
  const [x, y] = point(g, upto).map(round);
  if (!g.loop) return `M${round(g.x1)},${round(g.y1)}L${x},${y}`;
  const out = round(g.x1 + g.loop);
  return `M${round(g.x1)},${round(g.y1)}H${out}V${round(upto > 0.5 ? g.y2 : g.y1)}H${upto > 0.5 ? x : out}`;
}

function head(g, u, open) {
  const angle = g.loop ? Math.atan2(0, -g.loop) : Math.atan2(g.y2 - g.y1, g.x2 - g.x1);
  const wing = (turn) => [g.x2 - u * 0.75 * Math.cos(angle + turn), g.y2 - u * 0.75 * Math.sin(angle + turn)].map(round);
  return `<path class="k-head${open ? " k-open" : ""}" d="M${wing(0.4)}L${round(g.x2)},${round(g.y2)}L${wing(-0.4)}${open ? "" : "Z"}"/>`;
}

function cross(x, y, r) {
  return `<path class="k-cross" d="M${round(x - r)},${round(y - r)}l${2 * r},${2 * r}M${round(x - r)},${round(y + r)}l${2 * r},${-2 * r}"/>`;
}

function token(u) {
  const [w, h] = [u * 0.62, u * 0.42];
  return `<rect x="${-w}" y="${-h}" width="${2 * w}" height="${2 * h}" rx="2"/><path d="M${-w},${-h}L0,${h * 0.25}L${w},${-h}"/>`;
}

function tags(frame) {
  let text = "";
  if (frame.attempt > 1 && frame.kind === "request") text += ` <tspan class="k-tag">retry ${frame.attempt - 1}</tspan>`;
  if (frame.copy_of) text += ' <tspan class="k-tag">copy</tspan>';
  if (frame.error && frame.error !== "NONE") text += ` <tspan class="k-bad">${esc(frame.error)}</tspan>`;
  return text;
}

// ---- the widget ----

const button = (action, glyph, label, more = "") =>
  `<button type="button" data-action="${action}" aria-label="${label}" title="${label}"${more}>${glyph}</button>`;

const SKELETON = (id) => `
<div class="k-bar">
  <div class="k-buttons" role="group" aria-label="Steps">
    ${button("home", "|◂", "First step (Home)")}${button("left", "◂", "Back (left arrow)")}
    ${button("play", "play", "Play (space)", ' class="k-play"')}
    ${button("right", "▸", "Forward (right arrow)")}${button("end", "▸|", "Last step (End)")}
  </div>
  <output class="k-where"></output>
  <span class="k-space"></span>
  <div class="k-buttons" role="group" aria-label="Faults">
    <button type="button" data-action="drop" class="k-fault">✕ Drop</button>
    <button type="button" data-action="duplicate" class="k-fault">⧉ Duplicate</button>
  </div>
  <div class="k-buttons" role="group" aria-label="History">
    <button type="button" data-action="undo">↶ Undo</button><button type="button" data-action="redo">↷ Redo</button>
  </div>
  ${button("help", "?", "Help: all keys (?)")}
</div>
<div class="k-bar k-second">
  <input class="k-seek" type="range" min="1" aria-label="Step" tabindex="-1">
  <div class="k-groups" role="group" aria-label="Frames shown"></div>
</div>
<div class="k-chips" hidden></div>
<p class="k-now" role="status" aria-live="polite" aria-atomic="true"></p>
<div class="k-main">
  <section class="k-diagram" aria-label="Sequence of frames">
    <div class="k-lanes"></div>
    <div class="k-scroll"><div class="k-sheet"><svg aria-hidden="true">
      <g></g><g></g><g></g><g></g>
    </svg></div></div>
  </section>
  <div class="k-side">
    <section class="k-chart" aria-label="State of the transaction"><div class="k-txn"></div><div class="k-states"></div></section>
    <section class="k-frame" aria-label="The chosen frame" id="${id}-frame" tabindex="-1"></section>
  </div>
</div>
<section class="k-tapes" aria-label="Logs"></section>
<div class="k-help" role="dialog" aria-label="Help" hidden></div>`;

const HELP = `<div><h3>Keys</h3><table>
<tr><td><kbd>→</kbd> <kbd>←</kbd></td><td>one step forward, one step back</td></tr>
<tr><td><kbd>Home</kbd> <kbd>End</kbd></td><td>first step, last step</td></tr>
<tr><td><kbd>space</kbd></td><td>play, pause</td></tr>
<tr><td><kbd>d</kbd> <kbd>u</kbd></td><td>drop, duplicate the frame in flight at the cursor</td></tr>
<tr><td><kbd>c</kbd> then <kbd>1</kbd>…</td><td>crash that broker right after this step (<kbd>0</kbd>: the app)</td></tr>
<tr><td><kbd>z</kbd> <kbd>y</kbd></td><td>undo, redo a fault</td></tr>
<tr><td><kbd>?</kbd> <kbd>Esc</kbd></td><td>open, close this help</td></tr></table>
<p>Click an arrow or a row to go there. A fault makes a new run: the same up to here, another future.</p></div>
<div><h3>Signs</h3><ul>
<li>solid arrow: request · dashed arrow: reply</li><li>envelope: in flight · cross: dropped, or lost at a node that is down</li>
<li>dashed box <b>open</b>: not yet decided · <b>✓ committed</b> · <s>struck through</s> <b>✕ aborted</b></li>
<li>pointed box: COMMIT or ABORT marker</li><li><b>HW</b> high watermark: replicated up to here</li>
<li><b>LSO</b> last stable offset: read_committed reads up to here</li></ul></div>
<button type="button" data-action="help">Close</button>`;

class Sequence {
  constructor(model, el) {
    this.model = model;
    this.id = `k${++instances}`;
    this.root = document.createElement("div");
    this.root.className = "klab";
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "application");
    this.root.innerHTML = SKELETON(this.id);
    el.append(this.root);
    this.$ = Object.fromEntries(
      ["play", "where", "seek", "groups", "chips", "now", "diagram", "lanes", "scroll", "sheet", "txn", "states", "frame", "tapes", "help"]
        .map((name) => [name, this.root.querySelector(`.k-${name}`)]),
    );
    this.svg = this.root.querySelector("svg");
    this.layers = [...this.svg.children];
    this.pen = document.createElement("canvas").getContext("2d");
    this.$.help.innerHTML = HELP;
    this.step = model.get("step");
    this.drawn = this.step;
    this.listen();
    this.load();
  }

  // -- listening

  listen() {
    this.off = new AbortController();
    const on = (target, name, handle) => target.addEventListener(name, handle, { signal: this.off.signal });
    on(this.root, "click", (e) => this.clicked(e));
    on(this.root, "keydown", (e) => this.pressed(e));
    on(this.$.seek, "input", () => this.go(this.view.stops[this.$.seek.value - 1]));
    on(this.$.groups, "change", () => this.choose());
    on(this.$.scroll, "scroll", () => this.drawWindow());
    const { model } = this;
    const handlers = {
      "change:payload": () => this.load(),
      "change:step": () => this.go(model.get("step"), false),
      "change:groups": () => this.relay(),
      "change:size": () => this.relay(),
      "change:can_undo": () => this.drawTools(),
      "change:can_redo": () => this.drawTools(),
      "msg:custom": (message) => this.told(message),
    };
    for (const [name, handle] of Object.entries(handlers)) model.on(name, handle);
    this.offModel = () => Object.entries(handlers).forEach(([name, handle]) => model.off(name, handle));
    this.watch = new ResizeObserver(() => this.resized());
    this.watch.observe(this.$.scroll);
  }

  close() {
    this.off.abort();
    this.offModel();
    this.watch.disconnect();
    this.pause();
    for (const timer of [this.saving, this.waiting]) clearTimeout(timer);
    this.root.remove();
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.key === "Tab" || (event.key === "Enter" && event.shiftKey)) return;
    event.stopPropagation();
    const { key, target } = event;
    if (key === "Escape") {
      this.asking = false;
      if (!this.$.help.hidden) this.act("help");
      return;
    }
    if (this.asking && /^\d$/.test(key)) return this.crashNumber(Number(key));
    this.asking = false;
    if (target.tagName === "SELECT" || (target.matches("button, input[type=checkbox]") && (key === " " || key === "Enter"))) return;
    const action = KEYS[key.length === 1 ? key.toLowerCase() : key];
    if (!action) return;
    event.preventDefault();
    if (event.repeat && !["left", "right"].includes(action)) return;
    if (action === "crash") this.ask();
    else this.act(action);
  }

  clicked(event) {
    const target = event.target.closest("[data-action], [data-go]");
    if (!target) return;
    if (event.detail) this.root.focus({ preventScroll: true });
    if (target.dataset.go) this.go(Number(target.dataset.go));
    else this.act(target.dataset.action, target.dataset.target ?? "");
  }

  ask() {
    this.asking = true;
    const names = this.view.lanes.filter((n) => n.kind === "broker").map((n, i) => `${i + 1} for ${n.label}`);
    this.say(`Crash which node? Press ${names.join(", ")}, 0 for the app; Esc for none.`);
  }

  crashNumber(number) {
    this.asking = false;
    const brokers = this.run.nodes.filter((n) => n.kind === "broker");
    const node = number ? brokers[number - 1] : this.run.nodes.find((n) => n.kind === "client");
    if (node) this.act("crash", node.id);
    else this.say(`There is no broker ${number}.`);
  }

  // -- actions

  act(action, target = "") {
    const { stops } = this.view;
    const at = this.place();
    if (action !== "play") this.pause();
    if (action === "right") this.go(stops[at + 1]);
    else if (action === "left") this.go(stops[at - (stops[at] === this.step ? 1 : 0)]);
    else if (action === "home") this.go(stops[0]);
    else if (action === "end") this.go(stops.at(-1));
    else if (action === "play") this.play();
    else if (action === "help") this.help();
    else this.press(action, target);
  }

  go(step, tell = true) {
    if (step === undefined || step === this.step) return;
    this.step = Math.max(0, Math.min(step, this.run.last));
    if (tell) {
      this.model.set("step", this.step);
      clearTimeout(this.saving);
      this.saving = setTimeout(() => this.model.save_changes(), SAVE_MS);
    }
    this.draw();
  }

  play() {
    if (this.timer) return this.pause();
    if (this.place() >= this.view.stops.length - 1) this.go(this.view.stops[0]);
    this.timer = setInterval(() => {
      this.go(this.view.stops[this.place() + 1]);
      if (this.place() >= this.view.stops.length - 1) this.pause();
    }, PLAY_MS);
    this.drawTools();
  }

  pause() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = null;
    this.drawTools();
  }

  help() {
    this.$.help.hidden = !this.$.help.hidden;
    (this.$.help.hidden ? this.root : this.$.help.querySelector("button")).focus({ preventScroll: true });
  }

  // Why this press would change nothing, "" if it would.
  why(action, target = "") {
    if (this.busy) return "The kernel is making the new run.";
    if (action === "undo") return this.model.get("can_undo") ? "" : "There is no fault to undo.";
    if (action === "redo") return this.model.get("can_redo") ? "" : "Nothing has been undone.";
    if (action === "crash") {
      return this.run.nodeAt(target, this.step) === "down" ? `${this.run.label(target)} is down already.` : "";
    }
    const event = this.run.events[this.step];
    if (!event || event.kind !== "send" || !event.frame) return "Go to a step at which a frame is sent: this step sends none.";
    if (this.run.frames[event.frame].fate === "dropped") return `${event.frame} is dropped already.`;
    if (action === "duplicate" && this.run.copies.has(event.frame)) return `${event.frame} arrives twice already.`;
    return "";
  }

  press(action, target) {
    if (action === "drop" || action === "duplicate") target = this.run.events[this.step]?.frame ?? "";
    const why = this.why(action, target);
    if (why) return this.say(why);
    clearTimeout(this.saving);
    this.model.set("step", this.step);
    this.model.save_changes();
    this.model.send({ kind: "press", action, target, step: this.step });
    this.busy = true;
    this.waiting = setTimeout(() => this.told({ kind: "error", text: "The kernel does not answer. Is it running? Run the cell again." }), PATIENCE_MS);
    this.drawTools();
  }

  told(message) {
    if (message?.kind !== "error" && message?.kind !== "done") return;
    this.rest();
    this.draw();
    if (message.kind === "error") this.say(message.text, true);
  }

  rest() {
    this.busy = false;
    clearTimeout(this.waiting);
  }

  say(text, bad = false) {
    this.$.now.textContent = text;
    this.$.now.className = `k-now k-said${bad ? " k-wrong" : ""}`;
  }

  choose() {
    const groups = GROUPS.filter((g) => this.$.groups.querySelector(`[value=${g}]`).checked);
    this.model.set("groups", groups);
    this.model.save_changes();
    this.relay();
  }

  // -- a new run, a new layout, a new width

  load() {
    this.rest();
    const before = this.run;
    this.run = new Run(this.model.get("payload"));
    this.step = Math.max(0, Math.min(this.model.get("step"), this.run.last));
    const chart = this.model.get("chart") ?? "";
    this.$.states.innerHTML = chart.replaceAll('id="', `id="${this.id}-`);
    this.$.states.firstElementChild?.setAttribute("focusable", "false");
    this.$.chips.hidden = !this.run.faults.length;
    sync(this.$.chips, this.run.faults.map((f, i) => [`${i}`, `<span class="k-chip" data-fault="${esc(f)}">${esc(f)}</span>`]));
    this.root.setAttribute("aria-label", `${this.run.title}: sequence of frames. Arrow keys step, question mark for help.`);
    if (before) this.drawn = this.step;
    this.relay();
  }

  relay() {
    this.root.dataset.size = this.model.get("size") ?? "laptop";
    this.u = parseFloat(getComputedStyle(this.root).fontSize) || 13;
    this.view = layout(this.run, this.model.get("groups"), this.u);
    sync(this.$.groups, GROUPS.map((g) => {
      const checked = this.view.groups.has(g) ? " checked" : "";
      return [g, `<label class="k-${g}"><input type="checkbox" value="${g}"${checked}><span>${g}</span></label>`];
    }));
    this.width = 0;
    this.resized();
  }

  resized() {
    const width = this.$.scroll.clientWidth;
    const { fontSize } = getComputedStyle(this.root);
    if (!width || (width === this.width && parseFloat(fontSize) === this.u)) return;
    if (parseFloat(fontSize) !== this.u) return this.relay();
    this.width = width;
    const gutter = this.u * 4;
    this.lane = (width - gutter) / this.view.lanes.length;
    this.x = Object.fromEntries(this.view.lanes.map((n, i) => [n.id, gutter + this.lane * (i + 0.5)]));
    this.draw();
  }

  // -- drawing

  place() {
    return upTo(this.view.stops.length, (i) => this.view.stops[i] <= this.step);
  }

  draw() {
    if (!this.width) return;
    const { run, view, step, root } = this;
    const focused = root.contains(document.activeElement);
    const place = this.place();
    const event = run.events[step];
    this.state = run.at(step);
    this.since = view.stops[view.stops[place] === step ? place - 1 : place] ?? -1;
    this.chosen = run.frameOf(step);
    root.dataset.step = step;
    root.dataset.stopIndex = place + 1;
    root.dataset.stopCount = view.stops.length;
    this.$.where.innerHTML = `step <b>${place + 1}</b> of <b>${view.stops.length}</b> · t = <b>${event?.at ?? 0}</b> ms`;
    this.$.seek.max = view.stops.length;
    this.$.seek.value = place + 1;
    this.$.now.className = `k-now k-is-${event?.kind}`;
    this.$.now.textContent = event?.text ?? "";
    this.drawTools();
    this.drawLanes();
    this.drawDiagram();
    this.drawChart();
    this.drawFrame();
    this.drawTapes();
    if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
    this.drawn = step;
  }

  drawTools() {
    const { view, root } = this;
    if (!view) return;
    root.dataset.playing = Boolean(this.timer);
    root.dataset.busy = Boolean(this.busy);
    this.$.play.textContent = this.timer ? "pause" : "play";
    const place = this.place();
    const ends = { left: view.stops[0] >= this.step, home: view.stops[0] >= this.step, right: place >= view.stops.length - 1, end: place >= view.stops.length - 1 };
    const keys = { drop: "Lose this frame (d)", duplicate: "Deliver this frame twice (u)", undo: "Undo (z)", redo: "Redo (y)" };
    for (const b of root.querySelectorAll("button[data-action]")) {
      const { action, target } = b.dataset;
      let why = "";
      if (action in ends) why = ends[action] ? (action === "left" || action === "home" ? "This is the first step." : "This is the last step.") : "";
      else if (action in keys || action === "crash") why = this.why(action, target);
      else continue;
      b.dataset.label ??= keys[action] ?? b.title;
      b.setAttribute("aria-disabled", why !== "");
      b.title = why || b.dataset.label;
      if (why) b.setAttribute("aria-description", why);
      else b.removeAttribute("aria-description");
    }
  }

  drawLanes() {
    const { run, state, view } = this;
    sync(this.$.lanes, view.lanes.map((n) => {
      const life = state.nodes[n.id] ?? "up";
      const client = state.clients[n.id];
      const roles = caption(state.roles[n.id] ?? [], client);
      const crash = n.kind === "controller" ? "" : `<button type="button" class="k-crash" data-action="crash" data-target="${n.id}" data-label="Crash ${esc(n.label)} right after this step (c)" aria-label="Crash ${esc(n.label)}">crash</button>`;
      const markup = `<div class="k-node k-${n.kind} k-${life}" data-node="${n.id}" data-life="${life}" title="${esc(roles.join("\n"))}">
        <div class="k-name"><b>${esc(n.label)}</b>${life === "up" ? crash : `<em>${life}</em>${life === "down" ? "" : crash}`}</div>
        <div class="k-roles">${roles.map((r) => `<span>${esc(r)}</span>`).join("")}</div></div>`;
      return [n.id, markup];
    }));
    for (const b of this.$.lanes.querySelectorAll("button")) {
      const why = this.why("crash", b.dataset.target);
      b.setAttribute("aria-disabled", why !== "");
      b.title = why || b.dataset.label;
    }
    this.$.lanes.style.gridTemplateColumns = `${this.u * 4}px repeat(${view.lanes.length}, minmax(0, 1fr))`;
    this.$.lanes.style.width = `${this.width}px`;
  }

  drawDiagram() {
    const { view, u } = this;
    this.row = lastRow(view, this.step);
    const row = view.rows[this.row];
    this.bottom = row ? row.y + row.height : u;
    const height = this.bottom + u * 3.2;
    this.$.sheet.style.height = `${Math.round(height)}px`;
    this.$.scroll.scrollTop = height;
    this.window = null;
    this.drawWindow();
    this.fly();
  }

  // Only the rows in view, and a margin around them, are in the page.
  drawWindow() {
    const { view, u } = this;
    if (!view || !this.width) return;
    const { scrollTop, clientHeight } = this.$.scroll;
    if (this.window && scrollTop >= this.window[0] && scrollTop + clientHeight <= this.window[1]) return;
    const [top, end] = (this.window = [Math.max(0, scrollTop - 300), Math.min(scrollTop + clientHeight + 300, this.bottom + u * 3.2)]);
    const first = Math.max(0, upTo(view.rows.length, (i) => view.rows[i].y <= top));
    const last = Math.min(this.row, upTo(view.rows.length, (i) => view.rows[i].y <= end));
    const height = Math.ceil(end - top);
    this.svg.setAttribute("viewBox", `0 ${round(top)} ${this.width} ${height}`);
    this.svg.style.cssText = `top:${round(top)}px;width:${this.width}px;height:${height}px`;
    const [back, lives, arrows, notes] = this.layers;
    const rows = [];
    const chips = [];
    for (let i = first; i <= last; i++) {
      rows.push([i, this.rowMarkup(view.rows[i], i)]);
      if (view.rows[i].stop && !["send", "receive"].includes(view.rows[i].event.kind)) chips.push([i, this.chipMarkup(view.rows[i], i)]);
    }
    sync(back, rows);
    sync(lives, view.lanes.map((n) => [n.id, this.lifeMarkup(n, top, end)]));
    sync(notes, chips);
    const flights = [];
    for (let i = upTo(view.frames.length, (k) => view.frames[k].from <= last); i >= 0 && view.frames[i].reach >= first - 1; i--) {
      if (view.frames[i].to >= first - 1 && this.x[view.frames[i].frame.to] && this.x[view.frames[i].frame.from]) flights.unshift(view.frames[i]);
    }
    sync(arrows, flights.map((f) => [f.frame.id, this.arrowMarkup(f)]));
  }

  rowMarkup({ event, y, height, wait, time, stop }, i) {
    const { u, width } = this;
    const now = i === this.row;
    const text = wait ? `<text class="k-wait" x="${u * 4.4}" y="${round(y - u * 0.6)}">⋮ ${wait >= 1000 ? `${round(wait / 1000)} s` : `${wait} ms`} later</text>` : "";
    const middle = round(y + height * (height > u * 1.5 ? 0.62 : 0.75));
    const clock = time || now ? `<text class="k-time" x="${u * 3.3}" y="${middle}">${event.at} ms</text>` : "";
    const band = now ? `<rect class="k-band" x="0" y="${round(y)}" width="${width}" height="${round(height)}"/><rect class="k-caret" x="0" y="${round(y)}" width="4" height="${round(height)}"/>` : "";
    const go = stop ? ` data-go="${event.step}"` : "";
    return `<g class="k-row" data-row="${event.step}"${go}><rect class="k-hit" x="0" y="${round(y)}" width="${width}" height="${round(height)}"/>${band}${clock}${text}</g>`;
  }

  lifeMarkup(node, top, end) {
    const x = round(this.x[node.id]);
    const life = this.run.life[node.id].filter(([from]) => from <= this.step);
    const place = (step) => {
      const row = this.view.rows[lastRow(this.view, step)];
      return row ? row.y + row.height / 2 : 0;
    };
    const parts = life.map(([from, now], i) => {
      const a = Math.max(from < 0 ? 0 : place(from), top);
      const b = Math.min(i + 1 < life.length ? place(life[i + 1][0]) : end, end);
      return b > a ? `<path class="k-life k-${now}" d="M${x},${round(a)}V${round(b)}"/>` : "";
    });
    return `<g>${parts.join("")}</g>`;
  }

  chipMarkup({ event, y, height }, i) {
    const { u } = this;
    const lane = this.x[event.node];
    const middle = this.view.lanes.length ? (this.width + u * 4) / 2 : 0;
    const room = lane === undefined ? this.width - u * 5 : Math.min(this.lane * 1.25, 2 * (this.width - lane - 2), 2 * (lane - u * 0.5));
    const text = this.fit(lane === undefined ? event.text : this.run.marks[event.step], room - u * 1.2, i === this.row ? 600 : 400);
    const w = Math.min(this.measure(text, i === this.row ? 600 : 400) + u * 1.2, room);
    const x = lane ?? middle;
    const top = y + height * 0.14;
    const box = `<rect x="${round(x - w / 2)}" y="${round(top)}" width="${round(w)}" height="${round(height * 0.72)}" rx="${event.kind === "append" ? 2 : u * 0.7}"/>`;
    return `<g class="k-mark k-is-${event.kind}${i === this.row ? " k-current" : ""}" data-event="${event.step}" data-kind="${event.kind}" data-go="${event.step}"><title>${esc(event.text)}</title>${box}<text x="${round(x)}" y="${round(top + height * 0.36 + u * 0.33)}">${esc(text)}</text></g>`;
  }

  // Where a frame's line runs: from its sender's row to its arrival, or as far down as the cursor while it is in flight.
  geometry({ frame, from, to }) {
    const { view, u } = this;
    const start = view.rows[from];
    const loop = frame.from === frame.to;
    const y1 = start.y + start.height * 0.8;
    const fate = this.run.fateAt(frame, this.step);
    const arrival = view.rows[to];
    let y2 = arrival && to > from && fate === "delivered" ? arrival.y + (frame.copy_of ? arrival.height * 0.8 : arrival.height * 0.55) : y1 + u * 0.9;
    if (fate === "in flight" && this.row > from) y2 = this.bottom + u * 0.9;
    if (fate === "lost") y2 = y1 + u * 1.1;
    if (loop) y2 = Math.max(y2, y1 + u * 0.9);
    const side = view.lanes.at(-1).id === frame.from ? -1 : 1;
    return { x1: this.x[frame.from], y1, x2: this.x[frame.to], y2, loop: loop ? side * u * 2.2 : 0, fate };
  }

  arrowMarkup(flight) {
    const { frame, from } = flight;
    const { u } = this;
    const g = this.geometry(flight);
    const chosen = this.chosen?.id === frame.id;
    const upto = g.fate === "dropped" ? 0.55 : 1;
    let end = "";
    if (g.fate === "delivered") end = head(g, u, frame.kind === "reply");
    else if (g.fate === "in flight") end = `<g class="k-token" transform="translate(${point(g, 0.6).map(round)})">${token(u)}</g>`;
    else {
      const [x, y] = point(g, upto);
      const side = g.loop ? Math.sign(g.loop) : x > this.width - u * 9 ? -1 : 1;
      end = `${cross(x, y, u * 0.5)}<text class="k-label k-bad" text-anchor="${side < 0 ? "end" : "start"}" x="${round(x + side * u * 0.9)}" y="${round(y + u * 0.4)}">${g.fate}</text>`;
    }
    const right = g.loop ? g.loop > 0 : g.x2 > g.x1;
    let [tx, ty] = [g.x1 + (right ? 1 : -1) * (Math.abs(g.loop) + u * 0.6), g.y1 - (g.loop ? -u * 0.75 : u * 0.32)];
    let anchor = right ? "start" : "end";
    if (frame.copy_of) {
      if (g.fate !== "delivered") tx = NaN;
      [tx, ty, anchor] = [tx && g.x2 - (right ? 1 : -1) * u * 0.9, g.y2 - u * 0.5, right ? "end" : "start"];
    }
    const label = Number.isNaN(tx) ? "" : `<text class="k-label" text-anchor="${anchor}" x="${round(tx)}" y="${round(ty)}">${esc(frame.name)}${tags(frame)}</text>`;
    const hit = `<path class="k-hit" d="${line(g, 1)}"/>`;
    const fate = g.fate.replace(" ", "-");
    return `<g class="k-arrow k-${frame.kind} k-${frame.group} k-${fate}${chosen ? " k-current" : ""}" data-frame="${esc(frame.id)}" data-fate="${g.fate}" data-from="${frame.from}" data-to="${frame.to}" data-go="${frame.sent}"><title>${esc(frame.id)}: ${esc(frame.about)}</title>${hit}<path class="k-line" d="${line(g, upto)}"/>${end}${label}</g>`;
  }

  measure(text, weight) {
    const { fontFamily } = getComputedStyle(this.root);
    const size = parseFloat(getComputedStyle(this.$.txn).fontSize);
    this.pen.font = `${weight} ${size}px ${fontFamily}`;
    return this.pen.measureText(text).width;
  }

  fit(text, room, weight) {
    if (this.measure(text, weight) <= room) return text;
    const short = text.replace(/^append /, "+ ");
    if (this.measure(short, weight) <= room) return short;
    const keep = upTo(short.length, (i) => this.measure(`${short.slice(0, i)}…`, weight) <= room);
    return `${short.slice(0, Math.max(keep, 1))}…`;
  }

  // The frame just sent flies to where it waits; one that has just arrived flies the rest of its way.
  fly() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || this.step <= this.drawn || document.hidden) return;
    const { run, view, u } = this;
    for (const f of view.frames.slice(Math.max(0, upTo(view.frames.length, (i) => view.frames[i].from <= this.row) - 30))) {
      if (f.from > this.row) break;
      const end = run.ends[f.frame.id];
      const group = this.layers[2].querySelector(`[data-frame="${CSS.escape(f.frame.id)}"]`);
      if (!group) continue;
      const g = this.geometry(f);
      const sent = f.frame.sent > this.drawn && f.frame.sent <= this.step;
      const landed = end > this.drawn && end <= this.step && g.fate === "delivered";
      if (!sent && !landed) continue;
      let mover = group.querySelector(".k-token");
      if (landed) {
        mover = parse(group, `<g class="k-token">${token(u)}</g>`);
        group.append(mover);
      }
      if (!mover) continue;
      const ts = landed ? [sent ? 0 : 0.6, 0.8, 1] : [0, 0.3, 0.6];
      const frames = ts.map((t) => ({ transform: `translate(${point(g, t).map((n) => `${round(n)}px`)})` }));
      const flight = mover.animate(frames, { duration: 280, easing: landed ? "ease-in" : "ease-out" });
      if (landed) flight.onfinish = flight.oncancel = () => mover.remove();
    }
  }

  drawChart() {
    const { state, run, id } = this;
    const ids = Object.keys(state.txns);
    const wanted = ids.includes(this.txnId) ? this.txnId : ids.at(-1);
    const touched = run.events[this.step]?.patch.findLast(([op]) => op === "txn")?.[1];
    const name = (this.txnId = touched ?? wanted);
    const txn = state.txns[name];
    const chart = this.$.states.firstElementChild;
    const about = txn
      ? `<div data-txn="${esc(name)}"><span>${esc(name)}</span> <b data-txn-state="${txn.state}">${txn.state}</b>${txn.pending ? ` <i data-txn-pending="${txn.pending}">→ ${txn.pending}, pending</i>` : ""}
        <small>producer <b>${txn.producer_id}</b> · epoch <b>${txn.epoch}</b>${txn.partitions.length ? ` · {${esc(txn.partitions.join(", "))}}` : ""}</small></div>`
      : `<div><span>no transactional id is known yet</span> <b data-txn-state=""></b> <small>&nbsp;</small></div>`;
    sync(this.$.txn, [["txn", about]]);
    if (!chart || this.charted === txn) return;
    this.charted = txn;
    for (const node of chart.querySelectorAll(".k-active, .k-pending, .k-fired")) node.classList.remove("k-active", "k-pending", "k-fired");
    if (!txn) return;
    const mark = (what, cls) => chart.querySelector(`#${CSS.escape(`${id}-${what}`)}`)?.classList.add(cls);
    mark(`s_${txn.state}`, "k-active");
    if (txn.pending) {
      mark(`s_${txn.pending}`, "k-pending");
      mark(`e_${txn.state}__${txn.pending}`, "k-pending");
    } else if (txn.via) mark(`e_${txn.via[0]}__${txn.via[1]}`, "k-fired");
  }

  drawFrame() {
    const { run, step, chosen: f } = this;
    if (!f) return sync(this.$.frame, [["none", '<p class="k-none">No frame led to this step.</p>']]);
    const fate = run.fateAt(f, step);
    const own = run.events[step].frame === f.id;
    const arrived = fate === "delivered" ? `received at ${f.received_at} ms` : fate;
    const extra = [
      f.of && `answers ${f.of}`,
      f.copy_of && `a second delivery of ${f.copy_of}`,
      f.attempt > 1 && `attempt ${f.attempt}`,
    ].filter(Boolean).map((t) => ` · ${esc(t)}`).join("");
    const rows = f.fields.map(([name, value]) => `<tr><th scope="row">${esc(name)}</th><td>${esc(value)}</td></tr>`).join("");
    const caused = run.caused(f, step).map((e) => `<li><button type="button" data-go="${e.step}"${e.step === step ? ' aria-current="step"' : ""}>${esc(e.text)}</button></li>`).join("");
    const bad = f.error && f.error !== "NONE" ? ` <span class="k-bad">${esc(f.error)}</span>` : "";
    const markup = `<div class="k-${f.group}" data-inspected="${esc(f.id)}">
      <h3>${own ? "" : "<small>because of </small>"}<span class="k-id">${esc(f.id)}</span>${bad} <small class="k-fate k-${fate.replace(" ", "-")}" data-fate="${fate}">${fate}</small></h3>
      <p class="k-about">${esc(f.about)}</p>
      <p class="k-path">${esc(run.label(f.from))} → ${esc(run.label(f.to))} · sent at ${f.at} ms · ${arrived}${extra}</p>
      <table><tbody>${rows}</tbody></table>
      ${caused ? `<h4>What it caused so far</h4><ol>${caused}</ol>` : ""}</div>`;
    sync(this.$.frame, [[f.id, markup]]);
  }

  drawTapes() {
    const { run, state } = this;
    const fresh = new Set();
    for (let i = this.since + 1; i <= this.step; i++) {
      for (const [op, a, b, c] of run.events[i].patch) {
        if (op === "batch") fresh.add(`${a} ${b} ${c.base}`);
        if (op === "hw" || op === "lso") fresh.add(`${a} ${b} ${op}`);
      }
    }
    if (this.$.tapes.childElementCount !== run.partitions.length || this.taped !== run) {
      this.taped = run;
      this.$.tapes.kept = undefined;
      this.$.tapes.innerHTML = run.partitions.map((p) => `<section class="k-strip${run.internal.includes(p) ? " k-internal" : ""}" data-partition="${esc(p)}" aria-label="Log of ${esc(p)}"><header></header><div class="k-tape" role="list"></div></section>`).join("");
    }
    run.partitions.forEach((p, i) => {
      const strip = this.$.tapes.children[i];
      const leader = state.leader[p] ?? "";
      const log = logOf(state, leader, p);
      const where = leader ? `on ${run.label(leader)}` : "no leader";
      sync(strip.firstElementChild, [["h", `<div><b>${esc(p).replaceAll("_", "_<wbr>")}</b><small>${esc(where)}</small></div>`]]);
      const tape = strip.lastElementChild;
      const before = tape.lastMarkup;
      const items = tapeItems(log, p, (key) => fresh.has(`${leader} ${p} ${key}`));
      sync(tape, items);
      tape.lastMarkup = items.length ? items.at(-1)[0] + items.length : "";
      if (before !== tape.lastMarkup) tape.scrollLeft = tape.scrollWidth;
    });
  }
}

// Roles in few words: leaders of several partitions share a caption.
function caption(roles, client) {
  if (client) {
    const who = client.producer_id >= 0 ? `producer ${client.producer_id}, epoch ${client.epoch}` : "";
    return [client.state, who].filter(Boolean);
  }
  const led = roles.filter((r) => r.startsWith("leader of ")).map((r) => r.slice(10));
  return [...roles.filter((r) => !r.startsWith("leader of ")), ...(led.length ? [`leads ${led.join(", ")}`] : [])];
}

// The cells of a log with the bars of its high watermark and last stable offset between them.
function tapeItems(log, partition, isFresh) {
  const { batches, hw, lso } = log;
  const from = Math.max(0, batches.length - TAPE);
  const ends = new Map();
  const cells = [];
  for (let i = batches.length - 1; i >= from; i--) {
    const b = batches[i];
    if (b.kind !== "data") ends.set(b.pid, b.kind === "COMMIT" ? "committed" : "aborted");
    cells.unshift([b, b.kind === "data" && b.txn ? ends.get(b.pid) ?? "open" : ""]);
  }
  const items = from ? [["more", `<span class="k-more">${from} earlier …</span>`]] : [];
  const bar = (which, at) => [which, `<span class="k-mark-${which}${isFresh(which) ? " k-new" : ""}" role="listitem" title="${which === "hw" ? "high watermark: replicated up to here" : "last stable offset: read_committed reads up to here"}">${which.toUpperCase()} <b data-${which}="${esc(partition)}">${at}</b></span>`];
  const bars = [["lso", lso], ["hw", hw]].sort((a, b) => a[1] - b[1]);
  for (const [b, fate] of cells) {
    while (bars.length && bars[0][1] <= b.base && items.push(bar(...bars.shift()))) continue;
    items.push([`b${b.base}`, cell(b, fate, b.base >= hw, isFresh(b.base))]);
  }
  while (bars.length) items.push(bar(...bars.shift()));
  return items;
}

function cell(b, fate, ahead, fresh) {
  const offsets = span(b.base, b.last);
  const who = b.pid >= 0 ? `<span class="k-who">pid ${b.pid} · e${b.epoch}${b.seq >= 0 ? ` · seq ${b.seq}` : ""}</span>` : "";
  const classes = `k-batch${fresh ? " k-new" : ""}${ahead ? " k-ahead" : ""}`;
  const data = `data-batch="${b.base}" data-last="${b.last}" data-kind="${b.kind}" data-fate="${fate}" role="listitem"`;
  const late = ahead ? "; not yet on all in-sync replicas" : "";
  if (b.kind !== "data") {
    return `<div class="${classes} k-marker k-${b.kind.toLowerCase()}" ${data} title="control marker of producer ${b.pid}, epoch ${b.epoch}${late}"><span class="k-off">${offsets}</span><b>${b.kind === "COMMIT" ? "✓" : "✕"} ${b.kind}</b>${who}</div>`;
  }
  const sign = { open: "open", committed: "✓ committed", aborted: "✕ aborted", "": "" }[fate];
  const text = b.decoded || b.records.map(([k, v]) => (k ? `${k}=${v}` : v)).join("  ");
  return `<div class="${classes} k-${fate || "plain"}" ${data} title="${esc(text)}${late}"><span class="k-off">${offsets}</span> <span class="k-sign">${sign}</span><span class="k-text">${esc(text)}</span>${who}</div>`;
}

export default {
  render({ model, el }) {
    const widget = new Sequence(model, el);
    return () => widget.close();
  },
};
