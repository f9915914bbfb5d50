// A replay: HTML from Python (escaped there) around a slider and buttons. Whatever has a
// data-at leads to that operation. Keys work only while the focus is in here.
function renderReplay({ model, el }) {
  const root = make("div", "ftlab-p-panel ftlab-r-panel", el);
  root.tabIndex = 0;
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "ftlab replay");
  keepKeys(root);
  const head = make("div", "", root);
  const strip = make("div", "", root);
  const slider = make("input", "ftlab-r-slider", root);
  slider.type = "range";
  slider.min = 0;
  slider.max = model.get("count") - 1;
  slider.setAttribute("aria-label", "operation");
  keepKeys(slider);
  const tools = make("div", "ftlab-p-tools", root);
  const body = make("div", "", root);
  body.setAttribute("aria-live", "polite");
  let waits = false;
  let next = null;

  // A slider that is dragged asks for the newest place only, once the last has come.
  const ask = (message) => {
    if (waits) {
      if ("at" in message) next = message;
      return;
    }
    waits = true;
    model.send(message);
  };
  const lead = (event) => {
    const at = event.target.closest?.("[data-at]")?.dataset.at;
    if (at !== undefined) ask({ at: Number(at) });
  };
  strip.addEventListener("click", lead);
  body.addEventListener("click", lead);
  slider.addEventListener("input", () => ask({ at: Number(slider.value) }));
  for (const one of model.get("buttons")) {
    const button = make("button", "", tools, one.command);
    keepKeys(button);
    button.title = `${one.tip} (${one.shown})`;
    button.setAttribute("aria-keyshortcuts", one.key);
    button.onclick = () => ask({ command: one.command });
  }
  make("span", "", tools, "keys, once clicked in here: ← → by op, with Shift by module, Home, End");

  root.addEventListener("keydown", (event) => {
    const one = model.get("buttons").find((each) => each.key === keyOf(event));
    if (!one) return;
    event.preventDefault();
    event.stopPropagation();
    ask({ command: one.command });
  });
  const paint = () => {
    waits = false;
    const at = model.get("at");
    const left = body.querySelector(".ftlab-r-scroll")?.scrollTop;
    fill(head, model.get("head"));
    if (!strip.firstChild) strip.innerHTML = model.get("strip");
    for (const bar of strip.querySelectorAll("[data-first]")) {
      bar.classList.toggle("ftlab-r-later", Number(bar.dataset.first) > at);
    }
    fill(body, model.get("body"));
    const scroll = body.querySelector(".ftlab-r-scroll");
    if (scroll && left !== undefined) scroll.scrollTop = left;
    show(scroll);
    slider.value = at;
    if (next) {
      const wanted = next;
      next = null;
      ask(wanted);
    }
  };
  // The module that the replay stands in stays in sight.
  const show = (scroll) => {
    const here = [...(scroll?.querySelectorAll(".ftlab-r-here") ?? [])].pop();
    if (!here) return;
    const top = here.offsetTop;
    if (top < scroll.scrollTop || top > scroll.scrollTop + scroll.clientHeight - 40) {
      scroll.scrollTop = top - scroll.clientHeight / 2;
    }
  };
  model.on("change:stamp", paint);
  paint();
  return () => model.off("change:stamp", paint);
}

export default { render: renderReplay };
