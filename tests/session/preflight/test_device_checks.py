"""Layer device: weights that exist, in one place, on the accelerator there is."""

import torch

from ftlab.session.preflight.device_checks import _used
from tests.session.preflight.objects import item_of, lora_loop

TOGETHER = "all weights are on devices"


def without_steps(given):
    return given | {"batches": None, "optimizer": None}


def test_weights_on_the_cpu_are_counted():
    assert item_of(TOGETHER, **lora_loop()).says == "weights: 33 on cpu"


def test_weights_without_values_are_named():
    given = without_steps(lora_loop())
    given["model"].get_output_embeddings().to("meta")
    item = item_of(TOGETHER, **given)
    assert item.status == "failed"
    assert item.places[0].name.endswith("lm_head.weight")


def test_the_batch_and_the_model_are_told_to_be_together():
    item = item_of("the batch can get to the model", **lora_loop())
    assert item.says == "batch on cpu, model on cpu"


def test_a_visible_accelerator_that_is_left_idle_is_told():
    item = _used(lora_loop()["model"], torch.device("cuda"))
    assert (item.label, item.fix.partition(" before")[0]) == (
        "warning",
        "model.to('cuda')",
    )
    assert item.says == "the model is on the CPU, but a device of type cuda is visible"
