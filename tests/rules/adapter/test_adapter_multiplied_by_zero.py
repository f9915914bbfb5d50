"""ADP011."""

import pytest

from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.tiny import llama, lora
from ftlab.rules.adapter.adapter_multiplied_by_zero import AdapterMultipliedByZero
from tests.runs import RunBuilder, found_by, only, places
from tests.wired import findings


def check(model):
    return findings(AdapterMultipliedByZero(), model)


def measured(*scalings, alpha=8, active=True):
    builder = RunBuilder()
    for index in range(len(scalings)):
        builder.pair(f"layers.{index}", "default", alpha=alpha, active=active)
    builder.facts(model={"adapters": {"adapters": {"default": {"parts": {}}}}})
    builder.step(None, {"scaling": list(scalings)})
    return found_by(AdapterMultipliedByZero(), builder.run)


@pytest.mark.parametrize("dropout", [0.0, 0.1, 0.99])
def test_is_quiet_on_an_ordinary_dropout(dropout):
    assert check(lora(lora_dropout=dropout)) == ()


def test_a_dropout_of_one():
    only(check(lora(lora_dropout=1.0)), "error", "config lora_dropout")


@pytest.mark.parametrize(
    ("tokens", "parts"), [(0, {}), (None, {"prompt": {"elements": 0}})]
)
def test_a_prompt_of_no_tokens(tokens, parts):
    builder = RunBuilder()
    builder.facts(
        model={
            "adapters": {"adapters": {"default": {"parts": parts}}},
            "peft": {"default": {"num_virtual_tokens": tokens}},
        }
    )
    (finding,) = found_by(AdapterMultipliedByZero(), builder.run)
    assert str(finding.place) == "config num_virtual_tokens"


def test_an_ordinary_prompt_is_quiet():
    from peft import PromptTuningConfig, get_peft_model

    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    assert check(get_peft_model(llama(), config)) == ()


def test_an_alpha_of_zero_stands_before_the_modules():
    finding = only(measured(0.0, 0.0, alpha=0), "error")
    assert places(finding) == [
        "config lora_alpha",
        "module model.layers.0.q",
        "module model.layers.1.q",
    ]


def test_one_layer_at_zero_is_a_warning_at_that_layer():
    only(measured(0.0, 2.0), "warning", "module model.layers.0.q")


def test_small_scalings_and_inactive_pairs_are_quiet():
    assert measured(1e-6, 2.0) == ()
    assert measured(0.0, 0.0, active=False) == ()


@pytest.mark.parametrize(
    ("kind", "settings", "place"),
    [
        ("LoHaConfig", {"module_dropout": 1.0}, "config module_dropout"),
        ("VeraConfig", {"vera_dropout": 1.0}, "config vera_dropout"),
        ("LoKrConfig", {"alpha": 0}, "config alpha"),
    ],
)
def test_other_methods_that_are_multiplied_by_zero(kind, settings, place):
    finding = only(check(tuned(kind, **settings)), "error")
    assert places(finding)[0] == place
    assert "4 of 4 layers" in finding.message


def test_some_layers_are_a_warning():
    model = tuned("LoHaConfig")
    layers = [m for m in model.modules() if hasattr(m, "module_dropout")]
    layers[0].module_dropout["default"] = 1.0
    only(check(model), "warning")


def test_a_scaling_of_lora_is_told_once():
    assert check(lora(lora_alpha=0)) == ()
