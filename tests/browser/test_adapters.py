"""The adapter laboratory in a real browser: both themes and widths, 2 and 48 layers."""

import pytest

from tests.browser.lab import notebook, opened

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SETUP = """
import tempfile, warnings, torch, ftlab
from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.tiny import batches, llama, lora
from tests.laboratory.test_anatomy import noisy
from tests.probes.behaviour.test_answers import CHAT, PROMPT, adapted, trained
from ftlab.faults.builders.chats import tokenizer
warnings.simplefilter("ignore")
torch.set_num_threads(1)
"""
FEW = """
model = noisy(lora(target_modules="all-linear"), 0.2)
view = ftlab.adapters(model, batches()[0], ranks=(0, 1, 2, 4), directions=4)
view
"""
MANY = """
ftlab.adapters(noisy(lora(llama(num_hidden_layers=48), target_modules="all-linear")),
               batches()[0])
"""
RANKS = "view.ranks"
BITS = """
base = llama(hidden_size=128)
folder = tempfile.mkdtemp()
base.save_pretrained(folder)
ftlab.adapters(noisy(lora(four_bit(base))), original=folder).quantisation
"""
COMPARED = """
other = noisy(lora(target_modules="all-linear"), 0.3)
ftlab.compare(model, other)
"""
WATCHED = """
words = tokenizer()
watch, _, _ = trained(adapted(), words, 61, prompts=[CHAT[:1], PROMPT],
                      prompt_interval=20, budget=None)
watch.samples
"""
SPECTRA = "watch.spectra"
SWAPPED = """
for name, one in {"math": model, "chat": other}.items():
    one.save_pretrained(f"{folder}/{name}")
ftlab.swap(llama(), {n: f"{folder}/{n}" for n in ("math", "chat")}, batches()[0],
           requests=16)
"""
CELLS = (FEW, MANY, RANKS, BITS, COMPARED, WATCHED, SPECTRA, SWAPPED)
OVERFLOW = """() => [...document.querySelectorAll('.ftlab-picture')].map(
    (one) => one.getBoundingClientRect().right - one.closest('.jp-Cell')
        .getBoundingClientRect().right)"""


def test_adapters_are_read_at_a_glance(tmp_path):
    with opened(notebook(SETUP, *CELLS), tmp_path, name="adapters") as lab:
        lab.run_all()
        shown = f"document.querySelectorAll('.ftlab-picture').length >= {len(CELLS)}"
        lab.wait(shown)
        for theme in ("light", "dark"):
            lab.theme(theme)
            for width in (1300, 700):
                lab.page.set_viewport_size({"width": width, "height": 900})
                for cell in range(1, len(CELLS) + 1):
                    lab.page.evaluate(
                        "at => document.querySelectorAll('.jp-Notebook .jp-Cell')[at]"
                        ".scrollIntoView()",
                        cell,
                    )
                    lab.screenshot(f"{theme}-{width}-{cell}")
        assert max(lab.page.evaluate(OVERFLOW)) <= 0
        assert lab.errors == []
