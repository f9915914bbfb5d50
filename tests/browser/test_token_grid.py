"""The token grid in a page: lines on screen, filters, hover, pins, foreign text."""

import base64
import contextlib
import json

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from ftlab.records.token_row import Piece, TokenBatch, TokenRow, Turn
from ftlab.views.front_end import front_end
from ftlab.views.tokens.tokens import TokenView
from tests.browser.lab import CHROMIUM, SCREENSHOTS, chromium, notebook, opened

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
WORDS = [
    *("<pad>", "<s>", "</s>", "\n", "<|user|>", "<|assistant|>", HOSTILE),
    *(
        "مرحبا",
        " بالعالم",
        "👩‍👩‍👧",
        " naïve",
        "\u200b",
        "\u202eevil",
        "def",
        "\t",
        "日本",
    ),
]
MODEL = """
const heard = [], listeners = [];
const revive = (value) => {
  if (value && value.b64 !== undefined) {
    const bytes = Uint8Array.from(atob(value.b64), (one) => one.charCodeAt(0));
    return new DataView(bytes.buffer);
  }
  if (value && value.constructor === Object) {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, revive(v)]));
  }
  return value;
};
const traits = revive(TRAITS);
const model = {
  get: (name) => traits[name], send: (content) => heard.push(content),
  on: (_, listener) => listeners.push(listener), off: () => {},
};
function answered(answer) {
  traits.answer = revive(answer);
  listeners.forEach((one) => one());
}
exported.render({ model, el: document.getElementById("here") });
"""
DARK = """body { background: #111; --jp-content-font-color1: #eee;
  --jp-content-font-color2: #aaa; --jp-layout-color1: #111; --jp-layout-color2: #222;
  --jp-border-color2: #444; }"""
LIGHT = "body { background: #fff; }"


def plain(value):
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


def pieces():
    made = {at: Piece(word, word) for at, word in enumerate(WORDS)}
    for at, kinds in ((0, "pad"), (1, "bos"), (2, "eos"), (4, "control"), (5, "stop")):
        made[at] = Piece(WORDS[at], WORDS[at], frozenset({kinds}))
    fresh = {at: f" word{at}" for at in range(len(WORDS), 3_000)}
    return made | {at: Piece(w.replace(" ", "Ġ"), w) for at, w in fresh.items()}


def conversation(length=8_000, seed=0):
    """Turns of 80 tokens, of which the answers are trained; padding at the end."""
    random = np.random.default_rng(seed)
    ids = random.integers(len(WORDS), 3_000, length)
    ids[20::40] = 3
    labels = np.full(length, -100)
    turns = []
    for number, start in enumerate(range(1, length - 100, 80)):
        role = ("user", "assistant")[number % 2]
        ids[start] = 4 + number % 2
        ids[start + 79] = 2
        ids[start + 3 : start + 14] = [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 3]
        text = slice(start + 1, start + 80)
        if role == "assistant":
            labels[text] = ids[text]
        turns.append(Turn(start, start + 1, role, number, "header"))
        turns.append(Turn(start + 1, start + 79, role, number, "text"))
        turns.append(Turn(start + 79, start + 80, role, number, "end"))
    ids[0] = 1
    attention = np.ones(length, np.int64)
    ids[turns[-1].end :] = 0
    attention[turns[-1].end :] = 0
    losses = np.full(length, np.nan, np.float32)
    losses[labels != -100] = random.exponential(1.0, (labels != -100).sum())
    return TokenRow(
        ids,
        attention,
        labels,
        np.arange(length),
        (labels != -100).astype(np.float32),
        losses=losses,
        turns=tuple(turns),
        source="row 17 of the dataset",
    )


def grid(*rows):
    special = {"bos": frozenset({1}), "eos": frozenset({2}), "pad": frozenset({0})}
    made = TokenBatch(rows, pieces(), special, (f"remark {HOSTILE}",))
    return TokenView(made).widget()


