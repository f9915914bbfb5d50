// A model's tree. What the kernel sends: model_widget.py (spec_of, _kind, _measured).
const MOST = 400; // lines in the page
const OPENED = 16; // lines after which nothing is opened by itself

function made(tag, name, parent, text) {
  const one = document.createElement(tag);
  if (name) one.className = name;
  if (text !== undefined) one.textContent = text;
  parent.append(one);
  return one;
}

function renderModel({ model, el }) {
  const spec = model.get("spec"), { kinds } = spec, several = spec.devices.length > 1;
  const state = { open: new Set(), picked: new Map(), line: null, query: "", asked: 0, waiting: "", hits: 0, lines: [] };
  const root = made("div", "ftlab-view ftlab-model-view", el);
  paintHead(root, spec);
  const tools = made("div", "ftlab-model-tools", root);
  const search = made("input", "", tools), shut = made("button", "ftlab-choice", tools, "close all"), told = made("span", "ftlab-caption", tools);
  Object.assign(search, { type: "search", ariaLabel: "search modules", placeholder: "search: name, class, dtype, adapter …" });
  const tree = Object.assign(made("div", "ftlab-model-tree", root), { role: "tree", tabIndex: 0 }), panel = made("div", "ftlab-model-panel", root);

  // A line is of one or several modules; its path has, from outside to inside, the names to choose from.
  const linesOf = (kind, path) => kinds[kind].lines.map(([label, inner, names, odd]) => {
    const key = `${path.length ? path[path.length - 1].key : ""}/${label}`;
    return { label, kind: inner, names, odd, key, depth: path.length, path: [...path, { key, label, names }] };
  });
  const openSome = () => { // what is around the blocks stands open, the rest as long as there is room
    const waiting = [[kinds.length - 1, []]];
    for (let count = 0; waiting.length && count < OPENED;) {
      const found = linesOf(...waiting.shift());
      count += found.length;
      for (const one of found) if (one.names.length === 1 && !one.odd && kinds[one.kind].lines.length && count < OPENED) { state.open.add(one.key); waiting.push([one.kind, one.path]); }
    }
  };
  const numbered = (text) => text.toLowerCase().replace(/\d+/g, "#");
  const fits = (one) => { // by words of the line, or by a path with any number
    const it = kinds[one.kind], words = [it.kind, it.stored, it.device, one.odd, ...it.badges.map((pair) => pair[1]), ...it.details.map((pair) => pair[1])];
    const text = `${one.path.map((part) => part.label).join(".")} ${words.join(" ")}`.toLowerCase();
    return text.includes(state.query) || (state.query.includes(".") && numbered(one.path.map((part) => part.names[0]).join(".")).includes(numbered(state.query)));
  };
  const keyOf = (line) => (state.query ? `?${line.key}` : line.key); // a search opens and closes lines of its own
  const gather = (kind, path, all) => linesOf(kind, path).flatMap((line) => {
    const own = all || fits(line), open = state.open.has(keyOf(line));
    state.hits += own && !all ? line.path.reduce((count, part) => count * part.names.length, 1) : 0;
    const below = open || !all ? gather(line.kind, line.path, all || open) : [];
    return own || below.length ? [{ ...line, open: below.length > 0 }, ...below] : [];
  });

  const paint = () => {
    state.hits = 0;
    state.lines = gather(kinds.length - 1, [], !state.query);
    const high = tree.scrollTop;
    tree.replaceChildren();
    const head = made("div", `ftlab-model-row ftlab-head-row${several ? " ftlab-several" : ""}`, tree);
    ["module", "parameters", "", "stored as", ...(several ? ["device"] : []), ""].forEach((text, at) => made("span", at === 1 ? "ftlab-right" : "", head, text));
    state.lines.slice(0, MOST).forEach(paintLine);
    if (state.lines.length > MOST) made("div", "ftlab-note", tree, `${state.lines.length - MOST} more lines: search, or close some`);
    tree.scrollTop = high;
    told.textContent = state.query ? `${state.hits} modules` : several ? "" : `all on ${spec.devices[0] || "no device"}`;
  };
  const paintLine = (line) => {
    const it = kinds[line.kind], many = line.names.length > 1;
    const row = made("div", `ftlab-model-row${several ? " ftlab-several" : ""}${line.odd ? " ftlab-odd" : ""}`, tree);
    Object.assign(row, { role: "treeitem", onclick: () => choose(line), ariaLevel: line.depth + 1, ariaSelected: state.line?.key === line.key, ariaExpanded: it.lines.length ? line.open : null });
    const name = Object.assign(made("span", "ftlab-name", row), { title: `${line.label} ${it.kind}`, style: `padding-left: ${line.depth * 14}px` });
    made("span", "ftlab-caret", name, it.lines.length ? (line.open ? "▾" : "▸") : "\u00a0");
    made("span", many ? "ftlab-label" : "", name, line.label);
    if (many) made("b", "", name, ` × ${line.names.length}`);
    made("em", "", name, it.kind);
    made("span", "ftlab-right", row, it.many + (many && it.many ? " each" : ""));
    made("span", it.learns === "frozen" ? "ftlab-caption" : "", row, it.learns);
    made("span", "", row, it.stored).title = it.stored;
    if (several) made("span", "", row, it.device);
    const marks = made("span", "", row);
    it.badges.forEach(([kind, text]) => made("span", `ftlab-badge ftlab-${kind}`, marks, text));
    if (line.odd) made("span", "ftlab-why", row, `differs from the others: ${line.odd}`);
  };
  const choose = (line) => {
    if (kinds[line.kind].lines.length && !state.open.delete(keyOf(line))) state.open.add(keyOf(line));
    state.line = line;
    paint();
    paintPanel();
  };

  const chosen = ({ key, names }) => Math.min(state.picked.get(key) || 0, names.length - 1);
  const paintPanel = () => {
    const { line } = state;
    panel.replaceChildren(line ? "" : "Click a module: what it is, and what is in its weights.");
    if (!line) return;
    const it = kinds[line.kind], head = made("div", "", panel), facts = made("dl", "", panel), values = made("div", "ftlab-model-values", panel);
    line.path.forEach((part, at) => {
      if (at) head.append(".");
      if (part.names.length === 1) { made("b", "", head, part.names[0]); return; }
      const pick = made("select", "", head);
      part.names.forEach((text, index) => { made("option", "", pick, text).value = index; });
      Object.assign(pick, { ariaLabel: "which of them", value: String(chosen(part)), onchange: () => { state.picked.set(part.key, Number(pick.value)); paintPanel(); } });
    });
    made("span", "ftlab-caption", head, `  ${it.kind}`);
    it.details.forEach(([term, text]) => { made("dt", "", facts, term); made("dd", "", facts, text); });
    const ask = () => {
      const path = line.path.map((part) => part.names[chosen(part)]).join(".");
      state.waiting = `${(state.asked += 1)} ${path}`.slice(0, 80);
      values.replaceChildren("reading the weights in the kernel …");
      model.send({ name: state.waiting, path });
    };
    if (it.own) ask();
    else if (it.many) made("button", "ftlab-choice", values, "read the weights within").onclick = ask;
  };
  const hear = () => {
    const { name, tensors, error } = model.get("answer"), values = panel.querySelector(".ftlab-model-values");
    if (!name || name !== state.waiting || !values) return;
    values.replaceChildren();
    if (error) made("div", "ftlab-fault", values, error);
    for (const one of tensors) {
      const words = made("div", "", values);
      made("b", "", words, one.name).after(`  ${one.words}`);
      if (one.bad) made("span", "ftlab-bad", words, `  ${one.bad}`);
      if (!one.counts.length) continue;
      const bars = made("div", "ftlab-model-bars", values), ends = made("div", "ftlab-model-ends", values), most = Math.max(...one.counts, 1);
      Object.assign(bars, { role: "img", ariaLabel: `histogram of ${one.name}` });
      one.counts.forEach((count) => { made("i", "", bars).style.height = count ? `${Math.max(1, (100 * count) / most)}%` : "0"; });
      one.edges.forEach((edge) => made("span", "", ends, edge));
    }
  };
  tree.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], at = state.lines.findIndex((line) => line.key === state.line?.key);
    if (!step && (event.key !== "Enter" || at < 0)) return;
    event.preventDefault();
    if (!step) { choose(state.lines[at]); return; }
    state.line = state.lines[Math.max(0, Math.min(state.lines.length - 1, at + step))];
    paint();
    tree.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  };
  search.oninput = () => {
    state.query = search.value.trim().toLowerCase();
    [...state.open].filter((key) => key[0] === "?").forEach((key) => state.open.delete(key));
    paint();
  };
  shut.onclick = () => { state.open.clear(); search.value = state.query = ""; openSome(); paint(); };
  model.on("change:answer", hear);
  openSome();
  paint();
  paintPanel();
  return () => model.off("change:answer", hear);
}

