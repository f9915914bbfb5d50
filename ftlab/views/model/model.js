// A model's tree. What the kernel sends: model_widget.py (_spec, _kind, _measured).
function made(tag, name, parent, text) {
  const one = document.createElement(tag);
  if (name) one.className = name;
  if (text !== undefined) one.textContent = text;
  if (parent) parent.append(one);
  return one;
}

const MOST = 400; // lines in the page
const OPENED = 16; // lines after which nothing is opened by itself

function renderModel({ model, el }) {
  const spec = model.get("spec"), { kinds } = spec, top = kinds.length - 1;
  const state = { open: new Set(), picked: new Map(), selected: null, query: "", asked: 0, waiting: "" };
  const root = made("div", "ftlab-view ftlab-model-view", el);
  made("div", "ftlab-title", root, spec.title);
  paintHead(root, spec);
  const tools = made("div", "ftlab-model-tools", root);
  const search = made("input", "", tools);
  search.type = "search";
  search.placeholder = "search: name, class, dtype, adapter …";
  search.setAttribute("aria-label", "search modules");
  const shut = made("button", "ftlab-choice", tools, "close all");
  const told = made("span", "ftlab-caption", tools);
  const tree = made("div", "ftlab-model-tree", root);
  tree.setAttribute("role", "tree");
  tree.tabIndex = 0;
  const panel = made("div", "ftlab-model-panel", root);

  const linesOf = (kind, key, path) => kinds[kind].lines.map(([label, inner, names, odd]) => ({ label, kind: inner, names, odd, key: `${key}/${label}`, path: [...path, { key: `${key}/${label}`, names, label }] }));
  const first = () => { // what is around the blocks stands open
    const waiting = [[top, "", []]];
    let count = 0;
    while (waiting.length) {
      const found = linesOf(...waiting.shift());
      count += found.length;
      for (const one of found) if (one.names.length === 1 && !one.odd && count < OPENED && holdsFolded(one.kind)) { state.open.add(one.key); waiting.push([one.kind, one.key, one.path]); }
    }
  };
  const holdsFolded = (kind) => kinds[kind].lines.some(([, inner, names]) => names.length > 1 || holdsFolded(inner));

  const numbered = (text) => text.replace(/\d+/g, "#");
  const fits = (one) => {
    const path = one.path.map((part) => part.label).join("."), it = kinds[one.kind];
    const text = `${path} ${it.kind} ${it.stored} ${it.device} ${it.badges.map((b) => b[1]).join(" ")} ${it.details.map((d) => d[1]).join(" ")} ${one.odd ? "differs" : ""}`.toLowerCase();
    if (text.includes(state.query)) return true;
    if (!state.query.includes(".")) return false;
    return numbered(one.path.map((part) => part.names[0]).join(".").toLowerCase()).includes(numbered(state.query));
  };
  const gather = (kind, key, path, depth, out) => {
    let any = false;
    for (const one of linesOf(kind, key, path)) {
      const at = out.length, line = { ...one, depth };
      out.push(line);
      const own = !state.query || fits(one);
      line.open = state.query ? false : state.open.has(one.key);
      if (own && state.query) { state.hits += one.path.reduce((n, part) => n * part.names.length, 1); line.open = state.open.has(`?${one.key}`); }
      let below = false;
      if (state.query && !line.open) { below = gather(one.kind, one.key, one.path, depth + 1, out); line.open = below; }
      else if (line.open) gatherAll(one, depth + 1, out);
      if (!own && !below) out.length = at; else any = true;
    }
    return any;
  };
  const gatherAll = (one, depth, out) => {
    for (const inner of linesOf(one.kind, one.key, one.path)) {
      const line = { ...inner, depth, open: state.open.has(state.query ? `?${inner.key}` : inner.key) };
      out.push(line);
      if (line.open) gatherAll(inner, depth + 1, out);
    }
  };

  const paint = () => {
    state.hits = 0;
    state.lines = [];
    gather(top, "", [], 0, state.lines);
    const high = tree.scrollTop;
    tree.replaceChildren();
    const head = made("div", `ftlab-model-row ftlab-head-row${spec.devices ? " ftlab-several" : ""}`, tree);
    ["module", "parameters", "", "stored as", ...(spec.devices ? ["device"] : []), ""].forEach((text, at) => made("span", at === 1 ? "ftlab-right" : "", head, text));
    state.lines.slice(0, MOST).forEach(paintLine);
    if (state.lines.length > MOST) made("div", "ftlab-note", tree, `${state.lines.length - MOST} more lines: search, or close some`);
    tree.scrollTop = high;
    told.textContent = state.query ? `${state.hits} modules` : spec.everywhere ? `all on ${spec.everywhere}` : "";
    root.dataset.lines = tree.querySelectorAll("[role=treeitem]").length;
    root.dataset.hits = state.hits;
  };
  const paintLine = (line) => {
    const it = kinds[line.kind], folder = it.lines.length > 0;
    const row = made("div", `ftlab-model-row${spec.devices ? " ftlab-several" : ""}${line.odd ? " ftlab-odd" : ""}`, tree);
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", String(line.depth + 1));
    row.setAttribute("aria-selected", String(state.selected === line.key));
    if (folder) row.setAttribute("aria-expanded", String(line.open));
    row.dataset.key = line.key;
    const name = made("span", "", row);
    name.style.paddingLeft = `${line.depth * 14}px`;
    made("span", "ftlab-caret", name, folder ? (line.open ? "▾" : "▸") : "");
    name.append(line.label);
    if (line.names.length > 1) made("b", "", name, ` × ${line.names.length}`);
    made("em", "", name, it.kind);
    name.title = `${line.label} ${it.kind}`;
    made("span", "ftlab-right", row, it.many);
    made("span", it.learns === "frozen" ? "ftlab-caption" : "", row, it.learns);
    made("span", "", row, it.stored).title = it.stored;
    if (spec.devices) made("span", "", row, it.device);
    const marks = made("span", "", row);
    it.badges.forEach(([kind, text]) => made("i", `ftlab-badge ftlab-${kind}`, marks, text).style.fontStyle = "normal");
    if (line.odd) made("span", "ftlab-why", row, `differs from the others: ${line.odd}`);
    row.onclick = () => choose(line);
  };
  const choose = (line) => {
    const key = state.query ? `?${line.key}` : line.key;
    if (kinds[line.kind].lines.length) { if (state.open.has(key)) state.open.delete(key); else state.open.add(key); }
    state.selected = line.key;
    state.line = line;
    paint();
    paintPanel();
  };

  const pathOf = (line) => line.path.map(({ key, names }) => names[Math.min(state.picked.get(key) || 0, names.length - 1)]).join(".");
  const paintPanel = () => {
    const { line } = state;
    panel.replaceChildren();
    if (!line) { made("span", "ftlab-caption", panel, "Click a module: what it is, and what is in its weights."); return; }
    const it = kinds[line.kind];
    const head = made("div", "", panel);
    line.path.forEach(({ key, names }, at) => {
      if (at) head.append(".");
      if (names.length === 1) { made("b", "", head, names[0]); return; }
      const pick = made("select", "", head);
      pick.setAttribute("aria-label", "which of them");
      names.forEach((text, index) => { made("option", "", pick, text).value = index; });
      pick.value = String(Math.min(state.picked.get(key) || 0, names.length - 1));
      pick.onchange = () => { state.picked.set(key, Number(pick.value)); paintPanel(); };
    });
    made("em", "ftlab-caption", head, `  ${it.kind}`);
    const facts = made("dl", "", panel);
    it.details.forEach(([term, text]) => { made("dt", "", facts, term); made("dd", "", facts, text); });
    const values = made("div", "ftlab-model-values", panel);
    const ask = () => {
      state.asked += 1;
      state.waiting = `${state.asked} ${pathOf(line)}`.slice(0, 80);
      values.replaceChildren();
      made("span", "ftlab-caption", values, "reading the weights in the kernel …");
      model.send({ name: state.waiting, path: pathOf(line) });
    };
    if (it.own) ask();
    else if (it.many) { const button = made("button", "ftlab-choice", values, "read the weights within"); button.onclick = ask; }
  };
  const hear = () => {
    const { name, tensors, error } = model.get("answer");
    const values = panel.querySelector(".ftlab-model-values");
    if (!name || name !== state.waiting || !values) return;
    values.replaceChildren();
    if (error) made("div", "ftlab-fault", values, error);
    tensors.forEach((one) => {
      const words = made("div", "", values);
      made("b", "", words, one.name);
      words.append(`  ${one.words}`);
      if (one.bad) made("span", "ftlab-bad", words, `  ${one.bad}`);
      if (!one.counts.length) return;
      const bars = made("div", "ftlab-model-bars", values), most = Math.max(...one.counts, 1);
      bars.setAttribute("role", "img");
      bars.setAttribute("aria-label", `histogram of ${one.name}`);
      one.counts.forEach((count) => { made("i", "", bars).style.height = count ? `${Math.max(1, (100 * count) / most)}%` : "0"; });
      const ends = made("div", "ftlab-model-ends", values);
      one.edges.forEach((edge) => made("span", "", ends, edge));
    });
  };
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = state.lines.findIndex((line) => line.key === state.selected);
    if (step) {
      const next = state.lines[Math.max(0, Math.min(state.lines.length - 1, at + step))];
      state.selected = next.key;
      state.line = next;
      paint();
      tree.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && at >= 0) choose(state.lines[at]);
    else return;
    event.preventDefault();
  };
  search.oninput = () => {
    state.query = search.value.trim().toLowerCase();
    for (const key of [...state.open]) if (key[0] === "?") state.open.delete(key);
    paint();
  };
  shut.onclick = () => { state.open.clear(); search.value = state.query = ""; first(); paint(); };
  tree.onkeydown = move;
  model.on("change:answer", hear);
  first();
  paint();
  paintPanel();
  return () => model.off("change:answer", hear);
}

