// The debugger's panel: HTML from Python (escaped there) above and below its buttons.
// Keys work only while the panel or something in it has the focus.
function renderPanel({ model, el }) {
  const root = make("div", "ftlab-p-panel", el);
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "ftlab debugger");
  keepKeys(root);
  const head = make("div", "", root);
  head.setAttribute("aria-live", "polite");
  const tools = make("div", "ftlab-p-tools", root);
  const body = make("div", "", root);
  let sent = false;

  const send = (one) => {
    if (sent || !one.on) return;
    sent = true; // a key that is held down asks once per stop
    model.send({ command: one.command });
  };
  const buttons = model.get("buttons").map((one) => {
    const button = make("button", "", tools);
    keepKeys(button);
    button.title = one.shown ? `${one.tip} (${one.shown})` : one.tip;
    if (one.key) button.setAttribute("aria-keyshortcuts", one.key);
    button.onclick = () => send(now(one.command));
    return button;
  });
  // Nothing here may move when the panel gets the focus: a click would miss its button.
  make("span", "", tools, "keys, once clicked in here: ← → by op, with Shift by module");
  const now = (command) => model.get("buttons").find((one) => one.command === command);

  root.addEventListener("keydown", (event) => {
    const key = keyOf(event);
    const one = model.get("buttons").find((each) => key && each.key === key);
    if (!one) return;
    event.preventDefault();
    event.stopPropagation();
    send(one);
  });
  const paint = () => {
    sent = false;
    fill(head, model.get("head"));
    fill(body, model.get("body"));
    model.get("buttons").forEach((one, index) => {
      const button = buttons[index];
      button.className = `ftlab-${one.command.replaceAll(" ", "-")} ftlab-${one.kind}`;
      button.textContent = one.label;
      if (one.hidden && document.activeElement === button) root.focus();
      button.hidden = one.hidden;
      // A disabled button would lose the focus, and with it the keys.
      button.setAttribute("aria-disabled", String(!one.on));
    });
  };
  model.on("change:stamp", paint);
  paint();
  return () => model.off("change:stamp", paint);
}

export default { render: renderPanel };
