import pytest

from ftlab.faults.builders.methods import last_feed_forward, ranked, rescaled, tuned
from ftlab.faults.builders.tiny import base, batches, trainable
from ftlab.faults.variation import Variation, varied

DOWN = {
    "llama": ["down_proj"],
    "gpt2": ["mlp.c_proj"],
    "neox": ["dense_4h_to_h"],
    "own": ["grow"],
}


@pytest.mark.parametrize(("family", "names"), DOWN.items())
def test_each_family_has_one_last_feed_forward_layer(family, names):
    with varied(Variation(family=family)):
        assert last_feed_forward(base()) == names


@pytest.mark.parametrize("family", DOWN)
def test_the_adapter_is_named_as_the_variation_says(family):
    with varied(Variation(family=family, adapter="mine")):
        for model in (tuned("VeraConfig"), rescaled()):
            assert list(model.peft_config) == ["mine"]
            assert trainable(model)


def test_adalora_is_for_a_run_of_so_many_steps():
    model = ranked(30)
    assert model.peft_config["default"].total_step == 30
    model(**batches(1)[0]).loss.backward()
    model.base_model.update_and_allocate(1)
