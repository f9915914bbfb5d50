import pytest

from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.tiny import lora
from ftlab.probes.adapter.adapter_tree import adapted_layers
from ftlab.probes.adapter_config.adapter_switches import switched_off


def found(model):
    switched = switched_off(adapted_layers(model), "default")
    return {setting: each["count"] for setting, each in switched.items()}


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        ("LoraConfig", "lora_dropout"),
        ("VeraConfig", "vera_dropout"),
        ("LoHaConfig", "rank_dropout"),
        ("LoHaConfig", "module_dropout"),
        ("LoKrConfig", "module_dropout"),
    ],
)
def test_a_dropout_of_one(kind, setting):
    assert found(tuned(kind, **{setting: 1.0})) == {setting: 4}
    assert found(tuned(kind, **{setting: 0.5})) == {}


def test_a_scaling_of_zero():
    assert found(tuned("LoHaConfig", alpha=0)) == {"scaling": 4}
    assert found(tuned("LoHaConfig", alpha=1)) == {}


def test_a_single_layer_that_was_changed_by_hand():
    model = lora()
    layer = next(iter(adapted_layers(model)))
    layer.module.scaling["default"] = 0.0
    assert found(model) == {"scaling": 1}
