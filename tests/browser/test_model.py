"""The model's tree in a page: lines to open, names to search for, weights to read."""

import contextlib
import json

import pytest
import torch
from playwright.sync_api import sync_playwright

import ftlab
from ftlab.faults.builders.tiny import llama, lora
from ftlab.views.front_end import front_end
from tests.browser.lab import CHROMIUM, SCREENSHOTS, chromium

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
DARK = """body { background: #111; --jp-content-font-color1: #eee;
  --jp-content-font-color2: #aaa; --jp-layout-color1: #111; --jp-layout-color2: #222;
  --jp-border-color2: #444; }"""


@contextlib.contextmanager
def shown(made, width=900, style=""):
    traits = {name: getattr(made, name) for name in ("spec", "answer")}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(10_000)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_content("<body style='margin: 0'><div id='here'></div></body>")
        page.add_style_tag(content=front_end("style.css", "model/model.css") + style)
        script = front_end("model/model.js").replace(
            "export default", "const exported ="
        )
        page.add_script_tag(
            content=script + MODEL.replace("TRAITS", json.dumps(traits))
        )
        yield page
        assert not errors
        browser.close()


def eighty():
    with torch.device("meta"):
        model = lora(llama(num_hidden_layers=80))
    layers = model.base_model.model.model.layers
    layers[32].self_attn.q_proj = layers[32].self_attn.q_proj.base_layer
    return model


def line(page, text):
    return page.locator("[role=treeitem]").filter(has_text=text).first


def count(page):
    return page.locator("[role=treeitem]").count()


def test_only_what_is_open_is_in_the_page():
    with shown(ftlab.model(eighty()).widget()) as page:
        assert count(page) < 20
        assert "\u00d7 79" in line(page, "layers.0…31, 33…79").inner_text()
        odd = page.locator(".ftlab-odd").inner_text()
        assert "layers.32" in odd
        assert "self_attn.q_proj: no adapter" in odd
        before = count(page)
        line(page, "layers.0…31").click()
        assert count(page) == before + 4
        line(page, "layers.0…31").click()
        assert count(page) == before


def test_search_finds_names_classes_and_paths_with_numbers():
    with shown(ftlab.model(eighty()).widget()) as page:
        field = page.get_by_label("search modules")
        told = page.locator(".ftlab-model-tools .ftlab-caption")
        for words, modules in (
            ("up_proj", 80),
            ("LlamaRMSNorm", 161),
            ("adapter active", 159),
            ("layers.17.mlp.up_proj", 80),
            ("no such", 0),
        ):
            field.fill(words)
            assert told.inner_text() == f"{modules} modules"
            assert count(page) < 60
        field.fill("")
        assert told.inner_text() == "all on meta"


def test_a_click_asks_for_the_module_that_is_chosen():
    model = lora(llama(num_hidden_layers=4))
    made = ftlab.model(model).widget()
    with shown(made) as page:
        line(page, "layers.0…3").click()
        line(page, "mlp").click()
        line(page, "up_proj").click()
        page.get_by_label("which of them").select_option("2")
        asked = page.evaluate("heard")
        assert [each["path"].split("layers.")[1] for each in asked] == [
            "0.mlp.up_proj",
            "2.mlp.up_proj",
        ]
        for late in asked:  # the answer to the first question comes too late
            made._hear(None, late, [])
            page.evaluate("answered", made.answer)
        values = page.locator(".ftlab-model-values")
        assert "weight (128 \u00d7 64) float32, mean" in values.inner_text()
        assert page.locator(".ftlab-model-bars i").count() == 41
        page.screenshot(path=SCREENSHOTS / "model-light.png")


def test_weights_without_values_say_so():
    made = ftlab.model(eighty()).widget()
    with shown(made) as page:
        line(page, "lm_head").click()
        model = eighty()
        made = ftlab.model(model).widget()
        made._hear(None, page.evaluate("heard")[-1], [])
        page.evaluate("answered", made.answer)
        said = page.locator(".ftlab-model-values").inner_text()
        assert "it is on the meta device" in said


def test_keys_move_and_open():
    with shown(ftlab.model(lora(llama(num_hidden_layers=4))).widget()) as page:
        tree = page.get_by_role("tree")
        tree.focus()
        for _ in range(5):
            page.keyboard.press("ArrowDown")
        chosen = page.locator("[aria-selected=true]")
        assert "layers.0…3" in chosen.inner_text()
        assert chosen.get_attribute("aria-expanded") == "false"
        page.keyboard.press("Enter")
        assert chosen.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("width", [320, 900, 1600])
def test_fits_narrow_and_wide_pages_in_the_dark(width):
    with shown(ftlab.model(eighty()).widget(), width, DARK) as page:
        page.screenshot(path=SCREENSHOTS / f"model-dark-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        name = line(page, "layers.32").locator(".ftlab-name")
        assert name.bounding_box()["width"] > 150


def test_hostile_names_stay_text():
    model = torch.nn.Module()
    name = "<img src=x onerror=broken=true>"
    model.add_module(name, torch.nn.Linear(2, 2))
    with shown(ftlab.model(model).widget()) as page:
        assert name in line(page, "img").inner_text()
        assert page.evaluate("typeof broken") == "undefined"
