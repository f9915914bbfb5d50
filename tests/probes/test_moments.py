import bitsandbytes as bnb
import pytest
import torch

from ftlab.probes.moments import OptimizerMoments
from tests.models import batches, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def trainables(model):
    return [p for p in model.parameters() if p.requires_grad]


def rows_after_a_step(model, *optimizers):
    model(**next(batches(1))).loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    bench = Bench(model, *optimizers)
    return rows_of(finished(OptimizerMoments().after_update(bench.moment())))


@pytest.mark.parametrize("fused", [True, False])
def test_reads_the_moments_of_adam(fused):
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainables(model), lr=1e-3, fused=fused)
    rows = rows_after_a_step(model, optimizer)
    assert len(rows) == len(trainables(model))
    for row, parameter in enumerate(trainables(model)):
        state = optimizer.state[parameter]
        first = state["exp_avg"].double().norm().item()
        assert rows[row]["moment1_l2"] == pytest.approx(first, rel=1e-5)
        assert rows[row]["moment2_min"] == state["exp_avg_sq"].min().item()


def test_accumulates_half_precision_moments_in_float32():
    model = tiny_lora().to(torch.float16)
    optimizer = torch.optim.SGD(trainables(model), lr=1e-3, momentum=0.9)
    for parameter in trainables(model):
        parameter.grad = torch.full_like(parameter, 6e4)
    optimizer.step()
    bench = Bench(model, optimizer)
    rows = rows_of(finished(OptimizerMoments().after_update(bench.moment())))
    for row, parameter in enumerate(trainables(model)):
        exact = optimizer.state[parameter]["momentum_buffer"].double().norm().item()
        assert rows[row]["moment1_l2"] == pytest.approx(exact, rel=1e-5)
        assert "moment2_min" not in rows[row]


def test_reads_each_optimizer_that_holds_a_parameter():
    model = tiny_lora()
    adam = torch.optim.AdamW(trainables(model)[:4], lr=1e-3)
    plain = torch.optim.SGD(trainables(model)[4:], lr=1e-3)
    assert set(rows_after_a_step(model, adam, plain)) == {0, 1, 2, 3}


def test_leaves_8bit_states_out():
    model = tiny_lora(r=64)
    optimizer = bnb.optim.AdamW8bit(trainables(model), lr=1e-3, min_8bit_size=1)
    for parameter in trainables(model):
        state = optimizer.state[parameter]
        state["state1"] = torch.zeros(parameter.shape, dtype=torch.uint8)
        state["exp_avg"] = torch.zeros(parameter.shape, dtype=torch.uint8)
    bench = Bench(model, optimizer)
    assert rows_of(finished(OptimizerMoments().after_update(bench.moment()))) == {}


def test_reading_leaves_no_entry_in_the_optimizer():
    model = tiny_lora()
    optimizer = torch.optim.AdamW(trainables(model))
    bench = Bench(model, optimizer)
    assert list(OptimizerMoments().after_update(bench.moment())) == []
    assert len(optimizer.state) == 0
