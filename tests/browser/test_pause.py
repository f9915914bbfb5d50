"""The debugger's panel in a real browser: what it shows, clicks, keys and a reload."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser

SETUP = """
%load_ext ftlab
import ftlab, torch
torch.set_num_threads(1)
torch.manual_seed(0)

class Tokenizer:
    words = "<pad> the cat sat on a mat and saw that it was good".split()

    def decode(self, ids):
        return " ".join(self.words[each] for each in ids)

class UnitNorm(torch.nn.Module):
    def forward(self, x):
        # zero divided by its norm is NaN
        return x / x.norm(dim=-1, keepdim=True)

model = torch.nn.Sequential(
    torch.nn.Embedding(13, 8, padding_idx=0), UnitNorm(), torch.nn.Linear(8, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
good = torch.arange(24).reshape(2, 12) % 12 + 1
padded = good.clone()
padded[0, 7:] = 0
batches = [{"input_ids": ids} for ids in (good, good, padded, good, good)]

def step(batch):
    optimizer.zero_grad()
    loss = model(batch["input_ids"]).square().mean()
    loss.backward()
    if loss.isfinite():
        optimizer.step()
    print("loss", round(loss.item(), 3))
    return loss
"""
DEBUG = """
dbg = ftlab.debug(
    step, batches, model=model, optimizer=optimizer, tokenizer=Tokenizer()
)
dbg
"""
PANEL = "document.querySelector('.ftlab-panel')"


def runs(page, *indices):
    for index in indices:
        page.start_cell(index)
        page.finish_all()


def waits_for(page, text):
    page.wait(f"{PANEL}?.innerText.includes({text!r})", seconds=60)


def scrolls(page, block="start"):
    page.page.evaluate(f"() => {PANEL}.scrollIntoView({{block: '{block}'}})")


@pytest.mark.parametrize(
    "front", ["lab", pytest.param("notebook", marks=pytest.mark.slow)]
)
def test_the_panel_shows_moves_survives_a_reload_and_resumes(tmp_path, front):
    content = notebook(
        SETUP.strip(), DEBUG.strip(), "dbg.run()", "dbg.wait()\nlen(dbg.result)"
    )
    with opened(
        content, tmp_path / "jupyter", front=front, name=f"pause-{front}", height=1300
    ) as page:
        runs(page, 0, 1, 2)
        shows_the_stop(page)
        moves_by_click_and_key(page)
        page.save()
        page.open(page.page.url.replace("?reset", ""))
        waits_for(page, "Paused at step 2")
        page.page.click(".ftlab-panel button.ftlab-resume")
        waits_for(page, "finished")
        page.screenshot("resumed")
        runs(page, 3)
        assert page.text(3).strip().endswith("5")
        runs(page, 2)
        waits_for(page, "Paused at step 2")
        page.page.click(".ftlab-panel button.ftlab-abort")
        waits_for(page, "was aborted")
        assert page.errors == []


def shows_the_stop(page):
    waits_for(page, "Paused at step 2")
    shown = page.page.inner_text(".ftlab-panel")
    assert "NaN first appeared in 1 (UnitNorm)" in shown
    assert "Paused at step 2" in page.text(2)
    marked = page.page.inner_text(".ftlab-panel .ftlab-p-marked")
    assert "return x / x.norm(dim=-1, keepdim=True)" in marked
    assert page.page.inner_text(".ftlab-panel .ftlab-bad") == "▼<pad>"
    tall = page.page.evaluate(
        "() => [...document.querySelectorAll('.ftlab-panel .ftlab-p-bars i')]"
        ".filter(one => one.getBoundingClientRect().height > 2).length"
    )
    assert tall > 3
    pictures(page)


def pictures(page):
    scrolls(page)
    page.screenshot("paused")
    page.theme("dark")
    scrolls(page)
    page.screenshot("paused-dark")
    page.page.set_viewport_size({"width": 620, "height": 1300})
    scrolls(page)
    page.screenshot("paused-dark-narrow")
    page.theme("light")
    scrolls(page)
    page.screenshot("paused-narrow")
    tallest = page.page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('.ftlab-p-tensors td')]"
        ".map(one => one.getBoundingClientRect().height))"
    )
    assert tallest < 100
    page.page.set_viewport_size({"width": 1300, "height": 1300})


def moves_by_click_and_key(page):
    cells = "document.querySelectorAll('.jp-Notebook .jp-Cell').length"
    before = page.wait(cells)
    page.page.click(".ftlab-panel button.ftlab-back-op")
    waits_for(page, "(back)")
    assert "aten.div.Tensor" not in page.page.inner_text(".ftlab-panel")
    page.page.keyboard.press("ArrowRight")
    waits_for(page, "aten.div.Tensor")
    page.page.keyboard.press("b")  # would insert a cell
    page.page.keyboard.press("Shift+ArrowLeft")
    waits_for(page, "aten.embedding.default")
    assert page.wait(cells) == before
    page.page.click(".jp-Notebook .jp-Cell:last-of-type .cm-content")
    for key in ("ArrowRight", "Shift+ArrowRight", "ArrowLeft"):
        page.page.keyboard.press(key)  # belongs to the cell
    page.page.wait_for_timeout(300)
    assert "aten.embedding.default" in page.page.inner_text(".ftlab-panel")
    page.page.click(".ftlab-panel button.ftlab-step-module")
    waits_for(page, "aten.linalg_vector_norm.default, forward")
