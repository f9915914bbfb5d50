"""A cause is told where the inputs prove it, and only there."""

import pytest
import torch

from ftlab.replay.stops.cause import cause_of
from ftlab.replay.tracing.runner import OpStop
from ftlab.replay.tracing.site import Site

aten = torch.ops.aten


def told(func, *args, phase="forward", forward=None):
    site = Site(1, str(func), phase, None, "", "", "", forward=forward)
    outputs = func(*args)
    return cause_of(OpStop(site, "anomaly", func, args, {}, outputs, matches=True))


def half(*values):
    return torch.tensor(values, dtype=torch.float16)


@pytest.mark.parametrize(
    ("func", "args", "words"),
    [
        (aten.log.default, (torch.tensor([0.0, 1]),), "logarithm of 0"),
        (aten.log.default, (torch.tensor([-2.0]),), "logarithm of negative values"),
        (aten.div.Tensor, (torch.ones(2), torch.zeros(2)), "division by zero"),
        (aten.sqrt.default, (torch.tensor([-4.0]),), "root of -4"),
        (aten.exp.default, (torch.tensor([90.0]),), "exp of 90 is too large"),
        (
            aten._softmax.default,
            (torch.full((2, 3), -torch.inf), -1, False),
            "softmax over 2 row(s)",
        ),
        (
            aten.nll_loss_forward.default,
            (torch.zeros(2, 3), torch.tensor([-100, -100]), None, 1, -100),
            "all 2 labels are -100",
        ),
        (aten.mul.Tensor, (half(6e4), half(2)), "float16 ends at 65,504"),
        (aten.mul.Tensor, (torch.tensor([3e38]), torch.tensor([3.0])), "3.4e+38"),
    ],
)
def test_it_names_what_the_inputs_prove(func, args, words):
    assert words in told(func, *args)


def test_an_epsilon_of_zero_is_named_in_an_update():
    weight, moments = half(1, 1), (half(0, 1), half(0, 1))
    assert "optimizer's eps is 0" in told(aten.addcdiv.default, weight, *moments)


def test_a_derivative_that_has_no_value_is_named_after_its_forward():
    forward = Site(0, "aten.sqrt.default", "forward", None, "", "", "")
    found = told(
        aten.div.Tensor,
        torch.ones(1),
        torch.zeros(1),
        phase="backward",
        forward=forward,
    )
    assert "derivative of sqrt is infinite at 0" in found


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.mul.Tensor, (torch.tensor([torch.nan]), torch.ones(1))),
        (aten.log.default, (torch.ones(2),)),
        (aten.exp.default, (torch.tensor([torch.nan]),)),
    ],
)
def test_it_is_silent_where_nothing_is_proven(func, args):
    assert told(func, *args) == ""
