import math

import pytest
import torch

from ftlab.probes.tensors.gradient_zeros import GradientZeros
from tests.models import batches, tiny_llama, tiny_lora
from tests.probes.moments_of import Bench, finished, rows_of


def shares(model):
    bench = Bench(model)
    moment = bench.moment()
    rows = rows_of(finished(GradientZeros().on_gradients(moment)))
    return {moment.tensors.names[i]: r["grad_zero_share"] for i, r in rows.items()}


def test_matches_a_count_of_each_gradient():
    model = tiny_llama()
    model(**next(batches(1))).loss.backward()
    found = shares(model)
    for name, parameter in model.named_parameters():
        exact = (parameter.grad == 0).double().mean().item()
        assert found[name] == pytest.approx(exact, abs=1e-7)
    assert 0 < found["model.embed_tokens.weight"] < 1


def test_the_gradient_of_a_is_all_zero_while_b_is_zero():
    model = tiny_lora()
    model(**next(batches(1))).loss.backward()
    for name, share in shares(model).items():
        assert share == ("lora_A" in name)


def test_a_missing_gradient_has_no_share_and_nan_is_no_zero():
    model = torch.nn.Linear(2, 2)
    model.weight.grad = torch.full((2, 2), math.nan)
    assert shares(model) == {"weight": 0}


def test_one_zero_among_many_is_not_lost():
    model = torch.nn.Linear(3000, 4000, bias=False)
    model.weight.grad = torch.ones_like(model.weight)
    model.weight.grad[0, :3] = 0
    assert shares(model)["weight"] == pytest.approx(3 / 12e6)


def test_rows_that_a_sparse_gradient_leaves_out_are_zero():
    table = torch.nn.Embedding(10, 4, sparse=True)
    table(torch.tensor([1, 1, 7])).sum().backward()
    assert shares(table)["weight"] == pytest.approx(0.8)
