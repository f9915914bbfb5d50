"""The chain behind a culprit: which ops, in which range, back to where all is well."""

import math

import pytest
import torch

from ftlab.replay.tracing.lineage import Range
from tests.replay.tracing.test_origin import survey


def chain(compute, **inputs) -> list[str]:
    """Return op or name of each link behind the culprit."""
    found = survey(compute, **inputs)
    links = found.chain(found.origin.index)
    return [link.site.op if link.site else link.name for link in links]


def range_of(*values, dtype=torch.float32):
    return Range.of(torch.tensor(values, dtype=dtype))


def test_it_ends_at_the_first_tensor_that_is_in_order():
    # 1 -> exp -> 2.7 -> *1e5 -> 2.7e5 -> exp -> inf
    found = chain(lambda x: (x.exp() * 1e5).exp().sum())
    assert found == ["aten.mul.Tensor", "aten.exp.default"]


def test_it_follows_the_unusual_one_of_two_inputs():
    found = chain(lambda x: ((x + 1) / (x - 1).relu()).sum())
    assert found[:2] == ["aten.relu.default", "aten.sub.Tensor"]


def test_it_goes_from_backward_into_forward():
    found = chain(lambda x: (x * 0).sqrt().sum())
    assert found[1:3] == ["aten.sqrt.default", "aten.mul.Tensor"]


def test_it_names_what_existed_before_the_step():
    assert chain(lambda x: (x / share).sum(), share=(share := torch.zeros(3))) == [
        "batch 'share'"
    ]
    outside = torch.zeros(3)
    assert chain(lambda x: (x / outside).sum()) == ["a tensor of no operation"]


def test_in_place_operations_are_links():
    found = chain(lambda x: (1 / x.detach().clone().mul_(0)).sum() + x.sum())
    assert found[0] == "aten.mul_.Tensor"


@pytest.mark.parametrize(
    ("found", "unusual"),
    [
        (range_of(0.1, -3.0), False),
        (range_of(0.0, 0.0), True),
        (range_of(0.0, 1.0), False),
        (range_of(1e-39), True),
        (range_of(1e-30), False),
        (range_of(2e3), True),
        (range_of(2e3, dtype=torch.float16), True),
        (range_of(math.inf, 1.0), True),
        (range_of(math.nan, 1.0), True),
        (range_of(32000, dtype=torch.int64), False),
        (range_of(0, dtype=torch.int64), True),
    ],
)
def test_what_is_pointed_out(found, unusual):
    assert found.unusual is unusual


def test_tensors_without_values_have_no_range():
    assert Range.of(torch.zeros(0)) is None
    assert Range.of(torch.zeros(2, dtype=torch.complex64)) is not None
