"""Attention that is registered with transformers is compared with the library's."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

import ftlab
from tests.laboratory.activations.families import family, padded_batch

HEALTHY = {"scale": None, "interleaved": True, "causal": True, "keys": False}
FAULTS = {
    "scores that are not scaled": {"scale": 1.0},
    "heads of keys and values in the order of repeat": {"interleaved": False},
    "tokens see later ones": {"causal": False},
    "attention that sums keys, not values": {"keys": True},
}


def attention(scale, interleaved, causal, keys):
    def attend(module, query, key, value, mask, **given):
        times = module.num_key_value_groups
        key, value = (
            e.repeat_interleave(times, 1) if interleaved else e.repeat(1, times, 1, 1)
            for e in (key, value)
        )
        value = key if keys else value
        out = scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=mask,
            is_causal=causal and mask is None,
            scale=scale,
        )
        return out.transpose(1, 2).contiguous(), None

    return attend


@pytest.fixture
def registered():
    def put(knobs, masks):
        AttentionInterface.register("mine", attention(**{**HEALTHY, **knobs}))
        if masks:
            AttentionMaskInterface.register("mine", sdpa_mask)
        model = family("Llama")
        model.set_attn_implementation("mine")
        return model

    yield put
    for each in (AttentionInterface, AttentionMaskInterface):
        each._global_mapping.pop("mine", None)


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_right_one_is_passed(registered, masks, dtype):
    model = registered({}, masks).to(dtype)
    found = ftlab.activations(model, padded_batch())
    assert not found.faults, found
    assert not found.summary.unchecked, found
    assert found.summary.parts
    assert model.config._attn_implementation == "mine"


@pytest.mark.parametrize("said", FAULTS)
def test_a_mistake_in_one_is_named(registered, said):
    found = ftlab.activations(registered(FAULTS[said], False), padded_batch())
    faults = [each for each in found.faults if each.component == "attention"]
    assert [said in each.said for each in faults] == [True], found
    assert len(faults[0].places) == 2


def test_one_that_no_known_mistake_explains_is_a_warning(registered):
    found = ftlab.activations(registered({"scale": 0.7}, True), padded_batch())
    (fault,) = found.faults
    assert (fault.severity, found.ok) == ("warning", False)
