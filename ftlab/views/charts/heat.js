// Layer x step heatmap. Matrix rows: for each statistic the layers, then the parameters.
// Everything that hovering and clicking shows comes from the store, so both work while
// the kernel is busy. Codes and colours: scale.py (quantise, dequantise, colours).
const NONE = 0, NO_GRADIENT = 1, ZERO = 2, INFINITE = 65534, NAN = 65535;

function levelOf(code, scale) {
  if (code === NONE || code === NO_GRADIENT) return undefined;
  if (code === ZERO) return 0;
  if (code === INFINITE) return Infinity;
  if (code === NAN) return NaN;
  const at = scale.low + ((code - scale.first) / (scale.last - scale.first)) * (scale.high - scale.low);
  return scale.linear ? at : 10 ** at;
}

function words(code, scale) {
  if (code === NONE) return "not recorded";
  if (code === NO_GRADIENT) return scale.absent;
  if (code === ZERO) return "0 exactly";
  const level = levelOf(code, scale);
  return scale.percent && Number.isFinite(level) ? `${Number((100 * level).toPrecision(3))} %` : number(level);
}

function rgba(scale) {
  const table = new Uint32Array(65536);
  const bytes = new Uint8Array(table.buffer);
  const put = (code, r, g, b, a) => bytes.set([r, g, b, a], code * 4);
  const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  for (let code = 0; code < 65536; code += 1) {
    const at = (code >> 8) * 3;
    put(code, scale.palette[at], scale.palette[at + 1], scale.palette[at + 2], 255);
  }
  put(NONE, 255, 255, 255, 0);
  put(NO_GRADIENT, ...hex(scale.special["no gradient"]), 255);
  put(ZERO, ...hex(scale.special.zero), 255);
  put(INFINITE, ...hex(scale.special["non-finite"]), 255);
  put(NAN, ...hex(scale.special["non-finite"]), 255);
  return table;
}

function legend(box, scale) {
  box.replaceChildren();
  const bar = make("div", "ftlab-scale", box);
  const canvas = make("canvas", "", bar);
  const [low, high] = scale.shown;
  canvas.width = 280; canvas.height = 1;
  const pen = canvas.getContext("2d"), table = rgba(scale);
  const image = pen.createImageData(280, 1), pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < 280; i += 1) {
    const at = low + (i / 279) * (high - low);
    pixels[i] = table[Math.round(scale.first + ((at - scale.low) / (scale.high - scale.low)) * (scale.last - scale.first))];
  }
  pen.putImageData(image, 0, 0);
  for (const [at, text, strong] of scale.ticks) {
    const share = (at - low) / (high - low);
    const word = make("span", strong ? "ftlab-mark" : "", bar, text);
    word.style.left = `${share * 100}%`;
    // words at the ends of the bar must not hang over the page's edge
    word.style.transform = share < 0.08 ? "none" : share > 0.92 ? "translateX(-100%)" : "";
  }
  for (const name of ["non-finite", "zero", "no gradient"]) {
    if (name === "zero" && scale.linear) continue;
    const item = make("span", "", box);
    make("i", "ftlab-swatch", item).style.background = scale.special[name];
    item.append(name === "non-finite" ? "▼ NaN or Inf" : name === "zero" ? "exactly 0" : scale.absent);
  }
}

