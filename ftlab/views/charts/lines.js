// Panels of line charts over steps. Matrix rows: the series; see lines.py (Panel).
function renderLines({ model, el }) {
  const store = columnStore(model, Float32Array);
  const root = make("div", "ftlab-view ftlab-lines-view", el);
  const head = make("div", "ftlab-head", root);
  const title = make("span", "ftlab-title", head);
  const caption = make("span", "ftlab-caption", head);
  const key = make("span", "ftlab-keys", head);
  const empty = make("div", "ftlab-empty", root, "Nothing recorded yet.");
  const grid = make("div", "ftlab-panels", root);
  const rest = make("div", "ftlab-note", root);
  const state = { cursor: -1, panels: [], spec: null, inks: null };

  const build = () => {
    state.spec = model.get("spec");
    const { panels, compact, minimum } = state.spec;
    title.textContent = state.spec.title;
    grid.replaceChildren();
    key.replaceChildren();
    const fill = compact && panels.length > 4 ? "auto-fill" : "auto-fit";
    grid.style.gridTemplateColumns = `repeat(${fill}, minmax(min(${minimum}px, 100%), 1fr))`;
    if (compact && panels.length) keyOf(panels[0], key, () => true);
    state.panels = panels.map((panel) => buildPanel(panel, grid, compact, store, state, () => life.ask()));
  };
  const paint = () => {
    if (state.spec !== model.get("spec")) build();
    const { compact } = state.spec;
    const shown = store.cols > 0 && state.panels.length > 0;
    empty.style.display = shown ? "none" : "";
    grid.style.display = shown ? "" : "none";
    Object.assign(root.dataset, { cols: store.cols, rows: store.rows, stride: store.stride, start: store.start, messages: store.messages, bytes: store.bytes, panels: state.panels.length });
    const notes = model.get("notes");
    rest.textContent = notes.slice(state.panels.length).join(" ");
    if (!shown) return;
    caption.textContent = `steps ${store.start}-${store.stepOf(store.cols - 1)}` + (store.stride > 1 ? `, ${store.stride} steps a point` : "");
    const pen = inks(root);
    const range = compact ? sharedRange(state.panels, store.cols) : undefined;
    state.panels.forEach((panel, index) => panel.paint(pen, notes[index] || "", range));
  };
  const life = paintOn(store, root, paint);
  model.on("change:spec", life.ask);
  return () => { model.off("change:spec", life.ask); life.stop(); };
}

const DECADES = 4; // as in small_multiples.py: smaller norms stand at the bottom

function sharedRange(panels, cols) {
  const found = panels.map((panel) => rangeOf(panel.series, cols, panel.log)).filter(Boolean);
  if (!found.length) return undefined;
  const high = Math.max(...found.map((one) => one[1]));
  return [Math.max(Math.min(...found.map((one) => one[0])), high - DECADES), high];
}

function keyOf(panel, into, seen) {
  for (const series of panel.series) {
    if (series.kind === "high" || !series.label || !seen(series)) continue;
    const item = make("span", "ftlab-key", into);
    if (series.kind === "mark") { item.append(`▼ ${series.label} `); item.style.color = series.colour; continue; }
    const swatch = make("i", "", item);
    swatch.style.borderTopColor = series.colour;
    if (series.kind === "low") Object.assign(swatch.style, { borderTopWidth: "8px", opacity: 0.3, verticalAlign: "0" });
    if (series.kind === "plan") Object.assign(swatch.style, { borderTopWidth: "6px", opacity: 0.3, verticalAlign: "1px" });
    if (series.kind === "dots") Object.assign(swatch.style, { width: "6px", borderTopWidth: "6px", borderRadius: "3px", verticalAlign: "1px" });
    item.append(`${series.label} `);
  }
}

function buildPanel(panel, grid, compact, store, state, ask) {
  const box = make("div", "ftlab-panel-box", grid);
  const head = make("div", "ftlab-panel-head", box);
  make("b", "", head, panel.unit && !compact ? `${panel.title} (${panel.unit})` : panel.title);
  const readout = make("span", "", head);
  const key = make("span", "ftlab-keys", head);
  const chart = make("canvas", "ftlab-chart", box);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${panel.title} over steps`);
  const series = panel.series.map((one) => ({ ...one, color: one.colour, value: (col) => store.at(col, one.row) }));
  let toColumn = () => 0, keyed = "";
  chart.onmousemove = (event) => { state.cursor = toColumn(event.clientX - chart.getBoundingClientRect().left); ask(); };
  chart.onmouseleave = () => { state.cursor = -1; ask(); };
  const seen = (one) => {
    for (let col = 0; col < store.cols; col += 1) { const value = store.at(col, one.row); if (one.kind === "mark" ? value > 0 : !Number.isNaN(value)) return true; }
    return false;
  };
  const paint = (pen, note, range) => {
    const at = Math.min(state.cursor, store.cols - 1);
    const said = series.filter((one) => one.kind === "line" || one.kind === "plan" || one.kind === "dots").map((one) => [one.label, one.value(at)]).filter(([, value]) => !Number.isNaN(value));
    readout.textContent = at >= 0 ? `${stepsText(store, at)}: ${said.map(([label, value]) => `${label} ${number(value)}`).join(", ") || "-"}` : note;
    if (!compact) {
      const now = panel.series.filter((one) => seen(one)).map((one) => one.label).join();
      if (now !== keyed) { key.replaceChildren(); keyOf(panel, key, seen); keyed = now; }
    }
    toColumn = drawChart(chart, box.clientWidth, compact ? 84 : 150, { ...pen, series, cols: store.cols, log: panel.log, floor: panel.floor, compact, range, cursor: at, xText: (col) => String(store.stepOf(col)) });
  };
  return { paint, series, log: panel.log };
}

export default { initialize({ model }) { columnStore(model, Float32Array); }, render: renderLines };
