import pytest
import torch

from ftlab.faults.builders.own_model import OwnModel
from ftlab.probes.model.buffer_facts import buffer_facts
from tests.models import tiny_llama


def test_a_whole_model_has_nothing_bad_and_was_compared():
    model = tiny_llama()
    facts = buffer_facts(model)
    assert facts["bad"] == {}
    assert facts["meta"] == []
    assert facts["compared"] == len([*model.buffers()]) > 0


@pytest.mark.parametrize("value", [0.0, float("nan"), 1e35])
def test_frequencies_that_nothing_filled_are_bad(value):
    model = tiny_llama()
    model.model.rotary_emb.inv_freq.fill_(value)
    assert list(buffer_facts(model)["bad"]) == ["model.rotary_emb.inv_freq"]


def test_rounding_is_let_pass():
    assert buffer_facts(tiny_llama().bfloat16())["bad"] == {}


def test_frequencies_that_change_with_the_length_are_not_compared():
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    model = tiny_llama(rope_scaling=rope)
    model.model.rotary_emb.inv_freq.mul_(2)
    assert buffer_facts(model)["bad"] == {}


def test_a_mask_may_hold_the_lowest_number_and_infinity():
    model = torch.nn.Linear(2, 2)
    model.register_buffer("mask", torch.tensor([torch.finfo().min, -torch.inf, 0.0]))
    assert buffer_facts(model)["bad"] == {}


def test_reading_draws_no_random_number():
    state = torch.get_rng_state()
    buffer_facts(tiny := tiny_llama())
    after = torch.get_rng_state()
    tiny_llama()
    torch.set_rng_state(state)
    assert tiny is not None
    tiny_llama()
    assert torch.equal(after, torch.get_rng_state())


def test_what_is_left_on_meta_is_named():
    with torch.device("meta"):
        model = OwnModel(8, 16, 1)
    model.words.to_empty(device="cpu")
    names = buffer_facts(model)["meta"]
    assert "verdict.weight" in names
    assert "words.weight" not in names
