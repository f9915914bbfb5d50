"""Proofs, round trips and differences in a real browser, in both themes and widths."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETUP = """
import copy, torch, ftlab
from tests.experiments.set_ups import after, around, llama, lora, padded
import warnings
warnings.simplefilter("ignore")
torch.set_num_threads(1)
"""
PROVED = """
model = around(lora(llama()), "base_model.model.model.layers.1.mlp", after(
    lambda out: out + 0.01 * out.mean(1, keepdim=True)))
ftlab.prove(model, batch=padded(), only=[
    "row-alone", "row-order", "label-influence", "deterministic", "saved-model",
    "update-rule", "packed-documents"])
"""
TRAVELLED = """
from tests.servers import lesson
from tests.experiments.deployment.deployed import PROMPTS, tuned
words = lesson.tokenizer()
live = tuned(lesson.model(words, steps=60), words)
ftlab.roundtrip(live, words, PROMPTS, tokens=4)
"""
DIFFERED = """
one = llama(num_hidden_layers={layers})
other = copy.deepcopy(one)
with torch.no_grad():
    other.model.layers[1].mlp.down_proj.weight *= 1.1
ftlab.diff(one, other, padded())
"""
SHOWN = "document.querySelectorAll('.ftlab-c').length === 2"
OVERFLOW = """() => [...document.querySelectorAll('.ftlab-c')].map(
    (one) => one.scrollWidth - one.clientWidth)"""


def test_executions_are_read_at_a_glance(tmp_path):
    cells = [PROVED, TRAVELLED, DIFFERED.format(layers=2), DIFFERED.format(layers=80)]
    with opened(notebook(SETUP, *cells), tmp_path, name="executions") as lab:
        lab.run_all()
        lab.wait(SHOWN)
        assert "broken" in lab.text(1)
        assert "came through" in lab.text(2)
        for theme in ("light", "dark"):
            lab.theme(theme)
            for width in (1300, 700):
                lab.page.set_viewport_size({"width": width, "height": 1100})
                for cell in (1, 2, 3, 4):
                    lab.page.evaluate(
                        "at => document.querySelectorAll('.jp-Notebook .jp-Cell')[at]"
                        ".scrollIntoView()",
                        cell,
                    )
                    lab.screenshot(f"{theme}-{width}-{cell}")
        assert max(lab.page.evaluate(OVERFLOW)) <= 0
        assert lab.errors == []
