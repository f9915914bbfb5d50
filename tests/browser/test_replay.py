"""The replay of a recorded anomaly in a real browser: looks, clicks and keys."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser

RECORD = """
import sys, ftlab, torch
from tests.replay.breakage import Setup
from tests.models import tiny_llama

torch.set_num_threads(1)
setup = Setup(base=tiny_llama(num_hidden_layers=8))
with ftlab.watch(setup.model, setup.optimizer, run_dir="run"):
    with ftlab.debug(
        setup.step, setup.feed, model=setup.model, optimizer=setup.optimizer
    ) as dbg:
        dbg.run()
"""
WALK = """
import ftlab
replay = ftlab.open_run("run").replay()
replay
"""
PANEL = "document.querySelector('.ftlab-replay')"


def waits_for(page, text):
    page.wait(f"{PANEL}?.innerText.includes({text!r})", seconds=60)


def scrolls(page):
    page.page.evaluate(f"() => {PANEL}.scrollIntoView({{block: 'start'}})")


def at(page):
    return int(page.page.input_value(".ftlab-r-slider"))


def runs(page, *indices):
    for index in indices:
        page.start_cell(index)
        page.finish_all()


def stands_at(page, index):
    page.wait(f"document.querySelector('.ftlab-r-slider').value === '{index}'", 30)


def test_a_recorded_anomaly_is_walked(tmp_path):
    cells = [RECORD.strip(), WALK.strip(), "replay.back().op.index", "replay.op.index"]
    with opened(
        notebook(*cells), tmp_path / "jupyter", name="replay", height=1200
    ) as page:
        runs(page, 0, 1)
        waits_for(page, "here it begins")
        shows_the_anomaly(page)
        culprit = at(page)
        pictures(page)
        walks_by_click_and_key(page, culprit)
        runs(page, 2)
        stands_at(page, int(page.text(2).split("]:")[-1]))
        waits_for(page, "before it begins")
        assert page.errors == []


def shows_the_anomaly(page):
    shown = page.page.inner_text(".ftlab-replay")
    assert "Inf first appeared in" in shown
    assert "logarithm of 0" in shown
    assert "layers.2 to 7" in shown
    assert "return x + (x * 0).log()" in page.page.inner_text(
        ".ftlab-replay .ftlab-p-marked"
    )
    worst = page.page.evaluate(
        "() => [...document.querySelectorAll('.ftlab-r-tree .ftlab-p-range')]"
        ".filter(one => getComputedStyle(one).backgroundColor === 'rgb(229, 0, 76)')"
        ".map(one => one.innerText)"
    )
    assert worst == ["Inf"] * 5
    tall = page.page.evaluate(
        "() => [...document.querySelectorAll('.ftlab-r-bars b')]"
        ".filter(one => one.getBoundingClientRect().width > 0"
        " && one.getBoundingClientRect().height > 1).length"
    )
    assert tall == 200


def pictures(page):
    for theme, width in (
        ("light", 1300),
        ("dark", 1300),
        ("dark", 620),
        ("light", 620),
    ):
        page.page.set_viewport_size({"width": width, "height": 1200})
        page.theme(theme)
        scrolls(page)
        page.screenshot(f"{theme}-{width}")
        beyond = page.page.evaluate(f"() => {PANEL}.scrollWidth - {PANEL}.clientWidth")
        assert beyond <= 0
    page.page.set_viewport_size({"width": 1300, "height": 1200})


def walks_by_click_and_key(page, culprit):
    cells = "document.querySelectorAll('.jp-Notebook .jp-Cell').length"
    before = page.wait(cells)
    page.page.click(".ftlab-r-panel button:text-is('back op')")
    stands_at(page, culprit - 1)
    page.page.keyboard.press("ArrowRight")
    stands_at(page, culprit)
    page.page.keyboard.press("b")  # would insert a cell
    page.page.keyboard.press("Shift+ArrowRight")
    waits_for(page, "after it begins")
    page.page.click(".ftlab-r-tree tr:has-text('embed_tokens')")
    stands_at(page, 0)
    assert page.wait("document.querySelectorAll('.ftlab-r-later').length") > 100
    page.page.click(".ftlab-r-bars i >> nth=-1")
    waits_for(page, "backward:")
    assert page.page.inner_text(".ftlab-r-tree").count("NaN") > 5
    page.page.keyboard.press("End")
    stands_at(page, culprit)
    page.page.fill(".ftlab-r-slider", "30")
    waits_for(page, "operation 30 of")
    page.page.keyboard.press("Home")
    stands_at(page, culprit - 1)
    assert page.wait(cells) == before
