"""The dropouts of layers against those of the configuration."""

import pytest

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.adapter_config.adapter_facts import adapter_facts


def facts(model, adapter="default"):
    return adapter_facts(model)["adapters"][adapter]["dropouts"]


@pytest.mark.parametrize(("asked", "used"), [(0.0, "none"), (0.1, "0.1")])
def test_what_was_asked_for_is_what_was_made(asked, used):
    (entry,) = facts(lora(lora_dropout=asked)).values()
    assert entry == {"asked": asked, "used": {used: 4}, "shared": False}


def test_what_is_set_later_is_asked_for_and_not_made():
    model = lora()
    model.peft_config["default"].lora_dropout = 0.3
    entry = facts(model)["lora_dropout"]
    assert (entry["asked"], entry["used"]) == (0.3, {"none": 4})


def test_a_configuration_of_two_adapters_is_shared():
    model = lora()
    config = model.peft_config["default"]
    config.lora_dropout = 0.2
    model.add_adapter("second", config)
    assert facts(model)["lora_dropout"]["shared"]
    assert facts(model, "second")["lora_dropout"]["used"] == {"0.2": 4}


@pytest.mark.parametrize("name", ["VeraConfig", "LoHaConfig", "IA3Config"])
def test_other_methods_tell_what_they_keep_as_modules(name):
    import peft

    settings = {"target_modules": ["q_proj"]}
    if name == "IA3Config":
        settings["feedforward_modules"] = []
    model = peft.get_peft_model(llama(), getattr(peft, name)(**settings))
    expected = ["vera_dropout"] if name == "VeraConfig" else []
    assert list(facts(model)) == expected