// What is around the model, what a Trainer makes of it, and what it takes.
function paintHead(root, spec) {
  made("div", "ftlab-title", root, spec.title);
  for (const text of spec.notes) made("div", text[0] === "!" ? "ftlab-fault" : "ftlab-note", root, text.replace("! ", ""));
  const isLoud = (one) => ["fails", "costs", "not checked"].includes(one[1]), loud = spec.seen.filter(isLoud), quiet = spec.seen.filter((one) => !isLoud(one));
  if (loud.length) paintSeen(root, "Given to a Trainer as it is:", loud);
  if (quiet.length) {
    const more = made("details", "", root), words = loud.length ? "and what else a Trainer sees" : "What a Trainer sees of it";
    made("summary", "ftlab-caption", more, `${words}: ${quiet.length} decisions, ${spec.versions}`);
    paintSeen(more, "", quiet);
  }
}

function paintSeen(root, head, seen) {
  if (head) made("b", "", root, head);
  const box = made("div", "ftlab-model-seen", root);
  for (const [mark, kind, what, sees, means, fix] of seen) {
    made("span", `ftlab-${kind}`, box, mark);
    made("b", "", box, what);
    const words = made("span", "", box, means || sees);
    if (means) made("small", "", words, sees);
    if (fix) made("small", "", words, `→ ${fix}`);
  }
}

export default { render: renderModel };
