"""What a fresh adapter's layer gives in the first forward."""

import pytest
import torch
from torch import nn

from ftlab.faults.builders.own_layers import row_norms
from ftlab.probes.adapter.start_outputs import StartOutputs
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import Block
from tests.models import update


class Layer(nn.Module):
    """LoRA by hand, with or without its base's bias, its rows or columns scaled."""

    def __init__(self, size=(6, 4), *, bias=True, axis=1, factor=1.0):
        super().__init__()
        self.base = nn.Linear(*size).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(2, size[0]))
        self.b = nn.Parameter(torch.zeros(size[1], 2))
        self.bias, self.axis = bias, axis
        norms = torch.linalg.vector_norm(self.base.weight, dim=axis).clone()
        self.m = nn.Parameter(norms * factor)

    def forward(self, inputs):
        weight = self.base.weight + self.b @ self.a
        norms = torch.linalg.vector_norm(weight, dim=self.axis, keepdim=True).detach()
        lengths = self.m[:, None] if self.axis else self.m
        bias = self.base.bias if self.bias else None
        return nn.functional.linear(inputs, weight * lengths / norms, bias)


def measured(layer, steps=2):
    """Return the rows of the table, by step."""
    model = nn.Sequential(layer)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
    records = []
    with Recorder(Subject(model, [optimizer]), [StartOutputs()], records.append):
        for _ in range(steps):
            update(model(torch.randn(8, 6)).square().sum(), optimizer)
    assert not layer._forward_hooks
    blocks = [each for each in records if isinstance(each, Block)]
    assert [block.step for block in blocks] in ([0], [])
    return {k: float(v[0]) for k, v in blocks[0].values.items()} if blocks else {}


def test_a_layer_that_begins_as_its_base():
    values = measured(Layer())
    assert values["factor"] == 0
    assert values["off_base"] < 1e-6


@pytest.mark.parametrize(("axis", "size"), [(1, (6, 4)), (0, (6, 4)), (0, (6, 6))])
def test_magnitudes_explain_the_distance(axis, size):
    values = measured(Layer(size, axis=axis, factor=3.0))
    assert values["off_base"] > 0.5
    assert values["off_scaled"] < 1e-6
    assert values["magnitude"] == pytest.approx(3)


def test_a_bias_that_is_left_out():
    values = measured(Layer(bias=False))
    assert values["off_base"] > 0.02
    assert values["off_biasless"] < 1e-6


def test_a_factor_that_is_not_0():
    layer = Layer()
    layer.b.data += 0.5
    assert measured(layer)["factor"] > 0


def test_a_layer_whose_base_is_trained_is_not_compared():
    layer = Layer()
    layer.base.requires_grad_(True)
    assert measured(layer) == {}


def test_norms_of_rows():
    assert row_norms(torch.tensor([[3.0, 4.0]])).tolist() == [5.0]
