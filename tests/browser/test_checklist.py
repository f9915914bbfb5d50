"""A checklist in a real browser: what failed is unfolded, in both themes and widths."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = pytest.mark.browser

SETUP = """
import torch, ftlab
from tests.models import Rows, batches, tiny_llama, tiny_lora
torch.set_num_threads(1)
model = tiny_lora()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
batch = next(iter(batches(1)))
"""
HEALTHY = "ftlab.preflight(model, optimizer=optimizer, batch=batch)"
SICK = """
batch["labels"] = torch.full_like(batch["labels"], -100)
batch["input_ids"][0, 0] = 127
args = {"save_strategy": "steps", "save_steps": 900, "max_steps": 600,
        "logging_steps": 10, "output_dir": "out"}
ftlab.preflight(model, optimizer=optimizer, batch=batch, args=args)
"""
WATCHED = """
with ftlab.watch(model, optimizer, run_dir="run") as watch:
    for batch in batches(5):
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
watch.checklist
"""
SHOWN = """index => {
    const cell = document.querySelectorAll('.jp-Notebook .jp-Cell')[index];
    const rows = [...cell.querySelectorAll('.ftlab-c > details')];
    return rows.map((row) => [
        row.querySelector('summary .ftlab-c-layer').textContent,
        row.querySelector('summary .ftlab-c-mark').textContent,
        row.open,
    ]);
}"""
OVERFLOW = """() => [...document.querySelectorAll('.ftlab-c')].map(
    (one) => one.scrollWidth - one.clientWidth)"""


def test_a_checklist_is_read_at_a_glance(tmp_path):
    content = notebook(SETUP, HEALTHY, SICK, WATCHED)
    with opened(content, tmp_path, name="checklist") as lab:
        lab.run_all()
        lab.wait("document.querySelectorAll('.ftlab-c').length === 3")
        healthy = lab.page.evaluate(SHOWN, 1)
        assert [row[0] for row in healthy] == [
            "data",
            "model",
            "optimizer",
            "device",
            "numerics",
            "logging",
            "rollback",
        ]
        assert all(mark in "✓?" and not unfolded for _, mark, unfolded in healthy)
        sick = {row[0]: row[1:] for row in lab.page.evaluate(SHOWN, 2)}
        assert sick["data"] == ["✕", True]
        assert sick["rollback"] == ["✕", True]
        assert sick["optimizer"] == ["✓", False]
        assert "do this" in lab.text(2)
        for theme in ("light", "dark"):
            lab.theme(theme)
            for width in (1300, 700):
                lab.page.set_viewport_size({"width": width, "height": 1100})
                assert max(lab.page.evaluate(OVERFLOW)) <= 0
                lab.page.evaluate(
                    "document.querySelectorAll('.ftlab-c')[1].scrollIntoView()"
                )
                lab.screenshot(f"{theme}-{width}")
        assert lab.errors == []
