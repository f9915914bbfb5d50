import math

import bitsandbytes as bnb
import pytest
import torch

from ftlab.faults.builders.tiny import trainable
from ftlab.probes.optimizer.moments import OptimizerMoments
from tests.models import batches, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def rows_after_a_step(model, *optimizers):
    model(**next(batches(1))).loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    bench = Bench(model, *optimizers)
    return rows_of(finished(OptimizerMoments().after_update(bench.moment())))


@pytest.mark.parametrize("fused", [True, False])
def test_reads_the_moments_of_adam(fused):
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3, fused=fused)
    rows = rows_after_a_step(model, optimizer)
    assert len(rows) == len(trainable(model))
    for row, parameter in enumerate(trainable(model)):
        state = optimizer.state[parameter]
        first = state["exp_avg"].double().norm().item()
        assert rows[row]["moment1_l2"] == pytest.approx(first, rel=1e-5)
        assert rows[row]["moment2_min"] == state["exp_avg_sq"].min().item()


def test_accumulates_half_precision_moments_in_float32():
    model = tiny_lora().to(torch.float16)
    optimizer = torch.optim.SGD(trainable(model), lr=1e-3, momentum=0.9)
    for parameter in trainable(model):
        parameter.grad = torch.full_like(parameter, 6e4)
    optimizer.step()
    bench = Bench(model, optimizer)
    rows = rows_of(finished(OptimizerMoments().after_update(bench.moment())))
    for row, parameter in enumerate(trainable(model)):
        exact = optimizer.state[parameter]["momentum_buffer"].double().norm().item()
        assert rows[row]["moment1_l2"] == pytest.approx(exact, rel=1e-5)
        assert "moment2_min" not in rows[row]


def test_reads_each_optimizer_that_holds_a_parameter():
    model = tiny_lora()
    adam = torch.optim.AdamW(trainable(model)[:4], lr=1e-3)
    plain = torch.optim.SGD(trainable(model)[4:], lr=1e-3)
    assert set(rows_after_a_step(model, adam, plain)) == {0, 1, 2, 3}


def test_leaves_8bit_states_out():
    model = tiny_lora(r=64)
    optimizer = bnb.optim.AdamW8bit(trainable(model), lr=1e-3, min_8bit_size=1)
    for parameter in trainable(model):
        state = optimizer.state[parameter]
        state["state1"] = torch.zeros(parameter.shape, dtype=torch.uint8)
        state["exp_avg"] = torch.zeros(parameter.shape, dtype=torch.uint8)
    bench = Bench(model, optimizer)
    assert rows_of(finished(OptimizerMoments().after_update(bench.moment()))) == {}


def test_reading_leaves_no_entry_in_the_optimizer():
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainable(model))
    bench = Bench(model, optimizer)
    assert list(OptimizerMoments().after_update(bench.moment())) == []
    assert len(optimizer.state) == 0


def after_a_step(model, **settings):
    """The optimizer and the rows after one step of AdamW."""
    optimizer = torch.optim.AdamW(trainable(model), **settings)
    return optimizer, rows_after_a_step(model, optimizer)


def test_reads_norm_and_largest_element_of_the_second_moment():
    model = tiny_lora()
    optimizer, rows = after_a_step(model)
    for row, parameter in enumerate(trainable(model)):
        second = optimizer.state[parameter]["exp_avg_sq"].double()
        assert rows[row]["moment2_l2"] == pytest.approx(second.norm().item(), rel=1e-5)
        assert rows[row]["moment2_max"] == pytest.approx(second.max().item(), rel=1e-6)


def test_overflow_of_a_second_moment_is_infinite():
    model = tiny_lora().to(torch.float16)
    optimizer = torch.optim.AdamW(trainable(model), eps=1e-4)
    for parameter in trainable(model):
        parameter.grad = torch.full_like(parameter, 2e4)  # 4e8 x 0.001 > 65504
    optimizer.step()
    bench = Bench(model, optimizer)
    rows = rows_of(finished(OptimizerMoments().after_update(bench.moment())))
    assert all(row["moment2_max"] == float("inf") for row in rows.values())


@pytest.mark.parametrize("settings", [{}, {"amsgrad": True}, {"eps": 1e-3}])
def test_counts_what_lies_below_the_floor_and_below_eps(settings):
    model = tiny_lora()
    optimizer, rows = after_a_step(model, **settings)
    eps = settings.get("eps", 1e-8)
    for row, parameter in enumerate(trainable(model)):
        state = optimizer.state[parameter]
        live = state["exp_avg"] != 0
        if not live.any():  # lora_A, while lora_B is 0
            assert math.isnan(rows[row]["floor_share"])
            assert math.isnan(rows[row]["eps_share"])
            continue
        second = state["exp_avg_sq"].double()[live]
        floor = (second < 1e-10).double().mean().item()
        root = (second / (1 - 0.999)).sqrt()
        assert rows[row]["floor_share"] == pytest.approx(floor)
        share = (root < eps).double().mean().item()
        assert rows[row]["eps_share"] == pytest.approx(share)


def test_rows_without_a_gradient_count_in_no_share():
    weight = torch.nn.Parameter(torch.ones(10, 4))
    model = torch.nn.Module()
    model.weight = weight
    optimizer = torch.optim.AdamW([weight])
    weight.grad = torch.zeros(10, 4)
    weight.grad[:2, 0] = 1e-3  # v = 1e-9
    weight.grad[:2, 1] = 1e-4  # v = 1e-11
    optimizer.step()
    rows = rows_of(finished(OptimizerMoments().after_update(Bench(model).moment())))
    assert rows == {}
    bench = Bench(model, optimizer)
    rows = rows_of(finished(OptimizerMoments().after_update(bench.moment())))
    assert rows[0]["floor_share"] == 0.5
    assert rows[0]["eps_share"] == 0


def test_a_large_tensor_is_counted_in_an_even_sample():
    weight = torch.nn.Parameter(torch.zeros(1024, 512))
    model = torch.nn.Module()
    model.weight = weight
    optimizer = torch.optim.AdamW([weight])
    weight.grad = torch.full_like(weight, 1e-5)
    weight.grad[:, ::4] = 1
    optimizer.step()
    bench = Bench(model, optimizer)
    rows = rows_of(finished(OptimizerMoments().after_update(bench.moment())))
    assert rows[0]["floor_share"] == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("step", [None, "not a pair of betas"])
def test_eps_of_another_kind_of_optimizer_is_not_judged(step):
    model = tiny_lora()
    optimizer, _ = after_a_step(model)
    if step is None:
        for state in optimizer.state.values():
            del state["step"]
    else:
        optimizer.param_groups[0]["betas"] = (0.9, 0.99, 0.999)
    bench = Bench(model, optimizer)
    rows = rows_of(finished(OptimizerMoments().after_update(bench.moment())))
    assert all(math.isnan(row["eps_share"]) for row in rows.values())
