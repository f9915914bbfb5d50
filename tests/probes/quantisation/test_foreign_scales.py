"""Scales of 4-bit weights against their codes."""

import pytest
import torch

from ftlab.probes.facts import facts_signature
from ftlab.probes.quantisation.foreign_scales import foreign_scales, writes
from ftlab.probes.subject import Subject

bitsandbytes = pytest.importorskip("bitsandbytes")


def quantised(weight, **settings):
    layer = bitsandbytes.nn.Linear4bit(*reversed(weight.shape), bias=False)
    layer.weight = bitsandbytes.nn.Params4bit(weight, requires_grad=False, **settings)
    return layer.to("cpu")


def drawn(seed, shape=(128, 256)):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def compared(given, own):
    """Load the bytes of one weight over another one, and look."""
    own.load_state_dict({"weight": given.weight.data.clone()}, strict=False)
    return foreign_scales([("a", own)])


@pytest.fixture(params=[("nf4", False), ("nf4", True), ("fp4", False)], ids=str)
def settings(request):
    return {"quant_type": request.param[0], "compress_statistics": request.param[1]}


def test_what_was_only_quantised_is_not_read():
    layer = quantised(drawn(0))
    assert foreign_scales([("a", layer)]) == {}
    assert writes(layer.parameters()) == 0


def test_scales_of_the_same_weights_fall_as_they_do_within_blocks(settings):
    found = compared(quantised(drawn(0), **settings), quantised(drawn(0), **settings))
    assert found["written"] == ["a"]
    assert found["blocks"] == 128 * 256 // 64
    assert found["slope"] == pytest.approx(found["own"], rel=0.2)
    assert found["own"] < -0.9


def test_scales_of_other_weights_do_not_follow_the_codes(settings):
    found = compared(quantised(drawn(0), **settings), quantised(drawn(1), **settings))
    assert abs(found["slope"]) < 4 * found["error"] < 0.3
    assert found["own"] < -0.9


def test_the_slope_is_that_of_the_values_themselves():
    weight = drawn(0, (64, 64))
    found = compared(quantised(weight), quantised(weight))
    blocks = weight.view(-1, 64)
    scales = blocks.abs().amax(1)
    codes = (blocks / scales[:, None]).square().mean(1).sqrt().log()
    both = torch.stack([codes, scales.log()]).double().cov()
    assert found["slope"] == pytest.approx(float(both[0, 1] / both[0, 0]), rel=0.05)


def test_weights_whose_largest_values_are_all_alike_cannot_tell():
    weight = torch.rand(128, 256, generator=torch.Generator().manual_seed(0)) - 0.5
    assert compared(quantised(weight), quantised(weight))["own"] > -0.2


def test_pruned_weights_are_left_alone():
    kept = torch.rand(128, 256, generator=torch.Generator().manual_seed(1)) < 0.1
    weight = drawn(0) * kept
    assert compared(quantised(weight), quantised(weight)) == {}


def test_rows_of_other_sizes_do_not_hide_it():
    sizes = drawn(2, (128, 1)).exp()
    found = compared(quantised(drawn(0) * sizes), quantised(drawn(0) * sizes))
    assert found["slope"] == pytest.approx(found["own"], rel=0.2)


def test_a_shard_of_the_bytes_is_left_alone():
    layer = quantised(drawn(0))
    layer.weight.data = layer.weight.data[: len(layer.weight) // 2].clone()
    layer.weight.copy_(layer.weight.clone())
    assert writes(layer.parameters()) > 0
    assert foreign_scales([("a", layer)]) == {}


def test_a_load_is_a_write_after_which_facts_are_read_again():
    layer = quantised(drawn(0))
    subject = Subject(layer, [])
    before = facts_signature(subject)
    compared(quantised(drawn(1)), layer)
    assert writes(layer.parameters()) == 1
    assert facts_signature(subject) != before
