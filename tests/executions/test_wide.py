"""Computing in float64 what is stored in less."""

import copy

import pytest
import torch
from torch import nn

from ftlab.executions.wide import Wide
from tests.executions.sides import SMALL, Small, padded, small_batch, tiny


def test_a_bf16_layer_computes_in_float64_and_stays_in_bf16():
    layer, x = nn.Linear(64, 64).bfloat16(), torch.randn(2, 64).bfloat16()
    exact = copy.deepcopy(layer).double()(x.double())
    with Wide():
        out = layer(x)
    assert out.dtype == torch.float64
    assert torch.allclose(out, exact, rtol=1e-14)
    assert layer.weight.dtype == torch.bfloat16


def test_what_code_casts_down_is_not_rounded():
    x = torch.rand(16, dtype=torch.float64)
    with Wide(), torch.autocast("cpu", dtype=torch.bfloat16):
        down = x.to(torch.bfloat16)
        made = torch.zeros(2, dtype=torch.float16) + 1e-12
        product = torch.eye(16) @ x.float()[:, None]
    assert torch.equal(down, x)
    assert made.tolist() == [1e-12, 1e-12]
    assert torch.equal(product[:, 0], x)


def test_whole_numbers_and_masks_stay_what_they_are():
    with Wide():
        ids, mask = torch.arange(3) + 1, torch.ones(3, dtype=torch.bool)
    assert (ids.dtype, mask.dtype) == (torch.int64, torch.bool)


def test_what_is_changed_in_place_keeps_its_dtype_and_its_memory():
    model, batch = Small(), small_batch()
    buffer = model.layers[1].running_mean
    with Wide():
        model(**batch)
    assert model.layers[1].running_mean is buffer
    assert buffer.dtype == torch.float32
    assert model.layers[1].num_batches_tracked == 1
    narrow = torch.zeros(2, dtype=torch.bfloat16)
    with Wide():
        narrow.add_(torch.ones(2, dtype=torch.float64) / 2)
    assert (narrow.dtype, narrow.tolist()) == (torch.bfloat16, [0.5, 0.5])


def test_gradients_arrive_in_their_parameters_dtype():
    layer, x = nn.Linear(3, 3).bfloat16(), torch.ones(1, 3).bfloat16()
    with Wide():
        layer(x).square().sum().backward()
    assert layer.weight.grad.dtype == torch.bfloat16
    with torch.no_grad(), Wide():
        exact = layer(x) * 2
    assert torch.equal(layer.bias.grad, exact[0].bfloat16())


def experts(x, weight, offs):
    ends = [0, *offs.tolist()]
    return torch.cat([x[ends[g] : ends[g + 1]] @ weight[g] for g in range(len(weight))])


def test_grouped_matrices_equal_a_loop_over_experts():
    torch.manual_seed(0)
    x, weight = torch.randn(10, 8), torch.randn(3, 8, 16)
    x, weight = x.bfloat16().requires_grad_(), weight.bfloat16().requires_grad_()
    offs = torch.tensor([4, 4, 10], dtype=torch.int32)
    wide = [t.detach().double().requires_grad_() for t in (x, weight)]
    exact = experts(*wide, offs)
    exact.square().sum().backward()
    with Wide():
        out = nn.functional.grouped_mm(x, weight, offs=offs)
        out.square().sum().backward()
    assert torch.allclose(out, exact, rtol=1e-13)
    for narrow, each in zip((x, weight), wide, strict=True):
        assert torch.equal(narrow.grad, each.grad.bfloat16())


@pytest.fixture
def of_floats_alone():
    """An operation of torch's own namespace that has no double."""
    library = torch.library.Library("prims", "FRAGMENT")
    library.define("ftlab_half(Tensor x) -> Tensor")

    def half(x):
        if x.dtype == torch.float64:
            msg = '"half" not implemented for Double'
            raise NotImplementedError(msg)
        return x / 2

    library.impl("ftlab_half", half, "CompositeExplicitAutograd")
    yield torch.ops.prims.ftlab_half.default
    library._destroy()


def test_an_operation_without_double_is_given_float32_and_widened(of_floats_alone):
    x = torch.ones(2, dtype=torch.bfloat16)
    with Wide() as wide:
        out = of_floats_alone(of_floats_alone(x))
    assert (out.dtype, out.tolist()) == (torch.float64, [0.25, 0.25])
    assert wide.unable == {of_floats_alone}


def test_an_error_of_the_code_is_still_one():
    with Wide(), pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.ones(2, 3) @ torch.ones(2, 3)


def test_weights_are_moved_by_up_to_half_a_spacing():
    layer = nn.Linear(100, 100, bias=False)
    weight = layer.weight.detach().double()
    with torch.no_grad(), Wide(rounding=1e-2, weights=layer.parameters()):
        moved = layer(torch.eye(100)).T
    share = moved / weight - 1
    assert 4e-3 < share.abs().max() < 5.001e-3
    with torch.no_grad(), Wide(weights=layer.parameters()):
        assert torch.equal(layer(torch.eye(100)).T, weight)


def test_mixtral_runs_in_float64():
    shape = SMALL | {"num_local_experts": 4, "num_experts_per_tok": 2}
    model, batch = tiny.mixtral(0, **shape), padded()
    looping = copy.deepcopy(model)
    looping.set_experts_implementation("eager")
    with torch.no_grad():
        near = model(**batch).logits
        with Wide():
            logits, exact = (each(**batch).logits for each in (model, looping))
    assert torch.allclose(logits, exact, rtol=1e-10, atol=1e-14)
    assert torch.allclose(logits.float(), near, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_hooks_of_parameters_may_compute(dtype):
    layer, x = nn.Linear(2, 2).to(dtype), torch.ones(1, 2, dtype=dtype)
    layer.weight.register_hook(lambda gradient: gradient * 2.0)
    with Wide():
        layer(x).sum().backward()
    assert layer.weight.grad.dtype == dtype
    assert layer.weight.grad.tolist() == [[2, 2], [2, 2]]