function renderHeat({ model, el }) {
  const store = columnStore(model, Uint16Array);
  const state = { statistic: 0, picked: null, layers: [], parameters: [], spec: null };
  const root = make("div", "ftlab-view ftlab-heat-view", el);
  const head = make("div", "ftlab-head", root);
  const title = make("span", "ftlab-title", head);
  const choices = make("span", "", head);
  const caption = make("span", "ftlab-caption", head);
  const body = make("div", "ftlab-body", root);
  const labels = make("div", "ftlab-labels", body);
  const plot = make("div", "ftlab-plot", body);
  const strip = make("canvas", "ftlab-strip", plot);
  const canvas = make("canvas", "ftlab-canvas", plot);
  const cursor = make("div", "ftlab-cursor", plot);
  const axis = make("div", "ftlab-axis", plot);
  const [from, to] = [make("span", "", axis), make("span", "", axis)];
  const empty = make("div", "ftlab-empty", root);
  const key = make("div", "ftlab-legend", root);
  const note = make("div", "ftlab-note", root);
  const history = makeHistory(root, state, store, () => life.ask());
  const tip = make("div", "ftlab-tip", root);
  canvas.setAttribute("role", "img");

  const row = (index) => state.statistic * (state.layers.length + state.parameters.length) + index;
  state.code = (col, index) => store.at(col, row(index));
  const readRows = () => {
    const rows = model.get("rows");
    state.layers = rows.filter((one) => one.layer !== undefined).map((one) => one.layer);
    state.parameters = rows.filter((one) => one.parameter !== undefined);
    state.members = state.layers.map((_, layer) => state.parameters.flatMap((one, index) => (one.in === layer ? [state.layers.length + index] : [])));
  };
  const choose = (index) => {
    state.statistic = index;
    state.name = state.spec.statistics[index];
    state.scale = state.spec.scales[index];
    state.table = rgba(state.scale);
    state.worse = WORSE[state.spec.pools[index]];
    legend(key, state.scale);
  };
  const readSpec = () => {
    if (state.spec === model.get("spec")) return;
    state.spec = model.get("spec");
    title.textContent = state.spec.title;
    empty.textContent = state.spec.empty;
    canvas.setAttribute("aria-label", state.spec.label);
    choices.replaceChildren();
    state.spec.statistics.forEach((name, index) => {
      const button = make("button", "ftlab-choice", choices, name);
      button.title = state.spec.meanings[index];
      button.onclick = () => { choose(index); life.ask(); };
    });
    choose(Math.max(0, state.spec.statistics.indexOf(state.name)));
  };

  const paint = () => {
    readSpec();
    readRows();
    const rows = state.layers.length, cols = store.cols;
    const shown = rows > 0 && cols > 0;
    body.style.display = shown ? "" : "none";
    empty.style.display = shown ? "none" : "";
    [...choices.children].forEach((button, index) => button.setAttribute("aria-pressed", String(index === state.statistic)));
    caption.textContent = shown ? `${state.layers.length} layers, ${state.parameters.length} tensors, ${span(store)}` : "";
    note.textContent = model.get("notes")[0] || "";
    Object.assign(root.dataset, { cols, rows, stride: store.stride, start: store.start, statistic: state.name, messages: store.messages, bytes: store.bytes });
    if (!shown) return;
    const height = Math.max(3, Math.min(22, Math.floor(380 / rows)));
    const room = plot.clientWidth, wide = Math.max(1, Math.min(cols, Math.floor(room)));
    const per = Math.ceil(cols / wide), pixels = Math.ceil(cols / per);
    const cell = Math.min(18, room / pixels);
    const alarms = paintCells(canvas, state, rows, cols, per, pixels);
    paintStrip(strip, alarms, cell);
    canvas.style.width = axis.style.width = `${cell * pixels}px`;
    canvas.style.height = `${height * rows}px`;
    Object.assign(state, { per, cell, height });
    root.dataset.pooled = per;
    [from.textContent, to.textContent] = [stepsText(store, 0), cols > 1 ? stepsText(store, cols - 1) : ""];
    from.style.display = cell * pixels < 130 && cols > 1 ? "none" : "";
    paintLabels(labels, state, height);
    history.paint();
  };
  const life = paintOn(store, root, paint);
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    const pixel = Math.floor((event.clientX - box.left) / state.cell);
    const layer = Math.floor((event.clientY - box.top) / state.height);
    const inside = layer >= 0 && layer < state.layers.length && pixel >= 0;
    return inside ? { layer, pixel, col: worstColumn(state, layer, pixel, store.cols) } : null;
  };
  canvas.onmousemove = (event) => {
    const at = spot(event);
    if (!at) return;
    showTip(tip, state, store, at);
    const box = root.getBoundingClientRect();
    const x = event.clientX - box.left;
    tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
    Object.assign(cursor.style, { display: "block", left: `${at.pixel * state.cell - 1}px`, top: `${canvas.offsetTop + at.layer * state.height - 1}px`, width: `${Math.max(3, state.cell + 2)}px`, height: `${state.height + 2}px` });
  };
  canvas.onmouseleave = () => { tip.style.display = cursor.style.display = "none"; };
  canvas.onclick = (event) => {
    const at = spot(event);
    if (!at) return;
    state.picked = { layer: at.layer, index: ranked(state, at)[0] ?? at.layer, col: at.col };
    tip.style.display = "none";
    life.ask();
  };
  return () => life.stop();
}

