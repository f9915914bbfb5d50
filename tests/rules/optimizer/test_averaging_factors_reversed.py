"""OPT024."""

import pytest

from ftlab.rules.optimizer.averaging_factors_reversed import AveragingFactorsReversed
from tests.runs import RunBuilder, found_by, only


def check(*betas, kind="AdamW", module="torch.optim.adamw"):
    group = {"lr": 1e-3, "betas": list(betas)}
    builder = RunBuilder()
    builder.facts(optimizers=({"class": kind, "module": module, "groups": [group]},))
    builder.step()
    return found_by(AveragingFactorsReversed(), builder.run)


def test_finds_betas_in_the_wrong_order():
    finding = only(check(0.999, 0.9), place="optimizer betas")
    assert finding.fix == "betas=(0.9, 0.999)"
    assert "the last 1000 gradients" in finding.cause


@pytest.mark.parametrize(
    "betas",
    [
        (0.9, 0.999),
        (0.0, 0.999),
        (0.9, 0.9),
        (0.95, 0.9),
        (0.9, 0.95, 0.99),
        (None, 0.9),
        (1.0, 0.9),
    ],
)
def test_other_betas_are_let_pass(betas):
    assert check(*betas) == ()


@pytest.mark.parametrize(
    ("kind", "module"), [("Lion", "lion_pytorch"), ("AdamW", "mine"), ("Adan", "torch")]
)
def test_other_optimizers_mean_something_else(kind, module):
    assert check(0.999, 0.9, kind=kind, module=module) == ()
