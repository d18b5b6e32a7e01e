// A run of a Kafka cluster as a sequence diagram with logs and states, stepped through in the browser.
//
// What is shown at a step is a fold over the events' patches (Run). Rows are laid out once for each choice of groups
// (plan). draw() brings the page to the cursor and touches only what differs. Only presses that change the world ask
// the kernel. The future of the cursor is never shown.

const GROUPS = ["transaction", "verification", "replication", "metadata"];
const ALWAYS = ["fault", "crash", "recover"];
const CHECKPOINT = 64, CELLS = 16, PLAY_MS = 900, FLY_MS = 280, SAVE_MS = 150, PATIENCE_MS = 20000, LONG_MS = 25;
const BUTTONS = {
  home: ["|◂", "First step", "Home"], left: ["◂", "One step back", "ArrowLeft"], play: ["play", "Play or pause", " "],
  right: ["▸", "One step forward", "ArrowRight"], end: ["▸|", "Last step", "End"],
  drop: ["× Drop", "Lose the frame that is sent at this step", "d"],
  duplicate: ["×2 Duplicate", "Deliver the frame that is sent at this step twice", "u"],
  undo: ["↶ Undo", "Take the last fault back", "z"], redo: ["↷ Redo", "Put the fault in again", "y"],
  crash: ["crash", "Crash right after this step: then 1, 2, 3 for a broker, 0 for the app", "c"],
  help: ["?", "Open or close this help", "?"],
};
const ACTIONS = Object.fromEntries(Object.entries(BUTTONS).map(([action, [, , key]]) => [key, action]));
let instances = 0;

const esc = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const span = (a, b) => (a === b ? `${a}` : `${a}–${b}`);
const round = (n) => Math.round(n * 10) / 10;
const svg = (texts, ...values) =>
  texts.reduce((all, text, i) => all + (typeof values[i - 1] === "number" ? round(values[i - 1]) : values[i - 1]) + text);

// The last index below `count` for which `holds`, where it holds for a first part only; -1 for none.
function upTo(count, holds) {
  let low = 0;
  while (low < count) {
    const middle = (low + count) >> 1;
    if (holds(middle)) low = middle + 1;
    else count = middle;
  }
  return low - 1;
}

// ---- the state that a picture shows ----

const NOTHING = { nodes: {}, roles: {}, leader: {}, logs: {}, txns: {}, clients: {} };
const logOf = (state, node, partition) => state.logs[`${node} ${partition}`] ?? { batches: [], hw: 0, lso: 0 };

function apply(state, [op, a, b, c]) {
  const put = (map, key, value) => ({ ...state, [map]: { ...state[map], [key]: value } });
  const log = (change) => put("logs", `${a} ${b}`, { ...logOf(state, a, b), ...change });
  if (op === "node") return put("nodes", a, b);
  if (op === "roles" || op === "leader") return put(op, a, b);
  if (op === "client") return put("clients", a, { ...state.clients[a], ...b });
  if (op === "batch") return log({ batches: [...logOf(state, a, b).batches, c] });
  if (op === "truncate") return log({ batches: logOf(state, a, b).batches.filter((x) => x.base < c) });
  if (op === "hw" || op === "lso") return log({ [op]: c });
  if (op !== "txn") return state;
  const old = state.txns[a];
  return put("txns", a, { ...b, via: old && !b.pending && (old.pending || moved(old, b)) ? [old.state, b.state] : old?.via });
}

const moved = (old, now) => ["state", "producer_id", "epoch", "partitions"].some((k) => `${old[k]}` !== `${now[k]}`);

class Run {
  constructor(payload) {
    Object.assign(this, payload);
    this.last = this.events.length - 1;
    this.checkpoints = [];
    this.marks = [];
    this.effects = this.events.map(() => []);
    this.ends = {};
    let state = this.initial.reduce(apply, NOTHING);
    this.life = Object.fromEntries(this.nodes.map(({ id }) => [id, [[-1, state.nodes[id] ?? "up"]]]));
    for (const event of this.events) {
      if (event.step % CHECKPOINT === 0) this.checkpoints.push(state);
      this.marks.push(event.kind === "send" || event.kind === "receive" ? "" : mark(event, state));
      this.effects[event.cause]?.push(event.step);
      if (event.kind === "fault" && event.frame) this.ends[event.frame] ??= event.step;
      for (const op of event.patch) if (op[0] === "node") this.life[op[1]]?.push([event.step, op[2]]);
      state = event.patch.reduce(apply, state);
    }
    this.memo = [-1, this.checkpoints[0] ?? state];
    this.flown = Object.values(this.frames);
    this.copied = new Set(this.flown.map((f) => f.copy_of));
    for (const f of this.flown) this.ends[f.id] = this.endOf(f);
  }

  // The step from which on a frame is no longer in flight.
  endOf(f) {
    if (f.received !== null) return f.received;
    if (f.fate === "dropped") return this.ends[f.id] ?? f.sent;
    if (f.fate !== "lost") return Infinity;
    const lives = this.life[f.to] ?? [];
    const down = lives.find(([, life], i) => life === "down" && (lives[i + 1]?.[0] ?? Infinity) > f.sent);
    return Math.max(f.sent + 1, down?.[0] ?? 0);
  }

