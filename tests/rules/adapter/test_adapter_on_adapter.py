"""ADP014."""

import warnings

import numpy as np
import torch
from peft import LoHaConfig, LoraConfig, get_peft_model

from ftlab.faults.builders.tiny import llama, lora
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.adapter_on_adapter import AdapterOnAdapter
from tests.runs import RunBuilder, found_by, only, places
from tests.wired import findings


def check(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return findings(AdapterOnAdapter(), model)


class Wrapper(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.net = model


def test_is_quiet_on_one_wrapper_wherever_it_is():
    assert check(lora()) == ()
    assert check(Wrapper(lora())) == ()
    assert check(lora(modules_to_save=["lm_head"])) == ()


def test_two_wrapped_models_side_by_side_are_not_nested():
    both = torch.nn.ModuleDict({"actor": lora(), "critic": lora()})
    assert check(both) == ()


def test_a_wrapper_in_a_wrapper():
    (finding,) = check(lora(lora()))
    assert finding.evidence == {"reason": "nested", "depth": 2, "threshold": 1}
    assert places(finding)[0] == "module base_model.model.base_model"
    prefix = "param base_model.model.base_model.model.model.layers.0"
    assert f"{prefix}.self_attn.q_proj.lora_B.default.weight" in places(finding)


def test_layers_left_over_from_a_first_call():
    base = llama()
    lora(base, target_modules=["q_proj"])
    finding = only(check(lora(base, target_modules=["v_proj"])), reason="left-over")
    assert "2 of 4 layers" in finding.message
    modules = [name for name in places(finding) if name.startswith("module")]
    assert len(modules) == 2
    assert all(name.endswith("q_proj") for name in modules)


def test_a_part_that_is_adapted_with_its_whole_is_no_left_over():
    model = torch.nn.ModuleDict({"mha": torch.nn.MultiheadAttention(8, 2)})
    assert check(get_peft_model(model, LoraConfig(target_modules=["mha"]))) == ()


def test_a_second_adapter_with_other_targets_is_no_left_over():
    from peft import LoraConfig

    model = lora(target_modules=["q_proj"])
    model.add_adapter("second", LoraConfig(target_modules=["v_proj"]))
    assert check(model) == ()


def test_a_layer_that_two_methods_share_is_no_left_over():
    model = get_peft_model(
        llama(), LoHaConfig(target_modules=["q_proj"]), adapter_name="one", mixed=True
    )
    model.add_adapter("two", LoraConfig(target_modules=["q_proj", "v_proj"]))
    model.set_adapter(["one", "two"])
    assert check(model) == ()


def test_unloading_leaves_nothing_over():
    first = lora(target_modules=["q_proj"])
    assert check(lora(first.unload(), target_modules=["v_proj"])) == ()


def test_experts_as_target_parameters_are_targets():
    from ftlab.faults.builders.tiny import fused_experts

    experts = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    assert check(lora(fused_experts(), target_parameters=experts)) == ()


def shared(*steps):
    """Report on models that were both called at ``steps``."""
    builder = RunBuilder()
    name = "layers.0.q_proj.lora_A.default.weight"
    meta = {"class": "PeftModelForCausalLM"}
    builder.run.append(NameRecord(0, "one_base", name, "param", "", meta=meta))
    for step in range(4):
        if step in steps:
            values = {"one_base": np.ones(1, np.float32)}
            builder.run.append(Block("one_base", step, np.zeros(1, np.int32), values))
        builder.step()
    builder.facts(model={"adapters": {"chain": [], "adapters": {}, "layers": 1}})
    return found_by(AdapterOnAdapter(), builder.run)


def test_two_models_on_one_base():
    assert shared(2) == ()
    finding = only(shared(1, 3), reason="one-base", steps=(1, 3))
    assert places(finding)[0] == "param layers.0.q_proj.lora_A.default.weight"
