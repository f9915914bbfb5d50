"""The mask in a page: cells to hover, rows and kinds to choose, parts to zoom into."""

import contextlib
import json

import pytest
import torch
from playwright.sync_api import sync_playwright

import ftlab
from ftlab.views.front_end import front_end
from tests.browser.lab import CHROMIUM, SCREENSHOTS, chromium
from tests.probes.attention import tiny

pytestmark = pytest.mark.browser

MODEL = """
const heard = [];
const listeners = [];
const traits = TRAITS;
const model = {
  get: (name) => traits[name],
  send: (content) => heard.push(content),
  on: (_, listener) => listeners.push(listener),
  off: () => {},
};
function answered(answer) { traits.answer = answer; listeners.forEach((one) => one()); }
exported.render({ model, el: document.getElementById("here") });
"""
GROUND = """[...document.querySelector("canvas").getContext("2d")
  .getImageData(100, 5, 1, 1).data].slice(0, 3)"""
DARK = """body { background: #111; --jp-content-font-color1: #eee;
  --jp-content-font-color2: #aaa; --jp-layout-color1: #111; --jp-layout-color2: #222;
  --jp-border-color2: #444; }"""


def widget():
    made = torch.Generator().manual_seed(1)
    lengths = (400, 250, 350)
    positions = torch.cat([torch.arange(n) for n in lengths])[None]
    batch = {
        "input_ids": torch.randint(3, 60, (1, 1_000), generator=made),
        "position_ids": positions,
        "attention_mask": torch.ones(1, 1_000, dtype=torch.long),
    }
    batch["attention_mask"][0, 950:] = 0
    return ftlab.masks(tiny.gemma(), batch).widget()


@contextlib.contextmanager
def shown(made, width=900, style=""):
    traits = {name: getattr(made, name) for name in ("spec", "grids", "answer")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(10_000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_content("<body style='margin: 0'><div id='here'></div></body>")
        page.add_style_tag(content=front_end("style.css", "masks/masks.css") + style)
        script = front_end("charts/chart.js", "masks/masks.js")
        script = script.replace("export default", "const exported =")
        traits = json.dumps(traits)
        page.add_script_tag(content=script + MODEL.replace("TRAITS", traits))
        yield page
        assert not errors
        browser.close()


def test_hover_kinds_and_a_closer_look():
    made = widget()
    answers = []
    made.observe(lambda change: answers.append(change["new"]), names="answer")
    with shown(made) as page:
        view = page.locator(".ftlab-mask-view")
        assert view.get_attribute("data-kind") == "sliding"
        page.get_by_role("button", name="full").click()
        assert view.get_attribute("data-kind") == "full"
        box = page.locator("canvas").first.bounding_box()
        page.mouse.move(box["x"] + 5, box["y"] + 0.8 * box["height"])
        tip = page.locator(".ftlab-tip").inner_text()
        assert "sees another sample" in tip
        assert "100 %" in tip
        page.screenshot(path=SCREENSHOTS / "masks-light.png")
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
        page.mouse.up()
        asked = page.evaluate("heard")[-1]
        made._hear(None, asked, [])
        page.evaluate("answered", answers[-1])
        low, high = map(int, view.get_attribute("data-queries").split("-"))
        assert 295 <= low <= 305
        assert 495 <= high <= 505
        page.get_by_role("button", name="zoom out").click()
        assert view.get_attribute("data-queries") == "0-1000"


@pytest.mark.parametrize("width", [320, 900])
def test_fits_narrow_and_wide_pages_in_the_dark(width):
    with shown(widget(), width, DARK) as page:
        page.screenshot(path=SCREENSHOTS / f"masks-dark-{width}.png")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        assert page.locator("canvas").first.bounding_box()["width"] > 200
        ground = page.evaluate(GROUND)
        assert max(ground) < 60


def test_text_of_a_batch_stays_text():
    made = widget()
    hostile = "<img src=x onerror=document.title='broken'>"
    made.spec = {**made.spec, "title": hostile, "remarks": [hostile]}
    with shown(made) as page:
        assert page.title() != "broken"
        assert hostile in page.locator(".ftlab-title").inner_text()
