// Line charts over steps, drawn on a canvas; used by heat.js (a history) and lines.js.
function ticks(low, high, log) {
  if (log) {
    const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
    const every = Math.max(1, Math.ceil((last - first) / 3));
    const found = [];
    for (let power = first; power <= last; power += every) found.push([power, `1e${power}`]);
    if (found.length > 1) return found;
    const round = [];
    for (let power = Math.floor(low); power <= high; power += 1) for (const factor of [1, 2, 5]) round.push(power + Math.log10(factor));
    const inside = round.filter((at) => at >= low && at <= high);
    return (inside.length > 1 ? inside : [low, high]).map((at) => [at, number(10 ** at)]);
  }
  const rough = (high - low) / 4 || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) found.push([at, number(Math.abs(at) < step / 1e6 ? 0 : at)]);
  return found;
}

// The range of everything that is drawn: powers of ten for log scales.
function rangeOf(series, cols, log) {
  let low = Infinity, high = -Infinity;
  for (const one of series) {
    if (one.kind === "mark") continue;
    for (let col = 0; col < cols; col += 1) {
      const value = one.value(col);
      if (!Number.isFinite(value) || (log && value <= 0)) continue;
      const y = log ? Math.log10(value) : value;
      if (y < low) low = y;
      if (y > high) high = y;
    }
  }
  return low > high ? null : [low, high];
}

function padded([low, high], log) {
  if (log) return high - low < 1 ? [low - 0.5 + (high - low) / 2, high + 0.5 - (high - low) / 2] : [low - 0.1, high + 0.1];
  if (!high && !low) return [0, 1];
  if (high === low) return [low - (Math.abs(low) || 1) * 0.5, high + (Math.abs(high) || 1) * 0.5];
  return [low - (high - low) * 0.05, high + (high - low) * 0.05];
}

// chart: {series: [{value(col), color, kind: "line"|"plan"|"dots"|"mark"|"low"|"high"}], cols, log,
//         floor, range, cursor, ink, soft, line, compact, zeroBelow, xText(col)}
// "low" and "high" together are a shaded band; a "mark" is a tick wherever its value is > 0.
function drawChart(canvas, width, height, chart) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const left = chart.compact ? 34 : 46, right = width - 6, bottom = height - 15;
  const marks = chart.series.filter((one) => one.kind === "mark");
  const top = 10 + 9 * Math.max(0, marks.length - 1);
  const found = chart.range || rangeOf(chart.series, chart.cols, chart.log);
  if (found && Number.isFinite(chart.floor)) found[0] = Math.min(found[0], chart.floor);
  const [low, high] = padded(found || [0, 1], chart.log);
  const across = Math.max(1, chart.cols - 1);
  const x = (col) => left + ((right - left) * col) / across;
  const y = (value) => {
    const scaled = chart.log ? Math.log10(value) : value;
    return bottom - ((bottom - top) * (scaled - low)) / (high - low);
  };
  pen.font = "10px system-ui, sans-serif";
  pen.fillStyle = chart.soft;
  pen.strokeStyle = chart.line;
  pen.lineWidth = 1;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const [at, text] of found ? ticks(low, high, chart.log) : []) {
    const height_ = Math.round(y(chart.log ? 10 ** at : at)) + 0.5;
    pen.beginPath(); pen.moveTo(left, height_); pen.lineTo(right, height_); pen.stroke();
    pen.fillText(text, left - 4, height_);
  }
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  pen.fillText(chart.xText(0), left, height - 3);
  pen.textAlign = "right";
  if (chart.cols > 1) pen.fillText(chart.xText(chart.cols - 1), right, height - 3);
  band(pen, chart, x, y, bottom);
  for (const one of chart.series) {
    if (one.kind === "mark") drawMarks(pen, one, chart.cols, x, 9 * (marks.length - 1 - marks.indexOf(one)));
    else if (one.kind !== "low" && one.kind !== "high") drawLine(pen, one, chart, x, y, bottom);
  }
  if (chart.cursor !== undefined && chart.cursor >= 0) {
    pen.strokeStyle = chart.soft;
    pen.beginPath(); pen.moveTo(x(chart.cursor), top); pen.lineTo(x(chart.cursor), bottom); pen.stroke();
  }
  return (px) => Math.min(chart.cols - 1, Math.max(0, Math.round(((px - left) / (right - left)) * across)));
}

function drawMarks(pen, one, cols, x, down) {
  pen.fillStyle = one.color;
  for (let col = 0; col < cols; col += 1) {
    if (!(one.value(col) > 0)) continue;
    const at = x(col);
    pen.beginPath(); pen.moveTo(at - 4, down + 1); pen.lineTo(at + 4, down + 1); pen.lineTo(at, down + 9); pen.fill();
  }
}

function drawLine(pen, one, chart, x, y, bottom) {
  pen.strokeStyle = pen.fillStyle = one.color;
  pen.lineWidth = one.kind === "plan" ? 6 : chart.compact ? 1.4 : 1.6;
  pen.globalAlpha = one.kind === "plan" ? 0.3 : 1;
  let points = 0;
  pen.beginPath();
  let last = null;
  for (let col = 0; col < chart.cols; col += 1) {
    const value = one.value(col);
    if (!Number.isFinite(value)) { if (one.gaps) last = null; continue; }
    const at = chart.log && value <= 0 ? bottom : Math.min(bottom, y(value));
    if (one.kind === "dots") { pen.moveTo(x(col) + 3, at); pen.arc(x(col), at, 3, 0, 7); }
    else if (last === null) pen.moveTo(x(col), at);
    else pen.lineTo(x(col), at);
    last = [x(col), at];
    points += 1;
  }
  if (one.kind === "dots") pen.fill();
  else pen.stroke();
  if (points === 1 && last) { pen.beginPath(); pen.arc(last[0], last[1], 2.5, 0, 7); pen.fill(); }
  pen.globalAlpha = 1;
}

function band(pen, chart, x, y, bottom) {
  const low = chart.series.find((one) => one.kind === "low");
  const high = chart.series.find((one) => one.kind === "high");
  if (!low || !high) return;
  const inside = [];
  for (let col = 0; col < chart.cols; col += 1) {
    const bounds = [low.value(col), high.value(col)];
    if (bounds.every((value) => Number.isFinite(value) && (!chart.log || value > 0))) inside.push([x(col), Math.min(bottom, y(bounds[0])), Math.min(bottom, y(bounds[1]))]);
  }
  if (!inside.length) return;
  pen.globalAlpha = 0.22;
  pen.fillStyle = low.color;
  pen.beginPath();
  inside.forEach(([at, down], index) => (index ? pen.lineTo(at, down) : pen.moveTo(at, down)));
  inside.reverse().forEach(([at, , up]) => pen.lineTo(at, up));
  pen.fill();
  pen.globalAlpha = 1;
}

function inks(el) {
  const style = getComputedStyle(el);
  const ink = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  return { ink: ink("--ftlab-ink", "#222"), soft: ink("--ftlab-soft", "#666"), line: ink("--ftlab-line", "#ddd"), bad: ink("--ftlab-error", "#c4003d") };
}
