// The browser half of columns_widget.py: owns a widget's matrix, column by column.
// A *store* belongs to the model, so displays may come and go; `subs` are their paints.
const STORES = new WeakMap();

function bytesOf(view) {
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
}

function columnStore(model, Type) {
  const known = STORES.get(model);
  if (known) return known;
  const store = {
    rows: 0, cols: 0, start: 0, stride: 1, epoch: -1,
    data: new Type(0), messages: 0, bytes: 0, subs: new Set(),
    at(col, row) { return this.data[col * this.rows + row]; },
    steps: null, // of each column, where columns are measurements at uneven steps
    stepOf(col) { return this.steps ? this.steps[col] : this.start + col * this.stride; },
    // the last step that a column stands for
    lastOf(col) { if (!this.steps) return this.stepOf(col + 1) - 1; return this.stride > 1 && col + 1 < this.cols ? this.steps[col + 1] - 1 : this.steps[col]; },
    notify() { this.subs.forEach((paint) => paint()); },
  };
  const reserve = (cols) => {
    if (store.data.length >= cols * store.rows) return;
    const grown = new Type(Math.max(cols, 2 * store.cols, 64) * store.rows);
    grown.set(store.data);
    store.data = grown;
  };
  const load = () => {
    const view = model.get("snap");
    if (!view || view.byteLength < 32) return;
    const buffer = bytesOf(view);
    const [epoch, rows, cols, start, stride, uneven] = new Int32Array(buffer, 0, 6);
    Object.assign(store, { epoch, rows, cols, start, stride });
    store.steps = uneven ? [...new Int32Array(buffer, 32, cols)] : null;
    store.data = new Type(buffer, 32 + (uneven ? 4 * cols : 0));
    store.notify();
  };
  load();
  model.on("change:snap", load);
  model.on("change:notes", () => store.notify());
  model.on("msg:custom", (message, buffers) => {
    if (message.t !== "columns" || message.epoch !== store.epoch) return;
    if (message.rows !== store.rows) return;
    const block = new Type(bytesOf(buffers[0]));
    const cols = message.at + block.length / store.rows;
    reserve(cols);
    store.data.set(block, message.at * store.rows);
    if (message.steps) store.steps.splice(message.at, message.steps.length, ...message.steps);
    store.cols = Math.max(store.cols, cols);
    store.messages += 1;
    store.bytes += block.byteLength;
    store.notify();
  });
  STORES.set(model, store);
  return store;
}

// Runs `paint` once per animation frame at most, and whenever the element's width
// changes; never while it is folded away, which is a width of 0.
function paintOn(store, el, paint) {
  let frame = 0;
  const ask = () => {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; if (el.clientWidth) paint(); });
  };
  store.subs.add(ask);
  const observer = new ResizeObserver(ask);
  observer.observe(el);
  const theme = new MutationObserver(ask);
  theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"] });
  ask();
  return {
    ask,
    stop() { store.subs.delete(ask); observer.disconnect(); theme.disconnect(); cancelAnimationFrame(frame); },
  };
}

function make(tag, className, parent, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function number(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
  return text.replace("e+", "e");
}

function stepsText(store, col) {
  const first = store.stepOf(col);
  const last = store.lastOf(col);
  return first === last ? `step ${first}` : `steps ${first}-${last}`;
}
