// A mask in cells. Codes: mask_colours.py (coded); messages: mask_widget.py.
function decode(grid) {
  const bytes = Uint8Array.from(atob(grid.runs), (one) => one.charCodeAt(0));
  const cells = grid.shape[0] * grid.shape[1];
  const planes = [0, 1, 2, 3, 4].map(() => new Uint8Array(cells));
  for (let at = 0, cell = 0; at < bytes.length; at += 6) {
    const end = Math.min(cells, cell + bytes[at]);
    planes.forEach((plane, index) => plane.fill(bytes[at + 1 + index], cell, end));
    cell = end;
  }
  return { ...grid, planes };
}

const hexed = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
const shareText = (byte) => (byte === 0 ? "0 %" : byte === 255 ? "100 %" : byte === 1 ? "below 1 %" : `${Math.min(99, Math.max(1, Math.round((100 * byte) / 255)))} %`);

function element(tag, name, parent, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function renderMasks({ model, el }) {
  const spec = model.get("spec");
  const state = { row: spec.order[0], kind: spec.kinds.length ? spec.kinds[0].name : "", parts: [], grid: null, asked: 0, drag: null };
  const root = element("div", "ftlab-view ftlab-mask-view", el);
  const head = element("div", "ftlab-head", root);
  element("span", "ftlab-title", head, spec.title);
  element("span", "ftlab-caption", head, spec.caption);
  const rows = element("select", "", head);
  rows.setAttribute("aria-label", "row of the batch");
  spec.order.forEach((row) => { element("option", "", rows, `row ${row}: ${spec.rows[row].documents}`).value = row; });
  const kinds = element("span", "", head);
  const back = element("button", "ftlab-choice", head, "zoom out");
  const words = element("div", "ftlab-mask-words", root);
  const plot = element("div", "ftlab-mask-plot", root);
  const canvas = element("canvas", "", plot);
  const lines = element("canvas", "", plot);
  lines.style.cssText = "position:absolute;left:0;top:0;width:100%;height:100%;background:none;pointer-events:none;border-color:transparent";
  const frame = element("div", "ftlab-mask-frame", plot);
  const [top, bottom] = [element("span", "ftlab-mask-side", plot), element("span", "ftlab-mask-side", plot)];
  const axis = element("div", "ftlab-axis", plot);
  const [left, middle, right] = [0, 1, 2].map(() => element("span", "", axis));
  const key = element("div", "ftlab-legend", root);
  for (const [colour, text] of [["seen", "attended to"], ["bad", "attended to, illegal"], ["missing", "not attended to, but should be"], ["", "masked"]]) {
    const item = element("span", "", key);
    element("i", "ftlab-swatch", item).style.background = colour ? spec.colours[colour] : "var(--ftlab-shade)";
    item.append(text);
  }
  if (spec.closer) element("span", "", key, "drag to look closer");
  spec.remarks.forEach((text) => element("div", "ftlab-note", root, text));
  const tip = element("div", "ftlab-tip", root);
  canvas.setAttribute("role", "img");
  canvas.tabIndex = 0;
  top.style.top = "0";
  bottom.style.bottom = "18px";

  const name = () => `${state.row} ${state.kind}`;
  const ask = (part) => { state.asked += 1; state.waiting = `${state.asked} ${name()}`; model.send({ name: state.waiting, row: state.row, kind: state.kind, part }); };
  const choose = () => {
    state.parts = [];
    const known = model.get("grids")[name()];
    if (known) { state.grid = decode(known); paint(); } else ask(null);
  };
  spec.kinds.forEach((one) => {
    const button = element("button", "ftlab-choice", kinds, one.name);
    button.title = one.words;
    button.onclick = () => { state.kind = one.name; choose(); };
  });
  rows.onchange = () => { state.row = Number(rows.value); choose(); };
  back.onclick = () => { state.parts.pop(); const part = state.parts[state.parts.length - 1]; if (part) ask(part); else choose(); };
  const hear = () => { const { name: told, grid } = model.get("answer"); if (told && told === state.waiting) { state.grid = decode(grid); paint(); } };
  model.on("change:answer", hear);

  const colours = () => [spec.colours.seen, spec.colours.missing, spec.colours.bad].map(hexed);
  const paint = () => {
    const { grid } = state;
    [...kinds.children].forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === state.kind)));
    back.style.display = state.parts.length ? "" : "none";
    words.textContent = spec.words[name()] || "";
    canvas.setAttribute("aria-label", words.textContent);
    if (!grid) return;
    const [down, across] = grid.shape;
    canvas.width = across; canvas.height = down;
    const [seen, missing, bad] = colours();
    const pen = canvas.getContext("2d"), image = pen.createImageData(across, down), out = image.data;
    const dark = isDark(root), ground = dark ? [38, 38, 38] : [243, 243, 243];
    for (let cell = 0; cell < down * across; cell += 1) {
      const [legal, padding, other, future, gone] = grid.planes.map((plane) => plane[cell]);
      const wrong = Math.min(255, padding + future + (grid.sure ? other : 0));
      const pixel = [...ground];
      mix(pixel, seen, Math.min(255, legal + (grid.sure ? 0 : other)), 0.15);
      mix(pixel, missing, gone, 0.35);
      mix(pixel, bad, wrong, 0.35);
      out.set([...pixel, 255], cell * 4);
    }
    pen.putImageData(image, 0, 0);
    [top.textContent, bottom.textContent] = [String(grid.queries[0]), String(grid.queries[1] - 1)];
    [left.textContent, middle.textContent, right.textContent] = [String(grid.keys[0]), "key (token); queries go down", String(grid.keys[1] - 1)];
    canvas.style.aspectRatio = `${grid.keys[1] - grid.keys[0]} / ${grid.queries[1] - grid.queries[0]}`;
    paintLines();
    Object.assign(root.dataset, { row: state.row, kind: state.kind, cells: down * across, zoom: state.parts.length, queries: grid.queries.join("-") });
  };
  const paintLines = () => {
    const { grid } = state;
    if (!grid || !canvas.clientWidth) return;
    const ratio = window.devicePixelRatio || 1, wide = canvas.clientWidth, high = canvas.clientHeight;
    lines.width = wide * ratio; lines.height = high * ratio;
    lines.style.height = `${high}px`;
    const pen = lines.getContext("2d");
    pen.scale(ratio, ratio);
    const { starts, padding, sure } = spec.rows[state.row];
    const ahead = grid.ahead ?? 0;
    const x = (at) => ((at - grid.keys[0]) / (grid.keys[1] - grid.keys[0])) * wide;
    const y = (at) => ((at - ahead - grid.queries[0]) / (grid.queries[1] - grid.queries[0])) * high;
    pen.strokeStyle = inks(root).ink;
    pen.globalAlpha = 0.75;
    pen.lineWidth = 0.8;
    pen.setLineDash(sure ? [] : [3, 3]);
    const inside = starts.slice(1).filter((at) => at > grid.keys[0] && at < grid.keys[1]);
    if (inside.length < wide / 4) for (const at of inside) { line(pen, x(at), 0, x(at), high); line(pen, 0, y(at), wide, y(at)); }
    pen.setLineDash([]);
    pen.globalAlpha = 0.35;
    for (let at = 0; at + 1 < padding.length; at += 2) {
      hatch(pen, x(padding[at]), 0, x(padding[at + 1]), high);
      hatch(pen, 0, y(padding[at]), wide, y(padding[at + 1]));
    }
  };
  const spot = (event) => {
    const box = canvas.getBoundingClientRect(), { grid } = state;
    if (!grid) return null;
    const at = (low, high, part) => Math.min(high - 1, Math.max(low, Math.floor(low + part * (high - low))));
    const query = at(...grid.queries, (event.clientY - box.top) / box.height), keyAt = at(...grid.keys, (event.clientX - box.left) / box.width);
    const line = Math.floor((query - grid.queries[0]) / grid.cell[0]), column = Math.floor((keyAt - grid.keys[0]) / grid.cell[1]);
    return { query, key: keyAt, line, column, index: line * grid.shape[1] + column };
  };
  const range = (span, cell, at) => { const low = span[0] + at * cell, high = Math.min(span[1], low + cell) - 1; return low === high ? String(low) : `${low}-${high}`; };
  const show = (event) => {
    const at = spot(event), { grid } = state;
    if (!at) return;
    tip.replaceChildren();
    tip.style.display = "block";
    element("b", "", tip, `queries ${range(grid.queries, grid.cell[0], at.line)}, keys ${range(grid.keys, grid.cell[1], at.column)}`);
    const names = ["attended to, legal", ...spec.faults];
    let any = false;
    names.forEach((text, index) => {
      const byte = grid.planes[index][at.index];
      if (!byte) return;
      any = true;
      const one = element("div", "", tip);
      element("span", "", one, index === 2 && !grid.sure ? "between what may be documents" : text);
      element("span", index && (index !== 2 || grid.sure) ? "ftlab-bad" : "", one, shareText(byte));
    });
    if (!any) element("div", "", tip, "masked");
    const box = root.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${event.clientY - box.top + 16}px`;
  };
  canvas.onpointerdown = (event) => { if (spec.closer) { state.drag = { from: spot(event), x: event.clientX, y: event.clientY }; canvas.setPointerCapture(event.pointerId); } };
  canvas.onpointermove = (event) => {
    show(event);
    if (!state.drag) return;
    const box = plot.getBoundingClientRect(), { x, y } = state.drag;
    Object.assign(frame.style, { display: "block", left: `${Math.min(x, event.clientX) - box.left}px`, top: `${Math.min(y, event.clientY) - box.top}px`, width: `${Math.abs(event.clientX - x)}px`, height: `${Math.abs(event.clientY - y)}px` });
  };
  canvas.onpointerup = (event) => {
    const { drag } = state;
    state.drag = null;
    frame.style.display = "none";
    if (!drag || Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y) < 8) return;
    const to = spot(event), span = (one, two) => [Math.min(one, two), Math.max(one, two) + 1];
    state.parts.push([span(drag.from.query, to.query), span(drag.from.key, to.key)]);
    ask(state.parts[state.parts.length - 1]);
  };
  canvas.onpointerleave = () => { tip.style.display = "none"; };
  canvas.onkeydown = (event) => { if (event.key === "Escape" && state.parts.length) back.onclick(); };
  const watcher = new ResizeObserver(paintLines);
  watcher.observe(canvas);
  choose();
  return () => { watcher.disconnect(); model.off("change:answer", hear); };
}

function mix(pixel, tone, byte, least) {
  if (!byte) return;
  const part = least + (1 - least) * (byte / 255);
  for (let at = 0; at < 3; at += 1) pixel[at] = pixel[at] * (1 - part) + tone[at] * part;
}

function isDark(root) {
  const [red, green, blue] = getComputedStyle(root).color.match(/[\d.]+/g).map(Number);
  return red + green + blue > 382;
}

function line(pen, x0, y0, x1, y1) { pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1); pen.stroke(); }

function hatch(pen, x0, y0, x1, y1) {
  pen.save();
  pen.beginPath(); pen.rect(x0, y0, x1 - x0, y1 - y0); pen.clip();
  for (let at = x0 - (y1 - y0); at < x1; at += 6) line(pen, at, y1, at + (y1 - y0), y0);
  pen.restore();
}

export default { render: renderMasks };
