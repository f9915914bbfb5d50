"""The chain behind a culprit: which ops, in which range, back to where all is well."""

import math

import pytest
import torch

from ftlab.replay.tracing.lineage import Lineage, Range
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


def rows(*values):
    return torch.tensor(values).reshape(-1, 1)


@pytest.mark.parametrize(
    ("compute", "first"),
    [
        # x is by far the largest; of the divisor one row alone is zero.
        (lambda x: (x * 1e6 / x.detach().relu().sum(1)).sum(), "aten.sum.dim_IntList"),
        (lambda x: (x * 1e6 * (x.detach() * 0).rsqrt()).sum(), "aten.mul.Tensor"),
        (lambda x: (x * 1e6 + x.detach().relu().log()).sum(), "aten.relu.default"),
    ],
)
def test_it_follows_what_is_zero_and_not_the_largest(compute, first):
    found = survey(lambda x: compute(x - x.detach() * 1))
    links = found.chain(found.origin.index)
    assert links[0].site.op == first


def test_it_follows_zeros_through_what_keeps_them():
    weights = rows(0.0, 2.0, 3.0)
    assert chain(lambda x: (x.sum() / (weights * weights).sum(1)).sum(), w=weights) == [
        "aten.sum.dim_IntList",
        "aten.mul.Tensor",
        "batch 'w'",
    ]


def test_an_infinity_is_followed_and_not_the_zero_that_it_meets():
    far = torch.full((3,), math.inf)
    assert chain(lambda x: (x * 0 * far).sum(), far=far)[0] == "batch 'far'"


def test_a_bias_of_zeros_is_not_what_overflows():
    torch.manual_seed(0)
    wide = torch.full((3, 3), 1e30)
    bias = torch.zeros(3)
    found = chain(
        lambda x: torch.addmm(bias, x * 1e30, wide).sum(), wide=wide, bias=bias
    )
    assert "batch 'bias'" not in found


def test_what_is_zero_everywhere_makes_nothing_tiny():
    tiny = torch.full((3,), 1e-39)
    assert chain(lambda x: (x / (torch.zeros(3) + tiny)).sum(), tiny=tiny) == [
        "aten.add.Tensor",
        "batch 'tiny'",
    ]


def test_a_row_that_is_masked_altogether_leads_to_its_mask():
    mask = torch.zeros(1, 3)

    def compute(x):
        return (x * 3).masked_fill(mask == 0, -math.inf).softmax(-1).sum()

    assert chain(compute, mask=mask) == [
        "aten.masked_fill.Scalar",
        "aten.eq.Scalar",
        "batch 'mask'",
    ]


def test_labels_that_are_all_ignored_are_followed():
    labels = torch.full((1,), -100)

    def compute(x):
        wide = x.reshape(-1)[:3] * torch.tensor([1e6, 0.0, -1e6])
        return torch.nn.functional.cross_entropy(wide.reshape(1, 3), labels)

    assert chain(compute, labels=labels) == ["batch 'labels'"]


def test_a_norm_leads_to_its_input_and_not_to_its_weight():
    def compute(x):
        flat = (x * 0 + 1).reshape(1, -1)
        weight = torch.full(flat.shape[1:], 1e6)
        return torch.nn.functional.layer_norm(
            flat, flat.shape[1:], weight, eps=0.0
        ).sum()

    assert chain(compute)[0] != "aten.full.default"


def test_what_a_step_overwrites_is_shown_as_it_was():
    moment, lineage = torch.ones(1), Lineage()
    lineage.register("state", "moment", moment, written=True)
    moment.mul_(math.inf)
    lineage.record(0, torch.ops.aten.mul_.Tensor, ((moment, math.inf), {}), moment)
    (link,) = lineage.chain(0)
    assert (link.name, link.range.high) == ("state moment", 1.0)


def test_what_makes_tensors_out_of_nothing_ends_it():
    assert chain(lambda x: (x / torch.zeros_like(x)).sum()) == [
        "aten.zeros_like.default"
    ]


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
