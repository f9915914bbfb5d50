"""Modules with several names, of which one has the adapter."""

from ftlab.faults.adapter.placement.shared_layer_wrapped_once import build
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.model.shared_layers import half_wrapped

FIRST = "base_model.model.model.layers.0.self_attn.q_proj"
SECOND = "base_model.model.model.layers.1.self_attn.q_proj"


def shared(**settings):
    model = llama()
    first, second = model.model.layers
    second.self_attn.q_proj = first.self_attn.q_proj
    return lora(model, **settings)


def test_the_place_without_an_adapter_is_named():
    assert half_wrapped(shared()) == {FIRST: [SECOND]}
    assert half_wrapped(build(True).model) == {}


def test_a_place_that_was_not_asked_for_is_left_alone():
    targets = ["layers.0.self_attn.q_proj", "v_proj"]
    assert half_wrapped(shared(target_modules=targets)) == {}


def test_tied_weights_are_two_modules():
    model = lora(llama(tie_word_embeddings=True), target_modules=["lm_head"])
    assert half_wrapped(model) == {}
    assert half_wrapped(llama()) == {}