// What is around the model, what a Trainer makes of it, and what it takes.
function paintHead(root, spec) {
  if (spec.sizes.length) made("div", "ftlab-caption", root, `in training, predicted: ${spec.sizes.map((pair) => pair.join(" ")).join(" · ")}`);
  for (const [path, kind, says, count] of spec.wrappers) made("div", "ftlab-note", root, `${path}: ${kind}, ${says}${count > 1 ? ` (${count} alike)` : ""}`);
  spec.faults.forEach((text) => made("div", text.startsWith("!") ? "ftlab-fault" : "ftlab-note", root, text.slice(2)));
  for (const [device, count, names, held] of spec.placed) made("div", "ftlab-note", root, `on ${device}: ${held}, ${count} entries of hf_device_map (${names}${count > 3 ? ", …" : ""})`);
  const loud = spec.seen.filter(([, kind]) => ["fails", "costs", "not checked"].includes(kind)), quiet = spec.seen.filter((one) => !loud.includes(one));
  if (loud.length) { made("b", "", root, "Given to a Trainer as it is:"); paintSeen(root, loud); }
  if (quiet.length) {
    const more = made("details", "", root);
    made("summary", "ftlab-caption", more, `${loud.length ? "and what else a Trainer sees" : "A Trainer sees it as it is"}: ${quiet.length} decisions${spec.versions ? `, ${spec.versions}` : ""}`);
    paintSeen(more, quiet);
  }
  spec.remarks.forEach((text) => made("div", "ftlab-note", root, text));
}

function paintSeen(root, seen) {
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
