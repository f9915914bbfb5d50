"""The pause panel in a real browser: it appears, a click resumes, training finishes."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser

SETUP = """
%load_ext ftlab
import ftlab, torch
torch.set_num_threads(1)
torch.manual_seed(0)

class Log(torch.nn.Module):
    def forward(self, x):
        return x.log()

model = torch.nn.Sequential(torch.nn.Linear(2, 1), Log())
torch.nn.init.ones_(model[0].weight)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batches = [torch.full((4, 2), value) for value in (1.0, 2.0, -9.0, 3.0, 4.0)]

def step(batch):
    optimizer.zero_grad()
    loss = model(batch).mean()
    loss.backward()
    if loss.isfinite():
        optimizer.step()
    print("loss", round(loss.item(), 3))
    return loss
"""
PANEL = "document.querySelector('.ftlab-panel')"


@pytest.mark.parametrize(
    "front", ["lab", pytest.param("notebook", marks=pytest.mark.slow)]
)
def test_a_click_resumes_a_paused_run(tmp_path, front):
    content = notebook(
        SETUP.strip(),
        "dbg = ftlab.debug(step, batches, model=model, optimizer=optimizer)\ndbg",
        "dbg.run()",
        "dbg.wait()\nlen(dbg.result)",
    )
    with opened(
        content, tmp_path / "jupyter", front=front, name=f"pause-{front}"
    ) as page:
        for index in (0, 1, 2):
            page.start_cell(index)
            page.finish_all()
        page.wait(f"{PANEL}?.innerText.includes('Paused at step 2')")
        assert "1 (Log)" in page.page.inner_text(".ftlab-panel")
        assert "Paused at step 2" in page.text(2)
        page.screenshot("paused")
        page.page.click(".ftlab-panel button.ftlab-resume")
        page.wait(f"{PANEL}.innerText.includes('finished')")
        page.screenshot("resumed")
        page.start_cell(3)
        page.finish_all()
        page.wait("document.querySelectorAll('.jp-Notebook .jp-Cell').length >= 4")
        assert page.text(3).strip().endswith("5")
        assert page.errors == []
