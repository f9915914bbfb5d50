"""MOD002: blocks that are trained but for their quantised matrices."""

from ftlab.rules.model.quantised_weights_never_train import QuantisedWeightsNeverTrain
from tests.runs import RunBuilder, found_by, only


def run(*trained, **model):
    builder = RunBuilder()
    for name, role in trained:
        builder.tensor(name, meta={"role": role})
    facts = {"class": "Toy", "quantized": ["m.layers.0.q"], "peft": {}} | model
    builder.facts(model=facts).step()
    return found_by(QuantisedWeightsNeverTrain(), builder.run)


NORM = ("m.layers.0.norm.weight", "weight")
HEAD = ("m.head.weight", "weight")


def test_trained_norms_between_quantised_matrices_are_found():
    found = only(run(NORM, HEAD), place="module m.layers.0.q")
    assert "param m.layers.0.q.weight" in map(str, found.places)


def test_a_head_alone_is_meant():
    assert run(HEAD) == ()


def test_an_adapter_is_the_cure():
    lora = ("m.layers.0.q.lora_A.default.weight", "lora_A")
    assert run(NORM, lora, peft={"default": {"peft_type": "LORA"}}) == ()
    assert run(NORM, lora) == ()


def test_a_model_that_is_not_quantised_does_not_concern_it():
    assert run(NORM, HEAD, quantized=[]) == ()


def test_a_model_that_is_only_used_is_left_alone():
    builder = RunBuilder()
    builder.tensor("m.layers.0.norm.weight", meta={"role": "weight"})
    builder.facts(model={"class": "Toy", "quantized": ["m.layers.0.q"], "peft": {}})
    rule = QuantisedWeightsNeverTrain()
    assert found_by(rule, builder.run) == ()
