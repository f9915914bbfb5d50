// Layer x step heatmap. Matrix rows: for each statistic the layers, then the parameters.
// Everything that hovering and clicking shows comes from the store, so both work while
// the kernel is busy. Codes and colours: style.py (quantise, dequantise, colours).
const NONE = 0, NO_GRADIENT = 1, ZERO = 2, INFINITE = 65534, NAN = 65535;

function levelOf(code, scale) {
  if (code === NONE || code === NO_GRADIENT) return undefined;
  if (code === ZERO) return 0;
  if (code === INFINITE) return Infinity;
  if (code === NAN) return NaN;
  return 10 ** (scale.decadeLow + ((code - scale.low) / (scale.high - scale.low)) * (scale.decadeHigh - scale.decadeLow));
}

function words(code, scale) {
  if (code === NONE) return "not recorded";
  if (code === NO_GRADIENT) return "no gradient";
  if (code === ZERO) return "0 exactly";
  return number(levelOf(code, scale));
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

function legend(root, scale) {
  const box = make("div", "ftlab-legend", root);
  const bar = make("div", "ftlab-scale", box);
  const canvas = make("canvas", "", bar);
  const [low, high] = [-8, 6];
  canvas.width = 280; canvas.height = 1;
  const pen = canvas.getContext("2d"), table = rgba(scale);
  const image = pen.createImageData(280, 1), pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < 280; i += 1) {
    const decade = low + (i / 279) * (high - low);
    pixels[i] = table[Math.round(scale.low + ((decade - scale.decadeLow) / (scale.decadeHigh - scale.decadeLow)) * (scale.high - scale.low))];
  }
  pen.putImageData(image, 0, 0);
  const mark = (decade, text, kind) => { const span = make("span", kind, bar, text); span.style.left = `${((decade - low) / (high - low)) * 100}%`; };
  mark(Math.log10(scale.vanishing), "1e-6 vanishing", "ftlab-mark");
  mark(0, "1");
  mark(Math.log10(scale.exploding), "1e4 exploding", "ftlab-mark");
  for (const name of ["non-finite", "zero", "no gradient"]) {
    const item = make("span", "", box);
    make("i", "ftlab-swatch", item).style.background = scale.special[name];
    item.append(name === "non-finite" ? "▼ NaN or Inf" : name === "zero" ? "exactly 0" : "no gradient");
  }
}

