"""ADP016."""

from ftlab.faults.adapter.freezing.letters_in_a_name import build as with_letters
from ftlab.faults.builders.tiny import gpt2, lora
from ftlab.probes.model.model_facts import model_facts
from ftlab.records.finding import Severity
from ftlab.rules.adapter.base_trained_with_adapter import BaseTrainedWithAdapter
from tests.runs import RunBuilder, found_by, only
from tests.wired import findings


def check(model):
    return findings(BaseTrainedWithAdapter(), model)


def test_a_base_that_is_trained_too():
    finding = only(check(lora().requires_grad_(True)), "warning")
    assert finding.evidence["weights_under_adapters"] == 4
    assert finding.place.name.endswith("0.self_attn.q_proj.base_layer.weight")


def test_one_weight_under_an_adapter_is_enough():
    model = lora()
    layer = model.base_model.model.model.layers[1].self_attn.v_proj
    layer.base_layer.weight.requires_grad_(True)
    only(check(model), weights_under_adapters=1)


def test_other_weights_and_kept_modules_are_quiet():
    model = lora(modules_to_save=["lm_head"])
    model.base_model.model.model.norm.weight.requires_grad_(True)
    assert check(model) == ()


def test_biases_that_were_asked_for_are_only_noted():
    only(check(lora(gpt2(), bias="all")), "info", "config bias")
    assert check(lora(gpt2())) == ()


def test_biases_that_were_unfrozen_by_hand_were_not_asked_for():
    model = lora(gpt2())
    model.base_model.model.transformer.ln_f.bias.requires_grad_(True)
    assert check(model) == ()


def passed(steps=3, *, grad=False, **meta):
    """Check biases in a run whose last step has a forward in this state."""
    builder = RunBuilder()
    builder.facts(model=model_facts(lora(gpt2(), bias="all")))
    state = builder.state(**({"disabled_layers": "a,b"} | meta))
    for step in range(steps):
        seen = ("forward", "model", {"grad_enabled": grad, **state})
        builder.step(ops=[seen] if step == steps - 1 else [])
    (finding,) = found_by(BaseTrainedWithAdapter(), builder.run)
    return finding


def test_a_reference_with_trained_biases_is_a_warning():
    finding = passed()
    assert finding.severity is Severity.WARNING
    assert finding.evidence["reason"] == "reference"
    names = [str(place) for place in finding.places[:2]]
    assert names == ["config bias", "call disable_adapter"]


def test_other_passes_are_no_reference_that_has_moved():
    others = [passed(1), passed(grad=True), passed(disabled_layers="a")]
    assert {finding.severity for finding in others} == {Severity.INFO}


def test_letters_within_a_name_are_a_warning():
    finding = only(check(with_letters(False).model), "warning", reason="letters")
    assert finding.place.name.endswith("floral.weight")
    assert check(with_letters(True).model) == ()


def copied(kept):
    """Check a model that keeps one of its two targets as a copy."""
    model = lora(target_modules=["q_proj", "lm_head"], modules_to_save=kept)
    builder = RunBuilder().facts(model=model_facts(model))
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            builder.tensor(name)
    builder.step()
    return found_by(BaseTrainedWithAdapter(), builder.run)


def test_a_target_that_is_kept_as_a_copy_is_trained_in_full():
    finding = only(copied(["q_proj"]), "warning", tensors=2)
    assert ".q_proj.modules_to_save." in finding.place.name


def test_a_head_that_is_kept_so_is_noted_and_others_are_quiet():
    only(copied(["lm_head"]), "info")
    assert copied(["norm"]) == ()
