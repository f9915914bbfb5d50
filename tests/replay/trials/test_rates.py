"""A learning rate is read as a number or as a part of each group's own."""

import pytest
import torch

from ftlab.records.errors import BadValueError
from ftlab.replay.trials.rates import changed_rates, rate_of


def optimizer(**options):
    first, second = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    groups = [{"params": [first]}, {"params": [second], "lr": 0.5}]
    return torch.optim.SGD(groups, lr=0.1, **options)


@pytest.mark.parametrize("wrong", ["", "fast", "/0", "-1", float("nan"), "/-2", None])
def test_what_is_no_rate_is_refused(wrong):
    with pytest.raises(BadValueError, match="pass a rate"):
        rate_of(wrong)


def test_groups_have_their_own_rates_again():
    stepping = optimizer()
    with changed_rates(stepping, rate_of("/10")):
        rates = [group["lr"] for group in stepping.param_groups]
    assert rates == [0.01, 0.05]
    assert [group["lr"] for group in stepping.param_groups] == [0.1, 0.5]


def test_a_rate_in_a_tensor_stays_one():
    stepping = torch.optim.AdamW(
        [torch.nn.Parameter(torch.ones(1))], lr=torch.tensor(0.1)
    )
    own = stepping.param_groups[0]["lr"]
    with changed_rates(stepping, rate_of(0.3)):
        assert stepping.param_groups[0]["lr"].item() == pytest.approx(0.3)
    assert stepping.param_groups[0]["lr"] is own


def test_an_optimizer_without_rates_is_refused():
    stepping = optimizer()
    for group in stepping.param_groups:
        group["lr"] = None
    with (
        pytest.raises(BadValueError, match="SGD has no learning rate"),
        changed_rates(stepping, rate_of(1.0)),
    ):
        pass