  at(step) {
    const k = Math.min(Math.floor((step + 1) / CHECKPOINT), this.checkpoints.length - 1);
    let [from, state] = this.memo;
    if (from > step || from < k * CHECKPOINT - 1) [from, state] = [k * CHECKPOINT - 1, this.checkpoints[k]];
    while (from < step) state = this.events[++from].patch.reduce(apply, state);
    this.memo = [step, state];
    return state;
  }

  // The frame that a step is about: its own, or that of the nearest cause that has one.
  frameOf(step) {
    let event = this.events[step];
    while (event && !this.frames[event.frame]) event = this.events[event.cause];
    return event && this.frames[event.frame];
  }

  fate(f, step) {
    return step < this.ends[f.id] ? "in flight" : f.fate;
  }

  // What the arrival of a frame led to until `step`, not beyond the next arrival.
  caused(f, step) {
    const found = [], queue = [...(this.effects[f.received] ?? [])];
    for (let next = queue.shift(); next !== undefined && found.length < 30; next = queue.shift()) {
      const event = this.events[next];
      if (next > step || event.kind === "receive" || event.group === "replication") continue;
      found.push(event);
      if (event.kind !== "send") queue.push(...this.effects[next]);
    }
    return found.sort((a, b) => a.step - b.step);
  }

  label(id) {
    return this.nodes.find((n) => n.id === id)?.label ?? id;
  }
}

// The few words on a lane for an event that is no frame.
function mark(event, before) {
  const words = event.patch.flatMap(([op, a, b, c]) => {
    if (op === "batch") return `${c.kind === "data" ? "append" : `${c.kind} to`} ${b} @${span(c.base, c.last)}`;
    if (op === "client") return b.last ?? [];
    if (op === "truncate") return `truncate ${b} to ${c}`;
    if (op === "hw") {
      const old = logOf(before, a, b), lso = event.patch.find((o) => o[0] === "lso")?.[3] ?? old.lso;
      return `${b}: HW ${old.hw}→${c} · LSO ${old.lso === lso ? lso : `${old.lso}→${lso}`}`;
    }
    if (op !== "txn") return [];
    const old = before.txns[a];
    if (b.pending) return `${b.state} → ${b.pending}, pending`;
    const added = old ? b.partitions.filter((p) => !old.partitions.includes(p)).join(", ") : "";
    return old && old.state !== b.state ? `${old.state} → ${b.state}` : b.state + (added && ` + ${added}`);
  });
  if (words.length) return words.join(", ");
  return { crash: "crash", recover: "restart", fault: `${event.name} ${event.frame}` }[event.kind] ?? event.name;
}

// Which events have a row when these groups are visible, and where; which of them the cursor stops at.
function plan(run, groups, u) {
  const view = { groups, u, stops: [], rows: [], frames: [] };
  const rowOf = new Map();
  let y = u / 2, clock = run.events[0]?.at;
  for (const event of run.events) {
    const frame = run.frames[event.frame];
    const flies = frame && groups.has(frame.group) && (event.kind === "send" || event.kind === "receive");
    const stop = event.stop && (groups.has(event.group) || ALWAYS.includes(event.kind));
    if (stop) view.stops.push(event.step);
    if (!stop && !flies) continue;
    const wait = view.rows.length && event.at - clock >= LONG_MS ? event.at - clock : 0;
    if (wait) y += u * 1.7;
    const height = u * (stop ? 2.15 : frame.copy_of ? 1.9 : 1.1);
    rowOf.set(event.step, view.rows.length);
    view.rows.push({ event, stop, y, height, wait, time: event.at !== clock || !view.rows.length });
    y += height;
    clock = event.at;
  }
  view.row = (step) => upTo(view.rows.length, (i) => view.rows[i].event.step <= step);
  view.lanes = run.nodes.filter((n) => n.kind !== "controller" || groups.has("metadata"));
  const seen = new Set(view.lanes.map((n) => n.id));
  for (const f of run.flown) {
    if (!groups.has(f.group) || !rowOf.has(f.sent) || !seen.has(f.from) || !seen.has(f.to)) continue;
    view.frames.push({ f, from: rowOf.get(f.sent), to: view.row(Math.min(run.ends[f.id], run.last)) });
  }
  view.frames.sort((a, b) => a.from - b.from);
  let reach = 0;
  for (const flight of view.frames) flight.reach = reach = Math.max(reach, flight.to);
  return view;
}

// ---- markup ----

