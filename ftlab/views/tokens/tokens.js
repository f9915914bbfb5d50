// The token grid: only the lines on screen are in the page. Text goes in by textContent
// alone; a token is isolated by bdi, so that scripts of both directions stay in place.
const LINE = 24, EDGE = 6;

function put(tag, name, parent, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function choice(parent, title, options) {
  const label = put("label", "", parent, title);
  const select = put("select", "", label);
  for (const [value, text] of options) put("option", "", select, text).value = value;
  select.setAttribute("aria-label", title);
  return select;
}

function rounded(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  return String(Number(value.toPrecision(3)));
}

function kindSample(parent, name, text, words) {
  const item = put("span", "ftlab-key", parent);
  put("span", `ftlab-tok ftlab-${name}`, item, text).setAttribute("aria-hidden", "true");
  item.append(words);
}

// Pairs of a name and a value that a person reads of a token.
function factRows(fact) {
  const turn = fact.role || fact.part ? [["role", fact.role || "unknown"], ["turn", fact.message < 0 ? "none" : `message ${fact.message}`], ["part", fact.part]] : [["role", "unknown"]];
  const quoted = (entry) => (entry ? `${entry[1]} (id ${entry[0]})` : "the token after this window");
  const rows = [["position", fact.at.toLocaleString("en")], ["id", String(fact.id)], ["piece", fact.piece], ...turn];
  rows.push(["special", fact.special || "no"]);
  rows.push(["attention", fact.attention === null ? "no mask" : String(fact.attention)]);
  rows.push(["label", !fact.labelled ? "none" : fact.trained ? quoted(fact.label) : "-100"]);
  rows.push(["learns to say next", fact.trained || fact.learns ? (fact.learns ? quoted(fact.learns) : "nothing") : "nothing"]);
  if (fact.trained) rows.push(["weight", rounded(fact.weight ?? 1)]);
  if (fact.position !== null) rows.push(["position id", String(fact.position)]);
  if (fact.segment !== null) rows.push(["document", fact.segment < 0 ? "padding" : String(fact.segment)]);
  if (!Number.isNaN(fact.loss)) rows.push(["loss", rounded(fact.loss)]);
  return rows;
}

function renderTokens({ model, el }) {
  const spec = model.get("spec"), known = new Map();
  const take = (name, made) => known.set(name, readWindow(made));
  Object.entries(model.get("windows")).forEach(([name, made]) => take(name, made));
  const state = { row: 0, start: 0, show: "all", role: "", search: "", active: -1, pinned: -1, lines: [], keep: null, lineOf: new Map(), waiting: "" };
  const root = put("div", "ftlab-view ftlab-token-view", el);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "tokens of a batch");
  const head = put("div", "ftlab-tools", root);
  put("span", "ftlab-title", head, "Tokens");
  const rows = choice(head, "row", spec.rows.map((row, at) => [at, `${row.name}: ${row.length.toLocaleString("en")} tokens`]));
  const parts = choice(head, "part of the row", []);
  spec.faults.forEach((text) => put("div", "ftlab-fault", root, text));
  const words = put("div", "ftlab-words", root);
  const tools = put("div", "ftlab-tools", root);
  const show = choice(tools, "show", []);
  const role = choice(tools, "role", []);
  const label = put("label", "", tools, "search");
  const search = put("input", "", label);
  search.type = "search";
  search.placeholder = "text or id";
  search.setAttribute("aria-label", "search for text or id");
  const said = put("span", "ftlab-caption", tools);
  said.setAttribute("role", "status");
  const scroll = put("div", "ftlab-scroll", root);
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "listbox");
  scroll.setAttribute("aria-label", "tokens; arrow keys move, Enter pins");
  const sheet = put("div", "", scroll);
  const facts = put("div", "ftlab-facts", root);
  facts.setAttribute("aria-live", "polite");
  const legend = put("div", "ftlab-legend", root);
  kindSample(legend, "trained", "abc", "trained: the loss counts it");
  kindSample(legend, "context", "abc", "read, not trained");
  kindSample(legend, "padding", "abc", "padding");
  kindSample(legend, "odd", "abc", "trained, but attention 0");
  kindSample(legend, "context ftlab-special", "abc", "special token");
  if (spec.rows.some((row) => row.high !== null)) kindSample(legend, "trained ftlab-high", "abc", "high loss");
  put("span", "ftlab-key", legend, "· space  ↵ new line  ⋯ rest of the character before");
  put("div", "ftlab-note", root, "Labels stand at their own token. The model shifts them by one: each position learns to say the token after it.");
  if (spec.hidden) put("div", "ftlab-note", root, `${spec.hidden} more rows: .table() has them`);
  spec.remarks.forEach((text) => put("div", "ftlab-note", root, text));

  const pen = document.createElement("canvas").getContext("2d");
  let widths = new Map();
  const measure = (text) => {
    if (!widths.has(text)) widths.set(text, Math.ceil(pen.measureText(text).width) + 11);
    return widths.get(text);
  };
  const read = () => known.get(`${state.row} ${state.start}`);
  const prefix = `ftlab-${Math.random().toString(36).slice(2)}-`;

  function fill(select, options, value) {
    select.replaceChildren();
    for (const [name, text] of options) put("option", "", select, text).value = name;
    select.value = options.some(([name]) => String(name) === String(value)) ? value : options[0][0];
    select.parentElement.style.display = options.length > 1 ? "" : "none";
  }

  function open(row, start) {
    state.row = row;
    state.start = start;
    state.active = state.pinned = -1;
    const own = spec.rows[row], name = `${row} ${start}`;
    words.textContent = `${own.name}: ${own.words}`;
    fill(show, [["all", "all tokens"], ["trained", "trained only"], ["not trained", "read, not trained"], ["special", "special tokens"], ["padding", "padding"], ...(own.high === null ? [] : [["high", `high loss (${own["high words"]})`]])], state.show);
    fill(role, [["", "all roles"], ...own.roles.map((each) => [each, each])], state.role);
    state.show = show.value;
    state.role = role.value;
    if (!known.has(name)) {
      state.waiting = name;
      model.send({ row, start });
      sheet.replaceChildren();
      state.lines = [];
      said.textContent = "asking the kernel for these tokens ...";
      return;
    }
    state.waiting = "";
    steps();
    scroll.scrollTop = 0;
    arrange();
  }

  // Where else in a long row a window may begin.
  function steps() {
    const now = read(), length = spec.rows[state.row].length, wide = Math.max(1, now.stop - now.start);
    const starts = new Set([0, now.start]);
    for (let at = now.stop; at < length; at += wide) starts.add(at);
    for (let at = now.start - wide; at > 0; at -= wide) starts.add(at);
    const options = [...starts].sort((a, b) => a - b).map((at) => [at, `from ${at.toLocaleString("en")}`]);
    fill(parts, options, now.start);
  }

  function arrange() {
    const now = read();
    if (!now || !scroll.clientWidth) return;
    const style = getComputedStyle(root);
    pen.font = `12px ${style.getPropertyValue("--jp-code-font-family").trim() || 'Menlo, Consolas, "DejaVu Sans Mono", monospace'}`;
    state.keep = chosen(now, state, spec.rows[state.row].high);
    state.lines = linesOf(now, state.keep, scroll.clientWidth - 2 * EDGE, measure);
    state.order = [];
    state.lineOf = new Map();
    state.lines.forEach((line, number) => (line.items || []).forEach(([at]) => { state.lineOf.set(at, number); state.order.push(at); }));
    const size = now.index.length, whole = spec.rows[state.row].length;
    const shown = state.order.length, hits = state.search ? state.keep.reduce((sum, one) => sum + (one === 2), 0) : 0;
    const part = size < whole ? ` of positions ${now.start.toLocaleString("en")} to ${(now.stop - 1).toLocaleString("en")} (the row has ${whole.toLocaleString("en")}; filters and search see this part)` : "";
    said.textContent = `${shown.toLocaleString("en")} of ${size.toLocaleString("en")} tokens${part}${state.search ? `, ${hits.toLocaleString("en")} found` : ""}`;
    sheet.style.cssText = `position:relative;height:${state.lines.length * LINE + 2 * EDGE}px`;
    paint();
  }

  function tokenNode(now, at, wide, parent) {
    const [, text, , special] = now.pieces[now.index[at]];
    const shown = now.texts[String(now.start + at)] ?? text;
    const kind = KIND[now.flags[at] & 3], high = spec.rows[state.row].high;
    const node = put("span", `ftlab-tok ftlab-${kind}`, parent);
    if (special) node.classList.add("ftlab-special");
    if (high !== null && now.losses && now.losses[at] > high) node.classList.add("ftlab-high");
    if (state.keep[at] === 2) node.classList.add("ftlab-found");
    if (at === state.active) node.classList.add("ftlab-active");
    if (at === state.pinned) node.classList.add("ftlab-pinned");
    node.style.width = `${wide - 2}px`;
    node.id = prefix + at;
    node.dataset.at = at;
    node.setAttribute("role", "option");
    node.setAttribute("aria-selected", String(at === state.pinned));
    node.setAttribute("aria-label", `position ${now.start + at}: ${shown}, ${KIND_WORDS[kind]}${special ? `, ${special}` : ""}`);
    put("bdi", "", node, shown);
  }

  function paint() {
    const now = read();
    if (!now) return;
    const first = Math.max(0, Math.floor(scroll.scrollTop / LINE) - 4);
    const last = Math.min(state.lines.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / LINE) + 4);
    const made = document.createDocumentFragment();
    for (let number = first; number < last; number += 1) {
      const line = state.lines[number];
      const node = put("div", `ftlab-line${line.title ? " ftlab-turn" : ""}`, made);
      node.style.top = `${EDGE + number * LINE}px`;
      node.setAttribute("role", "presentation");
      if (line.title) {
        put("bdi", "", node, line.title.segment ?? line.title.role);
        if (line.title.role && line.title.message >= 0) put("span", "", node, `message ${line.title.message}`);
        continue;
      }
      for (const [at, wide, gap] of line.items) {
        if (gap) put("span", "ftlab-gap", node, "…");
        tokenNode(now, at, wide, node);
      }
    }
    sheet.replaceChildren(made);
    tell();
  }

  function tell() {
    const at = state.active >= 0 ? state.active : state.pinned, now = read();
    facts.replaceChildren();
    if (!now || at < 0 || at >= now.index.length) {
      put("span", "ftlab-caption", facts, "Point at a token, or move with the arrow keys, for all that is known of it; click pins it.");
      return;
    }
    const fact = factsOf(now, at);
    const top = put("div", "", facts);
    put("b", "", put("bdi", "", top), fact.shown);
    put("span", "ftlab-caption", top, `  ${KIND_WORDS[fact.kind]}${at === state.pinned ? "; pinned, Escape lets go" : ""}`);
    const list = put("dl", "", facts);
    for (const [name, value] of factRows(fact)) {
      const pair = put("div", "", list);
      put("dt", "", pair, name);
      put("bdi", "", put("dd", "", pair), value);
    }
    scroll.setAttribute("aria-activedescendant", prefix + at);
  }

  const mark = (at, name) => {
    sheet.querySelectorAll(`.${name}`).forEach((node) => node.classList.remove(name));
    if (at >= 0) sheet.querySelector(`[data-at="${at}"]`)?.classList.add(name);
  };
  function activate(at) {
    if (state.active === at) return;
    state.active = at;
    mark(at, "ftlab-active");
    tell();
  }
  function pin(at) {
    state.pinned = state.pinned === at ? -1 : at;
    mark(state.pinned, "ftlab-pinned");
    tell();
  }
  const spot = (event) => { const node = event.target.closest("[data-at]"); return node ? Number(node.dataset.at) : -1; };
  function move(event) {
    if (!state.order || !state.order.length) return;
    const line = state.lineOf.get(state.active) ?? -1, place = state.order.indexOf(state.active);
    let next = null;
    if (event.key === "ArrowRight") next = state.order[Math.min(state.order.length - 1, place + 1)];
    if (event.key === "ArrowLeft") next = state.order[Math.max(0, place - 1)];
    if (event.key === "Home") next = state.order[0];
    if (event.key === "End") next = state.order[state.order.length - 1];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      const column = line >= 0 ? state.lines[line].items.findIndex(([at]) => at === state.active) : 0;
      let number = line + step;
      while (number >= 0 && number < state.lines.length && !state.lines[number].items) number += step;
      const items = state.lines[number]?.items;
      if (items) next = items[Math.min(items.length - 1, Math.max(0, column))][0];
    }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); if (state.active >= 0) pin(state.active); return; }
    if (event.key === "Escape") { state.pinned = -1; mark(-1, "ftlab-pinned"); tell(); return; }
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    const top = EDGE + state.lineOf.get(next) * LINE;
    if (top < scroll.scrollTop) scroll.scrollTop = top - EDGE;
    if (top + LINE > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + LINE + EDGE - scroll.clientHeight;
    state.active = next;
    paint();
  }
  let frame = 0, timer = 0;
  const soon = () => { if (!frame) frame = requestAnimationFrame(() => { frame = 0; paint(); }); };
  scroll.addEventListener("scroll", soon);
  scroll.addEventListener("mousemove", (event) => { const at = spot(event); if (at >= 0) activate(at); });
  scroll.addEventListener("mouseleave", () => activate(-1));
  scroll.addEventListener("click", (event) => { const at = spot(event); if (at >= 0) { state.active = at; pin(at); } });
  scroll.addEventListener("keydown", move);
  rows.addEventListener("change", () => open(Number(rows.value), 0));
  parts.addEventListener("change", () => open(state.row, Number(parts.value)));
  const again = () => { state.show = show.value; state.role = role.value; state.search = search.value; state.active = -1; scroll.scrollTop = 0; arrange(); };
  show.addEventListener("change", again);
  role.addEventListener("change", again);
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(again, 120); });
  const answered = () => {
    const made = model.get("answer");
    if (!made || !made.name) return;
    take(made.name, made);
    if (state.waiting === made.name) open(state.row, state.start);
  };
  model.on("change:answer", answered);
  let wide = 0;
  const observer = new ResizeObserver(() => { if (scroll.clientWidth !== wide) { wide = scroll.clientWidth; arrange(); } });
  observer.observe(scroll);
  if (spec.rows.length) open(0, 0);
  else words.textContent = "the batch is empty";
  fill(rows, spec.rows.length ? spec.rows.map((row, at) => [at, `${row.name} (${row.length.toLocaleString("en")})`]) : [["", ""]], 0);
  if (!spec.rows.length) [show, role].forEach((each) => fill(each, [["", ""]], ""));
  if (!parts.options.length) fill(parts, [["", ""]], "");
  return () => { observer.disconnect(); model.off("change:answer", answered); cancelAnimationFrame(frame); clearTimeout(timer); };
}

export default { render: renderTokens };
