"""Which adapters are one memory."""

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter.shared_adapters import shared_adapters


def two():
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    return model


def pairs(model):
    known = dict(model.named_parameters())
    for name, parameter in known.items():
        if ".default." in name:
            yield name, parameter, known[name.replace(".default.", ".second.")]


def test_adapters_have_memory_of_their_own():
    assert shared_adapters(two()) == []
    assert shared_adapters(lora()) == []
    assert shared_adapters(llama()) == []


def test_names_both_the_frozen_ones_first():
    model = two()
    for _, one, other in pairs(model):
        other.data = one.data
    (found,) = shared_adapters(model)
    assert found["adapters"] == ["default", "second"]
    assert found["shared"] == found["pairs"] == 4
    assert found["trainable"]
    half = len(found["tensors"]) // 2
    assert all(".second." in name for name in found["tensors"][:half])
    assert all(".default." in name for name in found["tensors"][half:])


def test_one_factor_may_be_in_common():
    model = two()
    for name, one, other in pairs(model):
        if "lora_A" in name:
            other.data = one.data
    assert shared_adapters(model) == []


def test_one_parameter_under_two_names_counts():
    model = two()
    for module in model.modules():
        if hasattr(module, "lora_A"):
            module.lora_A["second"] = module.lora_A["default"]
            module.lora_B["second"] = module.lora_B["default"]
    (found,) = shared_adapters(model)
    assert found["shared"] == 4
