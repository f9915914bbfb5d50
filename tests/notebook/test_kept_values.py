"""A cell that ends in a tensor leaves it in ``Out``: in a real kernel, it is named."""

import pytest

pytestmark = pytest.mark.ipython

SETUP = """
import torch, ftlab
from ftlab.faults.builders.tiny import adamw, batches, lora
torch.set_num_threads(1)
model = lora()
optimizer = adamw(model)
batch = batches()[0]
watch = ftlab.watch(model, optimizer)
"""
CELL = """
optimizer.zero_grad()
outputs = model(**batch)
outputs.loss.backward()
optimizer.step()
outputs.logits"""
TOLD = """
for each in watch.findings:
    if each.code == "MEM001":
        print(each.places[0].name, each.evidence["holder"], each.fix, sep=" | ")
watch.detach()
"""


def told_after(kernel, cell):
    kernel.run(SETUP)
    for _ in range(20):
        outcome = kernel.run(cell)
        assert outcome.status == "ok", outcome.traceback
    return kernel.run(TOLD).streams


def test_what_cells_end_in_is_named(kernel):
    said = told_after(kernel, CELL)
    name, holder, fix = said.strip().split(" | ")
    assert name == "Out"
    assert holder == "notebook"
    assert "semicolon" in fix


def test_a_semicolon_ends_it(kernel):
    kernel.run("%reset -f out")
    assert told_after(kernel, CELL + ";") == ""
