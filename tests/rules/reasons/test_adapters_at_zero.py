"""What proves that an adapter of zeros was not always so."""

import pytest

from ftlab.rules.reasons.adapters_at_zero import adapters_at_zero
from tests.runs import RunBuilder


def reasons(start=None, step=0, peft=None, zero=2, **model):
    row = {"pairs": 2, "zero_b": zero, "trainable": True, "saved_from": "Llama"}
    rows = {"default": row | {"scaling": {"model.q": 1.0, "model.v": 1.0}}}
    facts = {"adapters": rows, "base_class": "Llama"} | (start or {})
    model = {"peft": {"default": peft or {}}, "start": facts, "trainable": 8} | model
    run = RunBuilder().facts(step=step, model=model).run
    return [(each.reason, each.tensors) for each in adapters_at_zero(run)]


B = ["model.q.lora_B.default.weight", "model.v.lora_B.default.weight"]
MOVED = {"optimizer_fit": [{"moved": 2, "empty": 2}]}


def test_a_fresh_adapter_at_the_first_step_proves_nothing():
    assert reasons() == []


@pytest.mark.parametrize(
    ("reason", "settings"),
    [
        ("moments-without-weights", {"start": MOVED}),
        ("other-class", {"start": {"base_class": "LlamaModel"}, "step": 4}),
        ("resumed-at-zero", {"step": 4}),
        ("zero", {"trainable": 0}),
    ],
)
def test_each_proof_has_its_reason(reason, settings):
    assert reasons(**settings) == [(reason, B)]


def test_one_b_that_is_not_0_is_enough():
    assert reasons(step=4, zero=1) == []


@pytest.mark.parametrize(
    "settings",
    [{"peft": {"inference_mode": False}}, {"training_modes": {"training": 4}}],
)
def test_what_was_made_for_training_was_not_loaded_for_use(settings):
    assert reasons(trainable=0, **settings) == []
