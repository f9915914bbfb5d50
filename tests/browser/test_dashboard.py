"""The live dashboard in a real browser: its pixels are the logged numbers."""

import re

import numpy as np
import pytest

from ftlab.runlog.reader import open_log
from ftlab.views.charts.scale import GRADIENT, palette, quantise
from ftlab.views.layers.updates import RATIO
from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser

SETUP = """
%load_ext ftlab
import time, torch
from tests.models import batches, tiny_lora
torch.set_num_threads(1)
model = tiny_lora()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
"""
TRAIN = """%%ftlab watch --run-dir run
for batch in batches(50):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.1)
print("trained")
"""
GRADIENTS, UPDATES = ".ftlab-heat-view", ".ftlab-details .ftlab-heat-view"
HEAT, FOLDED = (f"document.querySelector('{each}')" for each in (GRADIENTS, UPDATES))
OPEN = """name => {
    const all = '.ftlab-fold .jupyter-widget-Collapse-header';
    const heads = [...document.querySelectorAll(all)];
    heads.find((each) => each.innerText.includes(name)).click();
}"""
SHOW = "name => document.querySelector(name).scrollIntoView({block: 'center'})"
PIXELS = """selector => {
    const root = document.querySelector(selector);
    const canvas = root.querySelector('canvas.ftlab-canvas');
    const pen = canvas.getContext('2d', {willReadFrequently: true});
    const labels = [...root.querySelectorAll('.ftlab-labels span')];
    const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[1];
    return {
        width: canvas.width, height: canvas.height, pooled: +root.dataset.pooled,
        pixels: [...pen.getImageData(0, 0, canvas.width, canvas.height).data],
        labels: labels.map((one) => one.textContent),
        prompt: cell.querySelector('.jp-InputPrompt').textContent,
    };
}"""


def picture(page, selector=GRADIENTS):
    """Read a heatmap's pixels: an array of layer x step x RGBA."""
    told = page.page.evaluate(PIXELS, selector)
    shape = (told["height"], told["width"], 4)
    return told, np.array(told["pixels"], np.uint8).reshape(shape)


def layer_norms(run, layers):
    """Add the squares of a layer's gradients up again, parameter by parameter."""
    matrix = run.matrix("grad_l2")
    names = run.names()
    squares = np.zeros((len(layers), len(matrix.steps)))
    for column, number in enumerate(matrix.ids):
        (layer,) = re.findall(r"layers\.\d+", names[int(number)].name)
        norms = matrix.values[:, column].astype(np.float64)
        squares[layers.index(layer)] += norms**2
    return np.sqrt(squares)


def update_ratios(run, layers):
    """Divide a layer's summed squares by hand, at the steps that were measured."""
    update, weight = (
        run.matrix(name).measured() for name in ("update_l2", "weight_l2")
    )
    of = [next(n for n in layers if n in run.names()[int(i)].name) for i in update.ids]
    parts = [
        [np.sqrt((each.values[:, np.array(of) == n] ** 2).sum(1)) for n in layers]
        for each in (update, weight)
    ]
    return np.divide(*map(np.array, parts))


def assert_same_colours(pixels, norms, scale=GRADIENT):
    """Compare each pixel with the colour of its number, give or take one of 256."""
    codes = quantise(norms, scale).astype(int)
    allowed = [palette(scale)[np.clip((codes >> 8) + by, 0, 255)] for by in (-1, 0, 1)]
    same = [np.all(pixels[..., :3] == colours, axis=-1) for colours in allowed]
    assert np.any(same, axis=0).all()
    assert (pixels[..., 3] == 255).all()


@pytest.mark.parametrize(
    "front", ["lab", pytest.param("notebook", marks=pytest.mark.slow)]
)
def test_pixels_are_the_logged_numbers_while_training_runs(tmp_path, front):
    content = notebook(SETUP.strip(), TRAIN)
    folder = tmp_path / "jupyter"
    with opened(content, folder, front=front, name=f"dashboard-{front}") as page:
        page.start_all()
        page.wait(f"{HEAT}?.dataset.cols >= 8")
        during, early = picture(page)
        page.page.evaluate(OPEN, "Updates")
        page.wait(f"{FOLDED}?.dataset.cols >= 5")
        unfolded, _ = picture(page, UPDATES)
        page.screenshot("running")
        page.finish_all()
        assert "trained" in page.text(1)
        page.wait(f"{HEAT}?.dataset.cols == 50")
        after, late = picture(page)
        page.screenshot("finished")
        ratios, moved = picture(page, UPDATES)
        page.page.evaluate(SHOW, ".ftlab-details")
        page.screenshot("unfolded")
        if front == "lab":
            page.theme("dark")
            page.screenshot("dark")
        saved = page.save()
        assert page.errors == []
    run = open_log(folder / "root" / "run")
    norms = layer_norms(run, after["labels"])
    assert (during["prompt"], after["prompt"]) == ("[*]:", "[2]:")
    assert unfolded["prompt"] == "[*]:"
    assert (during["pooled"], after["pooled"]) == (1, 1)
    assert 8 <= early.shape[1] < 50
    assert len(np.unique(late.reshape(-1, 4), axis=0)) > 3
    assert_same_colours(early, norms[:, : early.shape[1]])
    assert_same_colours(late, norms)
    assert_same_colours(moved, update_ratios(run, ratios["labels"]), RATIO)
    kept = [each.get("data", {}) for each in saved.cells[1].outputs]
    assert any("image/png" in each for each in kept)