function span(store) {
  const last = store.lastOf(store.cols - 1), pooled = store.stride > 1;
  if (!store.steps) return `steps ${store.start}-${last}` + (pooled ? `, ${store.stride} steps a column (largest)` : "");
  return `measured at ${store.cols === 1 ? "step" : `${store.cols} steps,`} ${store.cols === 1 ? last : `${store.steps[0]}-${last}`}` + (pooled ? `, ${store.stride} measurements a column` : "");
}

// Which of two codes is the one worth seeing. A NaN is in any case, nothing is in none.
const WORSE = {
  largest: Math.max,
  smallest: (a, b) => (Math.max(a, b) >= INFINITE || Math.min(a, b) <= NO_GRADIENT ? Math.max(a, b) : Math.min(a, b)),
};

// Several columns may share a pixel: the one worth seeing is shown. Returns the colour of
// the mark above each pixel column, or nothing.
function paintCells(canvas, state, rows, cols, per, pixels) {
  const { scale, table, worse } = state;
  canvas.width = pixels;
  canvas.height = rows;
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(pixels, rows);
  const out = new Uint32Array(image.data.buffer);
  const alarms = [];
  for (let pixel = 0; pixel < pixels; pixel += 1) {
    let worst = 0;
    for (let layer = 0; layer < rows; layer += 1) {
      let code = 0;
      for (let col = pixel * per; col < Math.min(cols, (pixel + 1) * per); col += 1) code = worse(code, state.code(col, layer));
      out[layer * pixels + pixel] = table[code];
      worst = Math.max(worst, code);
    }
    if (worst >= INFINITE) alarms.push([pixel, scale.special["non-finite"]]);
    else if (scale.alarm && worst > ZERO && levelOf(worst, scale) > scale.large) alarms.push([pixel, "#e05a00"]);
  }
  pen.putImageData(image, 0, 0);
  return alarms;
}

// Triangles are wide enough to be found where a column is one pixel wide.
function paintStrip(strip, alarms, cell) {
  const ratio = window.devicePixelRatio || 1;
  strip.width = Math.round(strip.clientWidth * ratio);
  strip.height = Math.round(7 * ratio);
  const pen = strip.getContext("2d");
  pen.scale(ratio, ratio);
  for (const [pixel, colour] of alarms) {
    const at = Math.min(Math.max(4, (pixel + 0.5) * cell), strip.clientWidth - 4);
    pen.fillStyle = colour;
    pen.beginPath(); pen.moveTo(at - 4, 0); pen.lineTo(at + 4, 0); pen.lineTo(at, 7); pen.fill();
  }
}

function paintLabels(labels, state, height) {
  const every = Math.ceil(12 / height);
  const key = `${state.layers.join()} ${height}`;
  if (labels.dataset.key === key) return;
  labels.dataset.key = key;
  labels.replaceChildren();
  labels.style.height = `${10 + height * state.layers.length}px`;
  let widest = "";
  state.layers.forEach((name, layer) => {
    if (layer % every) return;
    make("span", "", labels, name).style.top = `${10 + height * (layer + 0.5)}px`;
    if (name.length > widest.length) widest = name;
  });
  const ghost = make("div", "", labels, widest);
  ghost.style.cssText = "visibility:hidden;height:0;font-size:11px";
}