// Brings the children of an element to a list of [key, markup], replacing only those that differ.
function sync(parent, items) {
  const old = parent.kept ?? new Map();
  parent.kept = new Map();
  let place = parent.firstChild;
  for (const [key, markup] of items) {
    let entry = old.get(key);
    if (entry?.markup !== markup) {
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

function parse(parent, markup) {
  const holder = document.createElementNS(parent.namespaceURI, parent instanceof SVGElement ? "g" : "div");
  holder.innerHTML = markup;
  return holder.firstElementChild;
}

// A point on the way of a frame, 0 at the sender, 1 at the receiver; and the way up to there.
function point({ x1, y1, x2, y2, loop }, t) {
  if (!loop) return [x1 + (x2 - x1) * t, y1 + (y2 - y1) * t];
  if (t < 0.4) return [x1 + loop * 2.5 * t, y1];
  return t < 0.6 ? [x1 + loop, y1 + (y2 - y1) * (5 * t - 2)] : [x1 + loop * 2.5 * (1 - t), y2];
}

function way(g, t) {
  const [x, y] = point(g, t);
  return g.loop ? svg`M${g.x1},${g.y1}H${g.x1 + g.loop}V${y}${t > 0.6 ? svg`H${x}` : ""}` : svg`M${g.x1},${g.y1}L${x},${y}`;
}

function head({ x1, y1, x2, y2, loop }, u, close) {
  const angle = loop ? Math.atan2(0, -loop) : Math.atan2(y2 - y1, x2 - x1);
  const wing = (turn) => svg`${x2 - u * 0.75 * Math.cos(angle + turn)},${y2 - u * 0.75 * Math.sin(angle + turn)}`;
  return svg`<path class="head" d="M${wing(0.4)}L${x2},${y2}L${wing(-0.4)}${close}"/>`;
}

const envelope = (u) => svg`<rect x="${-u * 0.6}" y="${-u * 0.4}" width="${u * 1.2}" height="${u * 0.8}" rx="2"/>
  <path d="M${-u * 0.6},${-u * 0.4}l${u * 0.6},${u * 0.5}l${u * 0.6},${-u * 0.5}"/>`;

function tags(f) {
  const retry = f.attempt > 1 && f.kind === "request" ? ` <tspan class="tag">retry ${f.attempt - 1}</tspan>` : "";
  const error = f.error && f.error !== "NONE" ? ` <tspan class="bad">${esc(f.error)}</tspan>` : "";
  return retry + (f.copy_of ? ' <tspan class="tag">copy</tspan>' : "") + error;
}

// The cells of a log, with the bars of its high watermark and last stable offset between them.
function cells({ batches, hw, lso }, partition, isNew) {
  const from = Math.max(0, batches.length - CELLS);
  const ended = {}, items = [], shown = [];
  for (const b of batches.slice(from).reverse()) {
    if (b.kind !== "data") ended[b.pid] = b.kind === "COMMIT" ? "committed" : "aborted";
    shown.unshift([b, b.kind === "data" && b.txn ? ended[b.pid] ?? "open" : ""]);
  }
  const bars = [["lso", lso, "last stable offset: read_committed reads up to here"], ["hw", hw, "high watermark: all in-sync replicas have what is before it"]];
  bars.sort((a, b) => a[1] - b[1]);
  const flush = (offset) => {
    while (bars.length && bars[0][1] <= offset) {
      const [which, at, title] = bars.shift();
      items.push([which, `<span class="${which}${isNew(which) ? " new" : ""}" title="${title}">${which.toUpperCase()} <b data-${which}="${esc(partition)}">${at}</b></span>`]);
    }
  };
  if (from) items.push(["more", `<span class="more">${from} earlier …</span>`]);
  for (const [b, fate] of shown) {
    flush(b.base);
    items.push([b.base, cell(b, fate, b.base >= hw, isNew(b.base))]);
  }
  flush(Infinity);
  return items;
}

function cell(b, fate, ahead, fresh) {
  const marker = b.kind !== "data";
  const sign = marker ? b.kind : fate;
  const glyph = { COMMIT: "✓ ", committed: "✓ ", ABORT: "✕ ", aborted: "✕ " }[sign] ?? "";
  const text = esc(marker ? "" : b.decoded || b.records.map(([k, v]) => (k ? `${k}=${v}` : v)).join("  "));
  const title = (marker ? "control marker" : text) + (ahead ? "; not yet on all in-sync replicas" : "");
  return `<div class="batch ${marker ? `marker ${b.kind}` : fate}${fresh ? " new" : ""}${ahead ? " ahead" : ""}" data-batch="${b.base}"
    data-last="${b.last}" data-kind="${b.kind}" data-fate="${fate}" title="${title}"><span class="off">${span(b.base, b.last)}</span>
    <b class="sign">${glyph}${sign}</b><span class="text">${text}</span>${b.pid < 0 ? "" : `<span class="who">pid ${b.pid} · e${b.epoch}${b.seq < 0 ? "" : ` · seq ${b.seq}`}</span>`}</div>`;
}

function captions(roles = [], client) {
  if (client) return [client.state ?? "", client.producer_id >= 0 ? `producer ${client.producer_id}, epoch ${client.epoch}` : ""];
  const led = roles.filter((role) => role.startsWith("leader of ")).map((role) => role.slice(10)).join(", ");
  return [...roles.filter((role) => !role.startsWith("leader of ")), led && `leads ${led}`];
}

const button = (action) => `<button type="button" data-action="${action}">${BUTTONS[action][0]}</button>`;
const buttons = (name, ...actions) => `<div role="group" aria-label="${name}">${actions.map(button).join("")}</div>`;
const keyName = (key) => ({ " ": "space", ArrowLeft: "←", ArrowRight: "→" })[key] ?? key;
const SKELETON = `
<div class="bar">${buttons("Steps", "home", "left", "play", "right", "end")}<output class="where"></output>
  ${buttons("Faults", "drop", "duplicate")}${buttons("History", "undo", "redo", "help")}</div>
<div class="bar"><input class="seek" type="range" min="1" aria-label="Step" tabindex="-1"><div class="groups" role="group" aria-label="Frames shown"></div></div>
<div class="chips"></div>
<p class="now" role="status" aria-live="polite" aria-atomic="true"></p>
<div class="main">
  <section class="diagram" aria-label="Sequence of frames"><div class="lanes"></div>
    <div class="scroll"><div class="sheet"><svg aria-hidden="true"><g></g><g></g><g></g><g></g></svg></div></div></section>
  <div class="side"><section class="chart" aria-label="State of the transaction"><div class="txn"></div><div class="states"></div></section>
    <section class="frame" aria-label="The chosen frame"></section></div>
</div>
<div class="tapes"></div>
<div class="help" role="dialog" aria-label="Help" hidden><table>
  ${Object.values(BUTTONS).map(([, title, key]) => `<tr><td><kbd>${keyName(key)}</kbd></td><td>${title}</td></tr>`).join("")}</table>
  <ul><li>Click an arrow or a row to go there.</li><li>A fault makes a new run: the same up to this step, another future.</li>
  <li>solid arrow: request; dashed: reply; envelope: in flight; cross: dropped, or lost because nobody was there</li>
  <li>dashed box: <b>open</b>, not decided; <b>✓ committed</b>; <b>✕ <s>aborted</s></b>; pointed box: marker</li>
  <li><b>HW</b> high watermark: replicated up to here; <b>LSO</b> last stable offset: read_committed reads up to here</li></ul>
  ${button("help").replace("?", "Close (Esc)")}</div>`;

class Sequence {
  constructor(model, el) {
    this.model = model;
    this.prefix = `klab${++instances}-`;
    this.root = document.createElement("div");
    this.root.className = "klab";
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "application");
    this.root.innerHTML = SKELETON;
    el.append(this.root);
    for (const node of this.root.querySelectorAll("[class]")) this[`$${node.classList[0]}`] ??= node;
    this.$svg = this.root.querySelector("svg");
    this.pen = document.createElement("canvas").getContext("2d");
    this.step = model.get("step");
    this.listen();
    this.load();
  }

  listen() {
    const { model, root } = this;
    this.stop = new AbortController();
    const on = (target, name, handle) => target.addEventListener(name, handle, { signal: this.stop.signal });
    on(root, "click", (e) => this.clicked(e));
    on(root, "keydown", (e) => this.pressed(e));
    on(this.$seek, "input", () => this.go(this.view.stops[this.$seek.value - 1]));
    on(this.$groups, "change", () => {
      model.set("groups", GROUPS.filter((g) => this.$groups.querySelector(`[value=${g}]`).checked));
      model.save_changes();
    });
    on(this.$scroll, "scroll", () => this.drawWindow());
    const handlers = {
      payload: () => this.load(), groups: () => this.relay(), size: () => this.relay(),
      step: () => this.go(model.get("step"), false), can_undo: () => this.drawTools(), can_redo: () => this.drawTools(),
    };
    for (const name in handlers) model.on(`change:${name}`, handlers[name]);
    const told = (message) => this.told(message);
    model.on("msg:custom", told);
    const watch = new ResizeObserver(() => this.resized());
    watch.observe(this.$scroll);
    this.close = () => {
      for (const name in handlers) model.off(`change:${name}`, handlers[name]);
      model.off("msg:custom", told);
      watch.disconnect();
      this.stop.abort();
      this.pause();
      clearTimeout(this.saving);
      clearTimeout(this.waiting);
      root.remove();
    };
  }

  // Plain keys stay here; those with Ctrl, and Shift+Enter, are the notebook's.
  pressed(event) {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || key === "Tab" || (key === "Enter" && event.shiftKey)) return;
    event.stopPropagation();
    const asked = this.asking;
    this.asking = false;
    if (asked && key >= "0" && key <= "9") {
      const wanted = this.run.nodes.filter((n) => n.kind === (key === "0" ? "client" : "broker"))[Math.max(0, key - 1)];
      return wanted ? this.act("crash", wanted.id) : this.say(`There is no broker ${key}.`);
    }
    if (key === "Escape" && !this.$help.hidden) return this.act("help");
    if (target.matches("button, input:not(.seek)") && (key === " " || key === "Enter")) return;
    const action = ACTIONS[key.length === 1 ? key.toLowerCase() : key];
    if (!action) return;
    event.preventDefault();
    if (event.repeat && action !== "left" && action !== "right") return;
    if (action !== "crash") return this.act(action);
    this.asking = true;
    this.say("Crash which node? Press the broker's number, or 0 for the app; Esc for none.");
  }

  clicked(event) {
    const target = event.target.closest("[data-action], [data-go]");
    if (!target) return;
    if (event.detail) this.root.focus({ preventScroll: true });
    if (target.dataset.go) this.go(Number(target.dataset.go));
    else this.act(target.dataset.action, target.dataset.target);
  }

  act(action, target) {
    const { stops } = this.view, at = this.place();
    if (action === "play") return this.timer ? this.pause() : this.play();
    this.pause();
    if (action === "help") {
      this.$help.hidden = !this.$help.hidden;
      (this.$help.hidden ? this.root : this.$help.querySelector("button")).focus({ preventScroll: true });
    } else if (action === "right") this.go(stops[at + 1]);
    else if (action === "left") this.go(stops[stops[at] === this.step ? at - 1 : at]);
    else if (action === "home") this.go(stops[0]);
    else if (action === "end") this.go(stops.at(-1));
    else this.press(action, target);
  }

  place() {
    return upTo(this.view.stops.length, (i) => this.view.stops[i] <= this.step);
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
    const { stops } = this.view;
    if (this.step >= stops.at(-1)) this.go(stops[0]);
    this.timer = setInterval(() => {
      this.go(this.view.stops[this.place() + 1]);
      if (this.place() >= this.view.stops.length - 1) this.pause();
    }, PLAY_MS);
    this.drawTools();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.drawTools();
  }

  // Why a press would change nothing; "" if it would.
  why(action, target) {
    const { stops } = this.view, event = this.run.events[this.step];
    if (action === "left" || action === "home") return stops[0] < this.step ? "" : "This is the first step.";
    if (action === "right" || action === "end") return stops.at(-1) > this.step ? "" : "This is the last step.";
    if (action === "play" || action === "help") return "";
    if (this.busy) return "The kernel is making the new run.";
    if (action === "undo") return this.model.get("can_undo") ? "" : "There is no fault to undo.";
    if (action === "redo") return this.model.get("can_redo") ? "" : "Nothing has been undone.";
    if (action === "crash") return this.state?.nodes[target] === "down" ? `${this.run.label(target)} is down already.` : "";
    if (event?.kind !== "send") return "Go to a step at which a frame is sent: at this one none is.";
    if (this.run.frames[event.frame].fate === "dropped") return `${event.frame} is dropped already.`;
    return action === "duplicate" && this.run.copied.has(event.frame) ? `${event.frame} arrives twice already.` : "";
  }

  press(action, target = "") {
    const why = this.why(action, target);
    if (why) return this.say(why);
    if (action === "drop" || action === "duplicate") target = this.run.events[this.step].frame;
    clearTimeout(this.saving);
    this.model.save_changes();
    this.model.send({ kind: "press", action, target, step: this.step });
    this.busy = true;
    const silence = { kind: "error", text: "The kernel does not answer. Run the cell again." };
    this.waiting = setTimeout(() => this.told(silence), PATIENCE_MS);
    this.drawTools();
  }

  // The kernel has answered a press: "done", or "error" with a text.
  told({ kind, text }) {
    this.busy = false;
    clearTimeout(this.waiting);
    this.drawTools();
    if (kind === "error") this.say(text, "wrong");
  }

  say(text, how = "") {
    this.$now.textContent = text;
    this.$now.className = `now said ${how}`;
  }

  // ---- a new run, other groups, another width ----

  load() {
    this.run = new Run(this.model.get("payload"));
    this.step = this.drawn = Math.max(0, Math.min(this.model.get("step"), this.run.last));
    this.$states.innerHTML = (this.model.get("chart") ?? "").replaceAll('id="', `id="${this.prefix}`);
    sync(this.$chips, this.run.faults.map((fault, i) => [i, `<code data-fault="${esc(fault)}">${esc(fault)}</code>`]));
    sync(this.$tapes, this.run.partitions.map((p) => [p, `<section class="strip${this.run.internal.includes(p) ? " internal" : ""}"
      data-partition="${esc(p)}" aria-label="Log of ${esc(p)}"><header></header><div class="tape"></div></section>`]));
    this.root.setAttribute("aria-label", `${this.run.title}. Arrow keys step, question mark for help.`);
    this.relay();
  }

  relay() {
    this.root.dataset.size = this.model.get("size");
    this.u = parseFloat(getComputedStyle(this.root).fontSize) || 13;
    this.view = plan(this.run, new Set(this.model.get("groups")), this.u);
    sync(this.$groups, GROUPS.map((g) => [g, `<label class="${g}"><input type="checkbox" value="${g}"><span>${g}</span></label>`]));
    for (const box of this.$groups.querySelectorAll("input")) box.checked = this.view.groups.has(box.value);
    this.width = 0;
    this.resized();
  }

  resized() {
    const width = this.$scroll.clientWidth;
    if (!width || width === this.width) return;
    if (!this.width && parseFloat(getComputedStyle(this.root).fontSize) !== this.u) return this.relay();
    const { lanes } = this.view;
    this.width = width;
    this.gutter = this.u * 4;
    this.lane = (width - this.gutter) / lanes.length;
    this.x = Object.fromEntries(lanes.map((n, i) => [n.id, this.gutter + this.lane * (i + 0.5)]));
    this.$lanes.style.gridTemplateColumns = `${this.gutter}px repeat(${lanes.length}, ${this.lane}px)`;
    const { fontFamily, fontSize } = getComputedStyle(this.$txn);
    this.pen.font = `600 ${fontSize} ${fontFamily}`;
    this.draw();
  }

  // ---- drawing ----

  draw() {
    if (!this.width) return;
    const { run, view, step, root } = this;
    const focused = root.contains(document.activeElement);
    const place = this.place(), event = run.events[step];
    this.state = run.at(step);
    this.before = view.stops[view.stops[place] === step ? place - 1 : place] ?? -1;
    this.chosen = run.frameOf(step);
    Object.assign(root.dataset, { step, stopIndex: place + 1, stopCount: view.stops.length });
    this.$where.innerHTML = `step <b>${place + 1}</b> of <b>${view.stops.length}</b> · t = <b>${event?.at ?? 0}</b> ms`;
    this.$seek.max = view.stops.length;
    this.$seek.value = place + 1;
    this.$now.className = `now ${event?.kind}`;
    this.$now.textContent = event?.text ?? "Nothing has happened.";
    this.drawLanes();
    this.drawTools();
    this.drawDiagram();
    this.drawChart();
    this.drawFrame();
    this.drawTapes();
    if (focused && !root.contains(document.activeElement)) root.focus({ preventScroll: true });
    this.drawn = step;
  }

  drawTools() {
    if (!this.view) return;
    this.root.dataset.playing = !!this.timer;
    this.root.querySelector('[data-action="play"]').textContent = this.timer ? "pause" : "play";
    for (const b of this.root.querySelectorAll("button[data-action]")) {
      const { action, target } = b.dataset, why = this.why(action, target);
      const [, title, key] = BUTTONS[action];
      b.setAttribute("aria-disabled", !!why);
      b.setAttribute("aria-description", why);
      b.title = why || (target ? `Crash ${this.run.label(target)} right after this step` : `${title} (${keyName(key)})`);
      b.ariaLabel = target ? `Crash ${this.run.label(target)}` : title;
    }
  }

  drawLanes() {
    const { state } = this;
    sync(this.$lanes, this.view.lanes.map(({ id, kind, label }) => {
      const life = state.nodes[id] ?? "up";
      const roles = captions(state.roles[id], state.clients[id]).filter(Boolean).map((role) => `<span>${esc(role)}</span>`);
      const crash = kind === "controller" ? "" : button("crash").replace(">", ` data-target="${id}">`);
      return [id, `<div class="lane ${life}" data-node="${id}" data-life="${life}"><b>${esc(label)}</b>
        ${life === "up" ? "" : `<em>${life}</em>`} ${life === "down" ? "" : crash}<div class="roles">${roles.join("")}</div></div>`];
    }));
  }

  drawDiagram() {
    const { view, u } = this;
    this.now = view.row(this.step);
    const row = view.rows[this.now];
    this.bottom = (row ? row.y + row.height : 0) + u * 2.6;
    this.$sheet.style.height = `${this.bottom}px`;
    const top = this.bottom - this.$scroll.clientHeight;
    this.$scroll.scrollTop = top > 0 ? view.rows[upTo(view.rows.length, (i) => view.rows[i].y < top) + 1]?.y ?? top : 0;
    this.$sheet.style.minHeight = `${this.$scroll.scrollTop + this.$scroll.clientHeight}px`;
    this.seen = null;
    this.drawWindow();
    this.fly();
  }

  // Only the rows in view, and some around them, are in the page.
  drawWindow() {
    const { view, u, width, seen } = this;
    if (!view || !width) return;
    const { scrollTop, clientHeight } = this.$scroll;
    if (seen && scrollTop >= seen[0] && scrollTop + clientHeight <= seen[1]) return;
    const top = Math.max(0, scrollTop - 300), end = scrollTop + clientHeight + 300;
    this.seen = [top, end];
    const first = Math.max(0, upTo(view.rows.length, (i) => view.rows[i].y <= top));
    const last = Math.min(this.now, upTo(view.rows.length, (i) => view.rows[i].y <= end));
    this.$svg.setAttribute("viewBox", svg`0 ${top} ${width} ${end - top}`);
    this.$svg.style.cssText = `top:${top}px;width:${width}px;height:${end - top}px`;
    const rows = [], chips = [], arrows = [];
    for (let i = first; i <= last; i++) {
      rows.push([i, this.rowMarkup(view.rows[i], i)]);
      if (this.run.marks[view.rows[i].event.step]) chips.push([i, this.chipMarkup(view.rows[i], i)]);
    }
    for (let i = upTo(view.frames.length, (k) => view.frames[k].from <= last); i >= 0 && view.frames[i].reach >= first - 1; i--) {
      if (view.frames[i].to >= first - 1) arrows.unshift([view.frames[i].f.id, this.arrowMarkup(view.frames[i])]);
    }
    const layers = [rows, view.lanes.map((n) => [n.id, this.lifeMarkup(n.id, top, end)]), arrows, chips];
    layers.forEach((items, i) => sync(this.$svg.children[i], items));
  }

  rowMarkup({ event, stop, y, height, wait, time }, i) {
    const { u, width } = this;
    const later = wait >= 1000 ? `${round(wait / 1000)} s` : `${wait} ms`;
    const band = i === this.now ? svg`<rect class="band" y="${y}" width="${width}" height="${height}"/><rect class="caret" y="${y}" width="4" height="${height}"/>` : "";
    const clock = svg`<text class="time" x="${u * 3.3}" y="${y + height * (stop ? 0.62 : 0.75)}">${`${event.at}`} ms</text>`;
    return svg`<g data-row="${`${event.step}`}"${stop ? ` data-go="${event.step}"` : ""}><rect class="hit" y="${y}" width="${width}" height="${height}"/>${band}${time ? clock : ""}${
      wait ? svg`<text class="wait" x="${u * 4.4}" y="${y - u * 0.6}">⋮ ${later} later</text>` : ""}</g>`;
  }

  lifeMarkup(id, top, end) {
    const middle = (step) => {
      const row = this.view.rows[this.view.row(step)];
      return row ? row.y + row.height / 2 : 0;
    };
    const lives = this.run.life[id].filter(([from]) => from <= this.step);
    return `<g>${lives.map(([from, life], i) => {
      const a = Math.max(middle(from), top), b = i + 1 < lives.length ? Math.min(middle(lives[i + 1][0]), end) : end;
      return b > a ? svg`<path class="life ${life}" d="M${this.x[id]},${a}V${b}"/>` : "";
    }).join("")}</g>`;
  }

  // A box on the event's lane; across all lanes if its node has none here.
  chipMarkup({ event, y, height }, i) {
    const { u, width, gutter } = this;
    const lane = this.x[event.node], room = lane ? this.lane * 1.9 : width - gutter - u;
    const text = this.fit(lane ? this.run.marks[event.step] : event.text, room - u);
    const w = this.pen.measureText(text).width + u;
    const x = Math.max(gutter + w / 2, Math.min(width - w / 2 - 2, lane ?? (width + gutter) / 2));
    return svg`<g class="mark ${event.kind}${i === this.now ? " current" : ""}" data-event="${`${event.step}`}" data-kind="${event.kind}" data-go="${`${event.step}`}"><title>${esc(event.text)}</title>
      <rect x="${x - w / 2}" y="${y + height * 0.14}" width="${w}" height="${height * 0.72}" rx="${event.kind === "append" ? 2 : u * 0.7}"/><text x="${x}" y="${y + height * 0.5 + u * 0.33}">${esc(text)}</text></g>`;
  }

  fit(text, room) {
    const fits = (t) => this.pen.measureText(t).width <= room;
    if (fits(text)) return text;
    return `${text.slice(0, Math.max(1, upTo(text.length, (i) => fits(`${text.slice(0, i)}…`))))}…`;
  }

  // From the sender's row to the arrival's; a little below the cursor while the frame is in flight.
  geometry({ f, from, to }) {
    const { view, u, x } = this, { y, height } = view.rows[from], arrival = view.rows[to];
    const fate = this.run.fate(f, this.step), y1 = y + height * 0.8;
    let y2 = y1 + u;
    if (fate === "delivered") y2 = Math.max(arrival.y + arrival.height * (f.copy_of ? 0.8 : 0.55), y2);
    else if (fate === "in flight" && this.now > from) y2 = this.bottom - u * 1.7;
    const side = view.lanes.at(-1).id === f.from ? -2.2 : 2.2;
    return { x1: x[f.from], y1, x2: x[f.to], y2, loop: f.from === f.to ? side * u : 0, fate };
  }

  arrowMarkup(flight) {
    const { f } = flight, { u, width } = this, g = this.geometry(flight), { fate } = g;
    const right = g.loop > 0 || g.x2 > g.x1 ? 1 : -1, part = fate === "dropped" ? 0.55 : 1;
    const [x, y] = point(g, part);
    const text = (at, base, side, words, how = "") => svg`<text class="name ${how}" text-anchor="${side > 0 ? "start" : "end"}" x="${at}" y="${base}">${words}</text>`;
    const words = esc(f.name) + tags(f);
    let label = text(g.x1 + right * (Math.abs(g.loop) + u * 0.6), g.y1 + u * (g.loop ? 0.75 : -0.32), right, words);
    if (f.copy_of) label = fate === "delivered" ? text(x - right * u, y - u * 0.5, -right, words) : "";
    let end = svg`<g class="token" transform="translate(${point(g, 0.6)[0]},${point(g, 0.6)[1]})">${envelope(u)}</g>`;
    if (fate === "delivered") end = head(g, u, f.kind === "reply" ? "" : "Z");
    else if (fate !== "in flight") {
      const r = u * 0.5, side = x > width - u * 6 ? -1 : 1;
      end = svg`<path class="cross" d="M${x - r},${y - r}l${2 * r},${2 * r}m0,${-2 * r}l${-2 * r},${2 * r}"/>${text(x + side * u, y + u * 0.4, side, fate, "bad")}`;
    }
    return `<g class="arrow ${f.kind} ${f.group} ${fate.replace(" ", "-")}${this.chosen === f ? " current" : ""}" data-frame="${esc(f.id)}" data-fate="${fate}" data-from="${f.from}" data-to="${f.to}"
      data-go="${f.sent}"><title>${esc(f.id)}: ${esc(f.about)}</title><path class="hit" d="${way(g, 1)}"/><path class="line" d="${way(g, part)}"/>${end}${label}</g>`;
  }

  // A frame just sent flies to where it waits; one that has just arrived flies the rest of its way.
  fly() {
    const { run, view, u, step, drawn } = this;
    if (step <= drawn || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const arrows = this.$svg.children[2];
    for (const flight of view.frames) {
      const { f } = flight, group = arrows.kept.get(f.id)?.node;
      const sent = f.sent > drawn && f.sent <= step, landed = run.ends[f.id] > drawn && run.fate(f, step) === "delivered";
      if (!group || (!sent && !landed)) continue;
      const g = this.geometry(flight);
      if (landed) group.append(parse(group, `<g class="token">${envelope(u)}</g>`));
      const token = group.querySelector(".token");
      const path = (landed ? [sent ? 0 : 0.6, 0.8, 1] : [0, 0.3, 0.6]).map((t) => ({ transform: `translate(${point(g, t)[0]}px,${point(g, t)[1]}px)` }));
      const flying = token?.animate(path, { duration: FLY_MS, easing: "ease-out" });
      if (landed) flying.onfinish = flying.oncancel = () => token.remove();
    }
  }

  drawChart() {
    const { state, run } = this;
    this.txn = run.events[this.step]?.patch.findLast(([op]) => op === "txn")?.[1] ?? (this.txn in state.txns ? this.txn : Object.keys(state.txns).at(-1));
    const t = state.txns[this.txn];
    const inside = t?.partitions.length ? ` · in it: ${esc(t.partitions.join(", "))}` : "";
    sync(this.$txn, [["", t ? `<div data-txn="${esc(this.txn)}">${esc(this.txn)} <b data-txn-state="${t.state}">${t.state}</b>${t.pending ? ` <i data-txn-pending="${t.pending}">→ ${t.pending}, pending</i>` : ""}
      <small>producer <b>${t.producer_id}</b> · epoch <b>${t.epoch}</b>${inside}</small></div>` : "<div>no transactional id yet<small></small></div>"]]);
    for (const node of this.$states.querySelectorAll(".node, .edge")) node.classList.remove("active", "pending", "fired");
    const show = (id, how) => document.getElementById(this.prefix + id)?.classList.add(how);
    if (!t) return;
    show(`s_${t.state}`, "active");
    show(`s_${t.pending}`, "pending");
    if (t.pending) show(`e_${t.state}__${t.pending}`, "pending");
    else if (t.via) show(`e_${t.via.join("__")}`, "fired");
  }

  drawFrame() {
    const { run, step, chosen: f } = this;
    if (!f) return sync(this.$frame, [["", "<p>No frame led to this step.</p>"]]);
    const fate = run.fate(f, step);
    const more = [f.of && `answers ${f.of}`, f.copy_of && `second delivery of ${f.copy_of}`, f.attempt > 1 && `attempt ${f.attempt}`];
    const facts = [`${run.label(f.from)} → ${run.label(f.to)}`, `sent at ${f.at} ms`, fate === "delivered" ? `received at ${f.received_at} ms` : fate, ...more];
    const rows = f.fields.map(([name, value]) => `<tr><th scope="row">${esc(name)}</th><td>${esc(value)}</td></tr>`);
    const caused = run.caused(f, step).map((e) => `<li><button type="button" data-go="${e.step}"${e.step === step ? ' aria-current="step"' : ""}>${esc(e.text)}</button></li>`);
    sync(this.$frame, [[f.id, `<div class="${f.group}" data-inspected="${esc(f.id)}"><h3>${run.events[step].frame === f.id ? "" : "<small>because of</small> "}<span>${esc(f.id)}</span>
      <small class="fate ${fate.replace(" ", "-")}">${fate}</small></h3><p>${esc(f.about)}</p><p><small>${esc(facts.filter(Boolean).join(" · "))}</small></p>
      <table><tbody>${rows.join("")}</tbody></table>${caused.length ? `<h4>What it has caused so far</h4><ol>${caused.join("")}</ol>` : ""}</div>`]]);
  }

  drawTapes() {
    const { run, state, step } = this, fresh = new Set();
    for (let i = this.before + 1; i <= step; i++) {
      for (const [op, a, b, c] of run.events[i].patch) fresh.add(`${a} ${b} ${op === "batch" ? c.base : op}`);
    }
    for (const partition of run.partitions) {
      const [header, tape] = this.$tapes.kept.get(partition).node.children, leader = state.leader[partition];
      sync(header, [["", `<div><b>${esc(partition).replaceAll("_", "_<wbr>")}</b><small>${leader ? `on ${esc(run.label(leader))}` : "no leader"}</small></div>`]]);
      const items = cells(logOf(state, leader, partition), partition, (what) => fresh.has(`${leader} ${partition} ${what}`));
      const end = items.map(([key]) => key).join();
      sync(tape, items);
      if (tape.end !== end) tape.scrollLeft = tape.scrollWidth;
      tape.end = end;
    }
  }
}

export default {
  render({ model, el }) {
    const widget = new Sequence(model, el);
    return () => widget.close();
  },
};