@contextlib.contextmanager
def shown(made, width=900, style=LIGHT):
    traits = {name: plain(getattr(made, name)) for name in ("spec", "windows")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        page = browser.new_page(viewport={"width": width, "height": 720})
        page.set_default_timeout(10_000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_content("<body style='margin: 0'><div id='here'></div></body>")
        page.add_style_tag(content=front_end("style.css", "tokens/tokens.css") + style)
        script = front_end("tokens/token_lines.js", "tokens/tokens.js")
        script = script.replace("export default", "const exported =")
        page.add_script_tag(
            content=script + MODEL.replace("TRAITS", json.dumps(traits))
        )
        page.locator(".ftlab-line").first.wait_for()
        yield page
        assert not errors
        browser.close()


def status(page):
    return page.get_by_role("status").inner_text()


def test_8000_tokens_scroll_and_only_what_is_seen_is_in_the_page():
    with shown(grid(conversation())) as page:
        assert status(page) == "8,000 of 8,000 tokens"
        scroll = page.locator(".ftlab-scroll")
        first = page.locator("[data-at]").first.get_attribute("data-at")
        assert first == "0"
        assert page.locator("[data-at]").count() < 600
        took = page.evaluate("""async () => {
          const box = document.querySelector(".ftlab-scroll");
          const frame = () => new Promise(requestAnimationFrame);
          const began = performance.now();
          for (let at = 0; at < 40; at += 1) {
            box.scrollTop = (box.scrollHeight * at) / 39;
            await frame(); await frame();
          }
          return (performance.now() - began) / 40;
        }""")
        assert took < 100
        page.locator('[data-at="7999"]').wait_for()
        assert page.locator("[data-at]").count() < 600
        assert scroll.evaluate("(box) => box.scrollWidth <= box.clientWidth")


def test_filters_and_search():
    with shown(grid(conversation())) as page:
        page.get_by_label("show").select_option("trained")
        kinds = page.locator(".ftlab-line .ftlab-tok")
        assert kinds.count() == page.locator(".ftlab-line .ftlab-trained").count() > 0
        assert status(page) == f"{79 * 49:,} of 8,000 tokens"
        page.get_by_label("show").select_option("high")
        assert page.locator(".ftlab-line .ftlab-high").count() == kinds.count() > 0
        page.get_by_label("show").select_option("padding")
        assert page.locator(".ftlab-line .ftlab-padding").count() == kinds.count() > 0
        page.get_by_label("show").select_option("special")
        assert page.locator(".ftlab-line .ftlab-special").count() == kinds.count() > 0
        page.get_by_label("show").select_option("all")
        page.get_by_label("role", exact=True).select_option("user")
        assert page.locator(".ftlab-line .ftlab-trained").count() == 0
        page.get_by_label("role", exact=True).select_option("")
        page.get_by_label("search for text or id").fill("مرحبا بالعالم")
        page.locator(".ftlab-line .ftlab-found").first.wait_for()
        found = page.locator(".ftlab-line .ftlab-found").all_inner_texts()
        assert found[:2] == ["مرحبا", "·بالعالم"]
        page.get_by_label("search for text or id").fill("15")
        page.locator(".ftlab-line .ftlab-found", has_text="日本").first.wait_for()


def test_hover_keyboard_and_pin_show_all_fields():
    row = conversation()
    with shown(grid(row)) as page:
        facts = page.locator(".ftlab-facts")
        page.locator('[data-at="90"]').hover()
        said = facts.inner_text()
        for word in ("position\n90", "attention\n1", "learns to say next", "\nloss\n"):
            assert word in said
        for word in ("role\nassistant", "turn\nmessage 1", "part\ntext", "weight\n1"):
            assert word in said
        assert f"id\n{row.ids[90]}" in said
        page.locator('[data-at="90"]').click()
        page.mouse.move(5, 5)
        assert "pinned" in facts.inner_text()
        page.locator(".ftlab-scroll").focus()
        page.keyboard.press("Home")
        assert "position\n0" in facts.inner_text()
        page.keyboard.press("ArrowRight")
        assert "position\n1\n" in facts.inner_text()
        page.keyboard.press("End")
        assert "position\n7,999" in facts.inner_text()
        active = page.locator(".ftlab-scroll").get_attribute("aria-activedescendant")
        assert "position 7999" in page.locator(f"#{active}").get_attribute("aria-label")
        page.keyboard.press("Escape")
        assert page.locator(".ftlab-pinned").count() == 0


def test_text_of_a_dataset_stays_text():
    with shown(grid(conversation())) as page:
        page.locator('[data-at="4"]').hover()
        assert page.locator("#here img").count() == 0
        assert page.title() != "broken"
        assert page.locator('[data-at="4"]').inner_text().startswith("<img")
        assert page.locator('[data-at="9"]').inner_text() == r"\u200b"
        assert page.locator('[data-at="10"]').inner_text() == r"\u202eevil"
        assert page.locator('[data-at="7"] bdi').inner_text() == "👩‍👩‍👧"


def test_a_row_that_was_not_sent_is_asked_for():
    made = grid(conversation(20_000), conversation(9_000, 1))
    answers = []
    made.observe(lambda change: answers.append(change["new"]), names="answer")
    with shown(made) as page:
        assert "filters and search see this part" in status(page)
        page.get_by_label("part of the row").select_option(index=1)
        asked = page.evaluate("heard")[-1]
        assert asked["row"] == 0
        made._hear(None, asked, [])
        page.evaluate("answered", plain(answers[-1]))
        page.locator(
            f'[data-at="0"][aria-label^="position {asked["start"]}:"]'
        ).wait_for()


@pytest.mark.parametrize("width", [320, 900])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_narrow_and_wide_pages_in_both_themes(width, theme):
    style = {"light": LIGHT, "dark": DARK}[theme]
    by = 0 if width == 900 else 520
    with shown(grid(conversation()), width, style) as page:
        page.locator(".ftlab-scroll").evaluate("(box, by) => box.scrollTop = by", by)
        page.locator('[data-at="90"]').click()
        page.screenshot(path=SCREENSHOTS / f"tokens-{theme}-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


CELLS = """import ftlab, numpy as np
ids = np.arange(20_000)[None] % 500
view = ftlab.tokens(batch={"input_ids": ids, "labels": ids})
view.widget()"""
PART = "document.querySelector('.ftlab-token-view [aria-label=\"part of the row\"]')"
GRID = "document.querySelector('.ftlab-token-view [data-at]')"


def test_in_jupyterlab_a_part_of_a_long_row_comes_from_the_kernel(tmp_path):
    with opened(notebook(CELLS), tmp_path / "jupyter", name="tokens") as page:
        page.run_all()
        page.wait(f"{GRID}?.innerText === '0'")
        chosen = f"{PART}.selectedIndex = 1, {PART}.dispatchEvent(new Event('change'))"
        page.page.evaluate(chosen)
        page.wait(f"{GRID}?.getAttribute('aria-label').startsWith('position 8192:')")
        page.screenshot("grid")
        assert page.errors == []
