"""The first notebook, run in JupyterLab as somebody who has just cloned would."""

import pytest

from tests.browser.lab import ROOT, opened

pytestmark = pytest.mark.browser

NOTEBOOK = ROOT / "notebooks" / "00_start_here.ipynb"
PANEL = "document.querySelector('.ftlab-panel')"
SHOW = """selector => {
    const shown = [...document.querySelectorAll(selector)].at(-1);
    shown.scrollIntoView({block: 'center'});
}"""


def test_the_first_notebook_runs_and_shows_what_it_promises(tmp_path):
    with opened(NOTEBOOK, tmp_path / "jupyter", name="start-here") as page:
        page.run_all()
        page.wait(f"{PANEL}?.innerText.includes('finished')")
        for name in ("dashboard", "heat-view", "findings", "panel"):
            page.page.evaluate(SHOW, f".ftlab-{name}")
            page.page.wait_for_timeout(500)
            page.screenshot(name)
        page.theme("dark")
        page.page.set_viewport_size({"width": 620, "height": 1100})
        for name in ("dashboard", "panel"):
            page.page.evaluate(SHOW, f".ftlab-{name}")
            page.page.wait_for_timeout(500)
            page.screenshot(f"{name}-dark-narrow")
        saved = page.save()
        assert page.errors == []
    outputs = [out for cell in saved.cells for out in cell.get("outputs", ())]
    assert "error" not in {out.output_type for out in outputs}
    texts = [out.get("data", {}).get("text/plain", "") for out in outputs]
    assert any("OPT002" in text for text in texts)
    assert any("The run is finished, after 24 optimizer steps." in t for t in texts)
