"""Flow, activations and doctor in a browser, of 2 and of 80 layers."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETUP = """
import warnings, peft, torch, ftlab
from ftlab.faults.builders.tiny import batches, llama
from tests.laboratory.flow.test_flow import Planted
from tests.laboratory.flow.ways import numpy
warnings.simplefilter("ignore")
torch.set_num_threads(1)
batch = batches()[0]
model = llama(num_hidden_layers=80)
model.model.layers[40] = Planted(model.model.layers[40], numpy)
"""
CUT = "ftlab.flow(batch, model)"
WHOLE = """
settings = peft.LoraConfig(target_modules="all-linear")
ftlab.flow(batch, peft.get_peft_model(llama(), settings))
"""
DEPTH = """
for layer in model.model.layers:
    getattr(layer, "block", layer).mlp.act_fn = torch.nn.GELU()
ftlab.activations(model, batch)
"""
FEW = "ftlab.activations(llama(), batch)"
DOCTOR = "ftlab.doctor()"
GRADCHECK = "ftlab.gradcheck(torch.floor, torch.rand(3))"
CELLS = (CUT, WHOLE, DEPTH, FEW, DOCTOR, GRADCHECK)
BOXES = ".ftlab-w, .ftlab-c"
OVERFLOW = f"""() => [...document.querySelectorAll('{BOXES}')].map(
    (one) => one.scrollWidth - one.clientWidth)"""


def test_anatomy_is_read_at_a_glance(tmp_path):
    with opened(notebook(SETUP, *CELLS), tmp_path, name="anatomy") as lab:
        lab.run_all()
        lab.wait(f"document.querySelectorAll('{BOXES}').length >= {len(CELLS)}")
        for theme in ("light", "dark"):
            lab.theme(theme)
            for width in (1600, 900):
                lab.page.set_viewport_size({"width": width, "height": 1000})
                for cell in range(1, len(CELLS) + 1):
                    lab.page.evaluate(
                        "at => document.querySelectorAll('.jp-Notebook .jp-Cell')[at]"
                        ".scrollIntoView()",
                        cell,
                    )
                    lab.screenshot(f"{theme}-{width}-{cell}")
                assert max(lab.page.evaluate(OVERFLOW)) <= 0
        assert "cut here" in lab.text(1)
        assert lab.errors == []
