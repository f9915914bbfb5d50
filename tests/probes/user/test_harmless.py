import random

import numpy as np
import pytest
import torch

from ftlab.probes.user.harmless import WriteError, harmlessly


def test_gives_what_the_function_returns_and_makes_no_graph():
    weight = torch.nn.Parameter(torch.ones(2))
    found = harmlessly(lambda tensor: (tensor * weight).sum(), torch.ones(2), [])
    assert float(found) == 2.0
    assert found.grad_fn is None


def test_all_generators_stand_where_they_stood():
    def draw(_):
        return torch.rand(3).sum(), random.random(), np.random.randn()

    def states():
        return (
            torch.get_rng_state().tolist(),
            random.getstate(),
            np.random.get_state()[1:],
        )

    before = repr(states())
    first = harmlessly(draw, None, [])
    assert repr(states()) == before
    assert harmlessly(draw, None, []) == first


def test_generators_are_put_back_after_an_error_too():
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError):
        harmlessly(lambda _: torch.rand(1) / (1 // 0), None, [])
    assert torch.equal(torch.get_rng_state(), before)


def test_autocast_keeps_no_cast_that_the_function_caused():
    inside = []
    with torch.autocast("cpu", torch.bfloat16):
        before = torch.is_autocast_cache_enabled()
        harmlessly(lambda _: inside.append(torch.is_autocast_cache_enabled()), None, [])
        assert torch.is_autocast_cache_enabled() is before
    assert inside == [False]


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[1:], lambda x: x.view(2, 2)])
def test_a_view_is_as_safe_as_the_tensor(view):
    tensor = torch.ones(4)
    with pytest.raises(WriteError, match=r"aten\.zero_ would write"):
        harmlessly(lambda look: view(look).zero_(), tensor.detach(), [tensor])
    assert tensor.tolist() == [1.0] * 4


def test_a_write_that_went_past_is_told_all_the_same():
    tensor = torch.ones(4)

    def bump(look):
        with torch.utils._python_dispatch._disable_current_modes():
            look.zero_()

    with pytest.raises(WriteError, match="is changed"):
        harmlessly(bump, tensor.detach(), [tensor])


def test_what_has_no_storage_may_be_looked_at():
    sparse = torch.eye(3).to_sparse()
    assert float(harmlessly(torch.sum, sparse, [sparse])) == 3.0
