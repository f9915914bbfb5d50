// Windows of tokens as token_codes.py writes them, and how they fall into lines.
function columnOf(view, Type) {
  if (!view) return null;
  const bytes = view.buffer ? view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) : view;
  return new Type(bytes);
}

function readWindow(made) {
  const head = made.head;
  const read = {
    ...head,
    index: columnOf(made.index, Uint16Array), flags: columnOf(made.flags, Uint8Array),
    labels: columnOf(made.labels, Uint16Array), positions: columnOf(made.positions, Int32Array),
    segments: columnOf(made.segments, Int16Array), weights: columnOf(made.weights, Float32Array),
    losses: columnOf(made.losses, Float32Array),
    turnOf: new Int32Array(head.stop - head.start).fill(-1),
  };
  head.turns.forEach(([from, to], number) => read.turnOf.fill(number, from - head.start, to - head.start));
  return read;
}

const KIND = ["context", "trained", "padding", "odd"];
const KIND_WORDS = {
  trained: "trained: the loss counts it", context: "read, not trained",
  padding: "padding: attention 0", odd: "attention 0, but trained",
};

// All that is known of one token, by its place in the window.
function factsOf(read, at) {
  const [id, text, piece, special] = read.pieces[read.index[at]];
  const flags = read.flags[at], turn = read.turns[read.turnOf[at]];
  const shown = read.texts[String(read.start + at)] ?? text;
  const labelAt = (spot) => (read.labels ? read.pieces[read.labels[spot]] : spot < read.index.length ? read.pieces[read.index[spot]] : null);
  const learns = flags & 8 ? labelAt(at + 1) : null;
  return {
    at: read.start + at, id, shown, piece: piece || text, special,
    kind: KIND[flags & 3], labelled: Boolean(flags & 4), trained: Boolean(flags & 1), label: flags & 1 ? labelAt(at) : null,
    learns, attention: flags & 16 ? (flags & 32 ? 1 : 0) : null,
    role: turn ? turn[2] : "", message: turn ? turn[3] : -1, part: turn ? turn[4] : "",
    position: read.positions ? read.positions[at] : null,
    segment: read.segments ? read.segments[at] : null,
    weight: read.weights ? read.weights[at] : null,
    loss: read.losses ? read.losses[at] : NaN,
  };
}

// Which tokens of a window are shown: a Uint8Array with 1 for shown, 2 for found.
function chosen(read, want, high) {
  const size = read.index.length, keep = new Uint8Array(size).fill(1);
  const drop = (test) => { for (let at = 0; at < size; at += 1) if (keep[at] && !test(at)) keep[at] = 0; };
  const kind = (at) => KIND[read.flags[at] & 3];
  if (want.show === "trained") drop((at) => read.flags[at] & 1);
  if (want.show === "not trained") drop((at) => kind(at) === "context");
  if (want.show === "special") drop((at) => read.pieces[read.index[at]][3]);
  if (want.show === "padding") drop((at) => read.flags[at] & 2);
  if (want.show === "high") drop((at) => read.losses && read.losses[at] > high);
  if (want.role) drop((at) => read.turnOf[at] >= 0 && (read.turns[read.turnOf[at]][2] || "no role") === want.role);
  if (want.search) {
    const hits = found(read, want.search);
    drop((at) => hits[at]);
    for (let at = 0; at < size; at += 1) if (keep[at] && hits[at]) keep[at] = 2;
    if (want.show === "all" && !want.role) { // a few tokens around each hit
      for (let at = 0; at < size; at += 1) if (keep[at] === 2) for (let near = Math.max(0, at - 6); near < Math.min(size, at + 7); near += 1) keep[near] ||= 1;
    }
  }
  return keep;
}

// Tokens that a text lies on, which may go over several; or those with an id.
function found(read, search) {
  const size = read.index.length, hits = new Uint8Array(size);
  const id = /^\s*\d+\s*$/.test(search) ? Number(search) : null;
  const wanted = search.replaceAll(" ", "·").toLowerCase();
  const starts = new Int32Array(size + 1), parts = [];
  for (let at = 0, length = 0; at < size; at += 1) {
    const entry = read.pieces[read.index[at]];
    if (id !== null && entry[0] === id) hits[at] = 1;
    const text = (read.texts[String(read.start + at)] ?? entry[1]).toLowerCase();
    const own = text === "⋯" ? "" : text;
    starts[at] = length;
    parts.push(own);
    length += own.length;
    starts[at + 1] = length;
  }
  const whole = parts.join("");
  let token = 0;
  for (let from = whole.indexOf(wanted); from >= 0; from = whole.indexOf(wanted, from + wanted.length)) {
    while (token < size && starts[token + 1] <= from) token += 1;
    for (let at = token; at < size && starts[at] < from + wanted.length; at += 1) hits[at] = 1;
  }
  return hits;
}

// Lines of a page `width` pixels wide. A line is a heading {title}, or {first, items: [[at, width]]}.
function linesOf(read, keep, width, measure) {
  const lines = [];
  let line = null, used = 0, last = -1, message = null, segment = null;
  const heading = (title) => { lines.push({ title }); line = null; };
  for (let at = 0; at < read.index.length; at += 1) {
    if (!keep[at]) continue;
    if (read.segments && read.segments[at] !== segment) {
      segment = read.segments[at];
      message = null;
      heading(segment < 0 ? { segment: "padding" } : { segment: `document ${segment}` });
    }
    const turn = read.turns[read.turnOf[at]];
    const own = turn ? `${turn[2]} ${turn[3]}` : "";
    if (own !== (message ?? "")) {
      if (turn) heading({ role: turn[2] || "no role", message: turn[3] });
      else line = null;
      message = own;
    }
    const text = read.texts[String(read.start + at)] ?? read.pieces[read.index[at]][1];
    const wide = Math.min(width, measure(text));
    const gap = last >= 0 && at !== last + 1 && line !== null;
    if (!line || used + wide + (gap ? 16 : 0) > width) { line = { items: [] }; lines.push(line); used = 0; }
    line.items.push([at, wide, gap && line.items.length > 0]);
    used += wide + (gap ? 16 : 0);
    last = at;
    if (text.endsWith("↵")) line = null;
  }
  return lines;
}
