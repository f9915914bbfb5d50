"""Zeros and coarse numbers, against a count of each gradient's bits."""

import numpy as np
import pytest
import torch

from ftlab.probes.precision.coarse_gradients import CoarseGradients
from tests.models import batches, tiny_llama
from tests.probes.moments_of import Bench, finished, rows_of


def look(model):
    bench = Bench(model)
    with torch.no_grad():
        rows = rows_of(finished(CoarseGradients().on_gradients(bench.moment())))
    names = {row: name for (_, name), row in bench.names.items()}
    return {names[row]: values for row, values in rows.items()}


def has_few_bits(value):
    """Write the number out in binary: at most three digits from first to last 1."""
    whole = float(value)
    while whole != int(whole):
        whole *= 2
    return value != 0 and len(bin(abs(int(whole)))[2:].strip("0")) <= 3


@pytest.mark.parametrize("scale", [1.0, 1e-4, 2.0**-20])
def test_matches_a_count_of_bits(scale):
    model = tiny_llama()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(**next(batches(1))).loss * scale
    loss.backward()
    found = look(model)
    for name, parameter in model.named_parameters():
        flat = parameter.grad.flatten()
        sample = flat[:: -(-flat.numel() // 512) | 1].double().numpy()
        zero = float((sample == 0).mean())
        assert found[name]["zero"] == pytest.approx(zero, abs=1e-6)
        coarse = sum(map(has_few_bits, sample.tolist()))
        expected = coarse / max((sample != 0).sum(), 1) if zero < 1 else np.nan
        assert found[name]["coarse"] == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_numbers_that_are_not_finite_are_neither():
    model = torch.nn.Linear(2, 2, bias=False)
    model.weight.grad = torch.tensor([[torch.nan, torch.inf], [0.0, 3.0]])
    assert look(model)["weight"]["zero"] == 0.25
    assert look(model)["weight"]["coarse"] <= 1


def test_parameters_without_a_dense_gradient_are_left_out():
    assert look(torch.nn.Linear(2, 2)) == {}
    table = torch.nn.Embedding(4, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    assert look(table) == {}
