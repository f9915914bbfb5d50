"""The notebook of three NaNs in JupyterLab: its panels while paused and at the end."""

import pytest

from tests.browser.lab import ROOT, opened

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOK = ROOT / "notebooks" / "10_first_nan.ipynb"
LAST = "[...document.querySelectorAll('.ftlab-panel')].at(-1)"
SIZES = [("light", 1300), ("light", 620), ("dark", 620), ("dark", 1300)]


def last_says(page, text):
    page.wait(f"{LAST}?.innerText.includes({text!r})", seconds=60)


def clicks(page, command):
    page.page.locator(f".ftlab-panel button.ftlab-{command}").last.click()


def pictures(page, name):
    for theme, width in SIZES:
        page.theme(theme)
        page.page.set_viewport_size({"width": width, "height": 1100})
        page.page.evaluate(f"() => {LAST}.scrollIntoView({{block: 'start'}})")
        page.page.wait_for_timeout(300)
        page.screenshot(f"{name}-{theme}-{width}")
    page.theme("light")
    page.page.set_viewport_size({"width": 1300, "height": 1100})


def test_the_notebook_runs_and_leaves_a_run_paused_that_a_reload_finds(tmp_path):
    with opened(NOTEBOOK, tmp_path / "jupyter", name="first-nan") as page:
        for index in range(29):  # up to the panel of the second run
            page.start_cell(index)
            page.finish_all()
        last_says(page, "Inf first appeared in base_model.model.model.layers.2.mlp")
        pictures(page, "overflow")
        page.run_all()
        last_says(page, "Paused at step 5")
        panels = page.wait("document.querySelectorAll('.ftlab-panel').length")
        first = page.page.inner_text(".ftlab-panel >> nth=0")
        assert (panels, "is finished, after 8 optimizer steps" in first) == (2, True)
        pictures(page, "left-paused")
        saved = page.save()
        page.open(page.page.url.replace("?reset", ""))
        last_says(page, "Paused at step 5")
        clicks(page, "skip-sample")
        last_says(page, "without sample 1: gone")
        clicks(page, "resume-as-tried")
        last_says(page, "is finished, after 8 optimizer steps")
        assert page.errors == []
    outputs = [out for cell in saved.cells for out in cell.get("outputs", ())]
    assert "error" not in {out.output_type for out in outputs}
