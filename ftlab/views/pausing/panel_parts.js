// What the panels share: elements, keys, and HTML from Python (escaped there).
function make(tag, kind, parent, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function keyOf(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return "";
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  return (event.shiftKey ? "Shift+" : "") + key;
}

// Whatever has the focus must say so itself, else the notebook takes its keys: B would
// insert a cell, D twice delete one.
function keepKeys(one) {
  one.dataset.lmSuppressShortcuts = "true";
}

// What was unfolded stays unfolded when the text changes.
function fill(box, text) {
  const open = [...box.querySelectorAll("details[open][data-key]")].map((one) => one.dataset.key);
  box.innerHTML = text;
  for (const one of box.querySelectorAll("details[data-key]")) one.open = open.includes(one.dataset.key);
  box.querySelectorAll("summary").forEach(keepKeys);
}
