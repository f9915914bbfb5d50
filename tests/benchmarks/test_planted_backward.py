"""Changes of backward alone: forward stays, and the place is named."""

import random
from collections import Counter

import pytest
import torch

from benchmarks.planted_backward import Wrong, plant, reaches
from benchmarks.planted_pairs import Planted, _planted, batch, build


@pytest.mark.parametrize(
    ("seed", "extra", "dtype"), [(3, "", torch.float32), (8, "lora", torch.bfloat16)]
)
def test_a_changed_gradient_is_named_and_nothing_stays(seed, extra, dtype, capsys):
    draw, count = random.Random(seed), Counter()
    while not count["planted"]:
        models = [build("llama", dtype, extra, 1) for _ in "ab"]
        planted = plant(models[1], dtype, draw)
        _planted(count, models, batch(draw), planted, "llama")
    assert count == {"planted": 1, "module": 1, "op": 1}
    assert capsys.readouterr().out == ""
    for module in models[1].modules():
        assert not module._forward_hooks
        assert not module._backward_hooks
        assert not vars(module).keys() & module._modules.keys()


def test_an_identity_may_have_another_gradient():
    x = torch.ones(2, requires_grad=True)
    out = Wrong.apply(x, lambda gradient: gradient * 3)
    assert torch.equal(out, x)
    out.sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_what_no_weight_shows_is_not_planted():
    models = [build("llama", torch.float32, "", 1) for _ in "ab"]
    given, planted = batch(random.Random(0)), Planted("", "", "")
    assert not reaches(planted, *models, given)
    handle = models[1].lm_head.weight.register_hook(lambda gradient: gradient * 2)
    assert reaches(planted, *models, given)
    handle.remove()
    models[1].lm_head.weight.requires_grad_(False)
    assert reaches(planted, *models, given)
