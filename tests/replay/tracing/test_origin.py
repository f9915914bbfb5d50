"""The origin rule on hand-made cases: what is blamed, and what never is."""

from collections.abc import Callable

import pytest
import torch

from ftlab.replay.capsules.inputs import KeptInputs
from ftlab.replay.tracing.survey import Survey, Surveyor

INF, NAN = float("inf"), float("nan")


def survey(compute: Callable[[torch.Tensor], torch.Tensor], **inputs) -> Survey:
    model = torch.nn.Linear(3, 3)
    with torch.no_grad():
        model.weight.copy_(torch.eye(3))
        model.bias.zero_()
    trainable = list(model.named_parameters())
    surveyor = Surveyor(model, trainable, KeptInputs((), inputs), lambda: False)

    def execute():
        loss = compute(model(torch.ones(1, 3)))
        surveyor.note([loss])
        loss.backward()
        surveyor.after_backward()

    return surveyor.run(execute)


def blamed(compute, **inputs) -> str:
    found = survey(compute, **inputs)
    return "" if found.origin is None else found.sites[found.origin.index].op


def through_uninitialised_memory(x):
    """Log into memory that held NaN before: the NaN is the logarithm's."""
    out = torch.full_like(x.detach(), NAN)
    torch.log(x.detach() - 2, out=out)
    return (x + out).sum()


@pytest.mark.parametrize(
    ("compute", "op"),
    [
        (lambda x: (x - 2).log().sum(), "aten.log.default"),
        (lambda x: (x / 0).sum(), "aten.div.Tensor"),
        (lambda x: (x * 1e38 * 1e38).sum(), "aten.mul.Tensor"),
        (lambda x: (x * 0).sqrt().sum(), "aten.div.Tensor"),  # in backward
        (lambda x: (x.masked_fill(x > 0, -INF)).softmax(-1).sum(), "aten._softmax"),
        (lambda x: x.masked_fill(x > 0, -INF).sum(), "aten.masked_fill.Scalar"),
        (lambda x: (x + torch.tensor(NAN)).sum(), "aten.add.Tensor"),
        (lambda x: (x + (x.detach() * 0).log_().abs()).sum(), "aten.log_.default"),
        (through_uninitialised_memory, "aten.log.out"),
    ],
)
def test_blames_the_op_that_made_it(compute, op):
    assert blamed(compute).startswith(op)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.sum(),
        lambda x: x.masked_fill(torch.eye(3)[:1] > 0, -INF).softmax(-1).sum(),
        lambda x: (x + (x.detach() * 0).log().nan_to_num(neginf=0)).sum(),
        lambda x: (x + torch.empty(1000)[:3].fill_(0)).sum(),
    ],
)
def test_blames_nothing_where_the_loss_is_finite(compute):
    assert blamed(compute) == ""


def test_a_harmless_infinity_does_not_hide_the_culprit():
    def compute(x):
        harmless = (x.detach() * 0).log().nan_to_num(neginf=0)
        return ((x - 2) + harmless).sqrt().sum()

    assert blamed(compute) == "aten.sqrt.default"


def test_a_mask_in_the_batch_is_legal_and_a_nan_in_it_is_not():
    mask = torch.tensor([[0.0, -INF, 0.0]])
    assert blamed(lambda x: (x + mask).softmax(-1).sum(), mask=mask) == ""
    broken = torch.tensor([[0.0, NAN, 0.0]])
    found = survey(lambda x: (x + broken).sum(), values=broken)
    assert found.origin is not None
    assert (found.origin.source, found.origin.name) == ("batch", "'values'")


def test_the_first_of_two_culprits_is_blamed():
    def compute(x):
        return ((x - 2).log() + (x - 2).sqrt()).sum()

    assert blamed(compute) == "aten.log.default"


def test_gradients_that_only_one_parameter_has_are_named():
    found = survey(lambda x: (x[0, 0] * 0).sqrt())
    assert set(found.parameters) == {"weight", "bias"}


def test_a_legal_infinity_is_blamed_after_a_real_culprit():
    def compute(x):
        return x.masked_fill(x > 0, -INF).sum() + (x - 2).log().sum()

    assert blamed(compute) == "aten.log.default"


def test_a_row_that_a_mask_of_the_batch_hides_whole_is_born_in_softmax():
    mask = torch.full((1, 3), -INF)
    assert blamed(lambda x: (x + mask).softmax(-1).sum(), m=mask).startswith(
        "aten._softmax"
    )