function worstColumn(state, layer, pixel, cols) {
  let best = Math.min(cols - 1, pixel * state.per);
  for (let col = best; col < Math.min(cols, (pixel + 1) * state.per); col += 1) { const code = state.code(col, layer), now = state.code(best, layer); if (code !== now && state.worse(code, now) === code) best = col; }
  return best;
}

function ranked(state, at) {
  return [...(state.members[at.layer] || [])].sort((a, b) => { const [x, y] = [state.code(at.col, a), state.code(at.col, b)]; return x === y ? 0 : state.worse(x, y) === x ? -1 : 1; });
}

function showTip(tip, state, store, at) {
  tip.replaceChildren();
  tip.style.display = "block";
  make("b", "", tip, `${state.layers[at.layer]}, ${stepsText(store, at.col)}`);
  const line = (name, code) => {
    const one = make("div", "", tip);
    make("span", "", one, name).title = name;
    make("span", code >= INFINITE ? "ftlab-bad" : "", one, words(code, state.scale));
  };
  line(`${state.name} of the layer`, state.code(at.col, at.layer));
  const order = ranked(state, at);
  order.slice(0, 6).forEach((index) => line(state.parameters[index - state.layers.length].parameter, state.code(at.col, index)));
  if (order.length > 6) make("div", "ftlab-caption", tip, `and ${order.length - 6} more`);
  make("div", "ftlab-caption", tip, "click for the history");
}

function makeHistory(root, state, store, ask) {
  const box = make("div", "ftlab-history", root);
  box.style.display = "none";
  const head = make("div", "ftlab-head", box);
  const select = make("select", "", head);
  const close = make("button", "ftlab-choice", head, "close");
  const readout = make("span", "ftlab-caption", head);
  const chart = make("canvas", "ftlab-chart", box);
  let toColumn = () => 0, listed = null;
  close.onclick = () => { state.picked = null; ask(); };
  select.onchange = () => { state.picked.index = Number(select.value); ask(); };
  chart.onmousemove = (event) => { state.picked.col = toColumn(event.clientX - chart.getBoundingClientRect().left); ask(); };
  const list = (layer) => {
    if (listed === layer) return;
    listed = layer;
    select.replaceChildren();
    for (const index of [layer, ...state.members[layer]]) {
      const name = index < state.layers.length ? `${state.layers[layer]} (whole layer)` : state.parameters[index - state.layers.length].parameter;
      make("option", "", select, name).value = index;
    }
  };
  const paint = () => {
    box.style.display = state.picked ? "" : "none";
    if (!state.picked) { listed = null; return; }
    const { layer, index, col } = state.picked;
    list(layer);
    select.value = String(index);
    const pen = inks(root), { scale } = state;
    const value = (at) => { const level = levelOf(state.code(at, index), scale); return level === undefined || !Number.isFinite(level) ? NaN : level; };
    const bad = (at) => (state.code(at, index) >= INFINITE ? 1 : 0);
    readout.textContent = `${state.name} at ${stepsText(store, col)}: ${words(state.code(col, index), scale)}`;
    toColumn = drawChart(chart, box.clientWidth, 120, {
      ...pen, cols: store.cols, log: !scale.linear, cursor: col, xText: (at) => stepsText(store, at),
      series: [{ value, color: "#0072b2", kind: "line", gaps: true }, { value: bad, color: scale.special["non-finite"], kind: "mark" }],
    });
    Object.assign(box.dataset, { index, col, code: state.code(col, index) });
  };
  return { paint };
}

export default { initialize({ model }) { columnStore(model, Uint16Array); }, render: renderHeat };