function renderHeat({ model, el }) {
  const store = columnStore(model, Uint16Array);
  const scale = model.get("spec").scale, statistics = model.get("spec").statistics;
  const table = rgba(scale);
  const state = { statistic: 0, picked: null, layers: [], parameters: [] };
  const root = make("div", "ftlab-view ftlab-heat-view", el);
  const head = make("div", "ftlab-head", root);
  make("span", "ftlab-title", head, "Gradients");
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
  const empty = make("div", "ftlab-empty", root, "No gradient recorded yet.");
  legend(root, scale);
  const note = make("div", "ftlab-note", root);
  const history = makeHistory(root, state, store, scale, statistics, () => life.ask());
  const tip = make("div", "ftlab-tip", root);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "gradient of each layer over steps");

  const row = (index) => state.statistic * (state.layers.length + state.parameters.length) + index;
  state.code = (col, index) => store.at(col, row(index));
  const readRows = () => {
    const rows = model.get("rows");
    state.layers = rows.filter((one) => one.layer !== undefined).map((one) => one.layer);
    state.parameters = rows.filter((one) => one.parameter !== undefined);
    state.members = state.layers.map((_, layer) => state.parameters.flatMap((one, index) => (one.in === layer ? [state.layers.length + index] : [])));
  };
  statistics.forEach((name, index) => {
    const button = make("button", "ftlab-choice", choices, name);
    button.onclick = () => { state.statistic = index; life.ask(); };
  });

  const paint = () => {
    readRows();
    const rows = state.layers.length, cols = store.cols;
    const shown = rows > 0 && cols > 0;
    body.style.display = shown ? "" : "none";
    empty.style.display = shown ? "none" : "";
    [...choices.children].forEach((button, index) => button.setAttribute("aria-pressed", String(index === state.statistic)));
    caption.textContent = shown ? `${state.layers.length} layers, ${state.parameters.length} tensors, steps ${store.start}-${store.stepOf(cols) - 1}` + (store.stride > 1 ? `, ${store.stride} steps a column (largest)` : "") : "";
    note.textContent = model.get("notes")[0] || "";
    Object.assign(root.dataset, { cols, rows, stride: store.stride, start: store.start, statistic: statistics[state.statistic], messages: store.messages, bytes: store.bytes });
    if (!shown) return;
    const height = Math.max(3, Math.min(22, Math.floor(380 / rows)));
    const room = plot.clientWidth, wide = Math.max(1, Math.min(cols, Math.floor(room)));
    const per = Math.ceil(cols / wide), pixels = Math.ceil(cols / per);
    const cell = Math.min(18, room / pixels);
    const alarms = paintCells(canvas, state, rows, cols, per, pixels, table, scale);
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
    showTip(tip, state, store, scale, statistics, at);
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

// Several columns may share a pixel: the code worth seeing is the largest one. Returns
// the colour of the mark above each pixel column, or nothing.
function paintCells(canvas, state, rows, cols, per, pixels, table, scale) {
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
      for (let col = pixel * per; col < Math.min(cols, (pixel + 1) * per); col += 1) code = Math.max(code, state.code(col, layer));
      out[layer * pixels + pixel] = table[code];
      worst = Math.max(worst, code);
    }
    if (worst >= INFINITE) alarms.push([pixel, scale.special["non-finite"]]);
    else if (worst > ZERO && levelOf(worst, scale) > scale.exploding) alarms.push([pixel, "#e05a00"]);
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
  for (let col = best; col < Math.min(cols, (pixel + 1) * state.per); col += 1) if (state.code(col, layer) > state.code(best, layer)) best = col;
  return best;
}

function ranked(state, at) {
  return [...(state.members[at.layer] || [])].sort((a, b) => state.code(at.col, b) - state.code(at.col, a));
}

function showTip(tip, state, store, scale, statistics, at) {
  tip.replaceChildren();
  tip.style.display = "block";
  make("b", "", tip, `${state.layers[at.layer]}, ${stepsText(store, at.col)}`);
  const line = (name, code) => {
    const one = make("div", "", tip);
    make("span", "", one, name).title = name;
    make("span", code >= INFINITE ? "ftlab-bad" : "", one, words(code, scale));
  };
  line(`${statistics[state.statistic]} of the layer`, state.code(at.col, at.layer));
  const order = ranked(state, at);
  order.slice(0, 6).forEach((index) => line(state.parameters[index - state.layers.length].parameter, state.code(at.col, index)));
  if (order.length > 6) make("div", "ftlab-caption", tip, `and ${order.length - 6} smaller`);
  make("div", "ftlab-caption", tip, "click for the history");
}

function makeHistory(root, state, store, scale, statistics, ask) {
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
    const pen = inks(root);
    const value = (at) => { const level = levelOf(state.code(at, index), scale); return level === undefined || !Number.isFinite(level) ? NaN : level; };
    const bad = (at) => (state.code(at, index) >= INFINITE ? 1 : 0);
    readout.textContent = `${statistics[state.statistic]} at ${stepsText(store, col)}: ${words(state.code(col, index), scale)}`;
    toColumn = drawChart(chart, box.clientWidth, 120, {
      ...pen, cols: store.cols, log: true, cursor: col, xText: (at) => stepsText(store, at),
      series: [{ value, color: "#0072b2", kind: "line", gaps: true }, { value: bad, color: scale.special["non-finite"], kind: "mark" }],
    });
    Object.assign(box.dataset, { index, col, code: state.code(col, index) });
  };
  return { paint };
}

export default { initialize({ model }) { columnStore(model, Uint16Array); }, render: renderHeat };
