"""The state of adapter layers, as it is whoever set it."""

import gc
import weakref

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, batches, lora, lora_config
from tests.probes.recording import Recording


def states(recording, step, op):
    """Return the described states of one kind of operation."""
    names = recording.names
    return [
        names[entry.detail["adapter_state"]].meta
        for entry in recording.ledger(step)
        if entry.op == op
    ]


def step(model, optimizer, before=None):
    if before is not None:
        before()
    loss = model(**batches()[0]).loss
    if loss.requires_grad:
        loss.backward()
    optimizer.step()


def trained():
    model = lora(modules_to_save=["lm_head"])
    return model, adamw(model)


def paths(model):
    return [n for n, m in model.named_modules() if hasattr(m, "lora_A")]


def test_a_healthy_run_has_one_state():
    model, optimizer = trained()
    with Recording(model, optimizer) as recording:
        for _ in range(3):
            step(model, optimizer)
    found = [n for n in recording.names.values() if n.table == "adapter_states"]
    assert len(found) == 1
    meta = found[0].meta
    assert (meta["layers"], meta["disabled"], meta["merged"]) == (5, 0, 0)
    assert meta["active"] == "default"


def by_flag(model):
    for module in model.modules():
        if hasattr(module, "lora_A"):
            module._disable_adapters = True


def by_method(model):
    for module in model.modules():
        if hasattr(module, "lora_A"):
            module.enable_adapters(False)


@pytest.mark.parametrize("off", [by_flag, by_method])
def test_disabled_layers_are_named_at_the_forward(off):
    model, optimizer = trained()
    with Recording(model, optimizer) as recording:
        step(model, optimizer)
        step(model, optimizer, before=lambda: off(model))
    assert states(recording, 0, "forward")[0]["disabled"] == 0
    (meta,) = states(recording, 1, "forward")
    assert meta["disabled_layers"].split(",") == paths(model)


def test_a_kept_module_is_not_off_for_an_adapter_without_a_copy():
    model, _ = trained()
    model.add_adapter("other", lora_config(model.get_base_model()))
    model.set_adapter("other")
    head = model.get_output_embeddings()
    head.enable_adapters(False)  # as PEFT before 0.19 does by itself
    optimizer = adamw(model)
    with Recording(model, optimizer) as recording:
        step(model, optimizer)
        step(model, optimizer, before=lambda: by_method(model))
    (meta,) = states(recording, 0, "forward")
    assert (meta["layers"], meta["disabled"]) == (4, 0)
    (meta,) = states(recording, 1, "forward")
    assert (meta["layers"], meta["disabled"]) == (4, 4)


def test_merged_layers_are_named_at_the_update():
    model, optimizer = trained()
    with Recording(model, optimizer) as recording:
        model(**batches()[0]).loss.backward()
        model.merge_adapter()
        optimizer.step()
    assert states(recording, 0, "forward")[0]["merged"] == 0
    (meta,) = states(recording, 0, "step")
    assert meta["merged_layers"].split(",") == paths(model)
    assert meta["merged_adapters"] == "default"


def test_the_active_adapter_is_read_at_forward_and_backward():
    model, optimizer = trained()
    model.add_adapter("b", model.peft_config["default"])
    with Recording(model, optimizer) as recording:
        loss = model(**batches()[0]).loss
        model.set_adapter("b")
        loss.backward()
        optimizer.step()
    assert states(recording, 0, "forward")[0]["active"] == "default"
    assert states(recording, 0, "backward")[0]["active"] == "b"


def test_layers_that_were_unloaded_are_a_state_of_none():
    model, optimizer = trained()
    with Recording(model, optimizer) as recording:
        step(model, optimizer)
        model.merge_and_unload()
        step(model, optimizer)
    assert states(recording, 1, "forward")[0]["layers"] == 0


def test_a_model_without_adapters_has_no_state():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    assert all("adapter_state" not in e.detail for e in recording.ledger(0))


def test_the_model_is_not_kept_alive():
    model, optimizer = trained()
    with Recording(model, optimizer):
        step(model, optimizer)
        gone = weakref.ref(model.base_model.model.model.layers[0])
        del model, optimizer
        gc.collect()
        assert gone() is None
