"""Generations are told before they begin, and go on as without a tap."""

import torch
from transformers.generation.utils import GenerationMixin

from ftlab.faults.builders.tiny import llama
from ftlab.probes.taps.generation import tap_generation

IDS = torch.tensor([[5, 6, 7]])


class Heard:
    """Keeps what it is told."""

    def __init__(self):
        self.calls = []

    def before_generation(self, owner, given):
        self.calls.append((owner, given))


def test_arguments_are_told_by_name_and_the_answer_is_the_same():
    model, heard, plain = llama(), Heard(), GenerationMixin.generate
    expected = model.generate(IDS, max_new_tokens=3, do_sample=False)
    handle = tap_generation(heard)
    found = model.generate(IDS, max_new_tokens=3, do_sample=False)
    handle.remove()
    assert torch.equal(found, expected)
    ((owner, given),) = heard.calls
    assert owner is model
    assert given["inputs"] is IDS
    assert given["max_new_tokens"] == 3
    assert GenerationMixin.generate is plain
