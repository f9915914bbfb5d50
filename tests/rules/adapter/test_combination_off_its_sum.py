"""ADP038."""

import math

import pytest

from ftlab.faults.adapter.several_adapters.combined_with_rslora import (
    combine,
    two_trained,
)
from ftlab.rules.adapter.combination_off_its_sum import CombinationOffItsSum
from tests.runs import RunBuilder, found_by, only, places
from tests.wired import findings


def check(weights, scaling, *, active=("both",), rslora=True, alpha=16, lost=()):
    builder = RunBuilder()
    found = {"weights": weights, "scaling": scaling, "layers": 2, "lost": list(lost)}
    config = {"r": 16, "lora_alpha": alpha, "use_rslora": rslora}
    described = {"adapters": {"both": {"parts": {}}}, "combinations": {"both": found}}
    builder.facts(
        model={
            "adapters": described,
            "active_adapters": list(active),
            "peft": {"both": config},
        }
    )
    return found_by(CombinationOffItsSum(), builder.run)


def test_a_sum_that_is_four_times_too_strong():
    finding = only(check({"a": 2.0, "b": 2.0}, 4.0), "error")
    assert "4 times 0.5 x a + 0.5 x b" in finding.message
    assert places(finding) == [
        "call add_weighted_adapter",
        "config use_rslora",
        "object adapter both",
    ]


def test_weights_that_are_round_only_without_the_scaling_were_typed_so():
    root = math.sqrt(8)
    assert len(check({"a": 0.3 * root, "b": 0.2 * root}, root)) == 1


def test_weights_that_were_divided_on_purpose_are_left_alone():
    assert check({"a": 0.5, "b": 0.5}, math.sqrt(8)) == ()
    assert check({"a": 0.5, "b": 0.5}, 2.0) == ()


def test_a_scaling_of_1_adds_nothing_of_its_own():
    assert check({"a": 1.0, "b": 1.5}, 1.0) == ()


@pytest.mark.parametrize("other", [{"rslora": False}, {"alpha": 32}, {"active": ()}])
def test_other_scalings_and_idle_adapters_are_not_judged(other):
    assert check({"a": 2.0, "b": 2.0}, 4.0, **other) == ()


def test_what_the_sources_have_besides_and_the_sum_has_not():
    first, second = check({"a": 0.5}, 1.0, lost=("biases", "magnitudes"))
    assert str(first.place) == "config lora_bias"
    assert str(second.place) == "config use_dora"


@pytest.mark.parametrize("kind", ["cat", "svd", "linear"])
def test_peft_s_own_combinations(kind):
    for rslora, count in ((False, 0), (True, 1)):
        model = two_trained(use_rslora=rslora)
        combine(model, [1.0, 0.5], kind)
        assert len(findings(CombinationOffItsSum(), model)) == count


def test_an_identity_combination_of_dora_lacks_its_magnitudes():
    model = two_trained(use_dora=True)
    for name, parameter in model.named_parameters():
        if "magnitude" in name:
            parameter.data *= 1.2
    combine(model, [1.0, 0.0], "cat")
    only(findings(CombinationOffItsSum(), model), reason="magnitudes")


def test_a_head_that_was_left_behind_is_to_be_copied():
    (finding,) = check({"a": 0.5, "b": 0.5}, 1.0, rslora=False, lost=["heads"])
    assert finding.evidence["reason"] == "heads"
    assert places(finding)[0] == "config modules_to_save"
    assert "modules_to_save['both'].load_state_dict" in finding.fix


LEFT = {"adapter": "mix", "active": "b", "forwards": 2}


def after(*ops, peft=("a", "b")):
    builder = RunBuilder().facts(model={"peft": {name: {} for name in peft}})
    builder.step(ops=[("step", "optimizer 0", {}), *ops])
    return builder.run


def test_a_combination_that_was_passed_by_is_named():
    run = after(("unused", "adapters", LEFT))
    found = only(found_by(CombinationOffItsSum(), run), "warning")
    assert found.message == (
        "step 0: adapter 'mix' was combined from others but never used: 2 forwards "
        "after it ran 'b'"
    )
    assert found.fix == "Call model.set_adapter('mix') before the model is evaluated."
    assert places(found) == [
        "call set_adapter",
        "call add_weighted_adapter",
        "config active_adapters",
        "object adapter mix",
    ]
