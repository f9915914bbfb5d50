"""NUM007."""

import numpy as np
import pytest

from ftlab.rules.numeric.epsilon_vanishes import EpsilonVanishes
from tests.runs import RunBuilder, found_by, only, places, report_by


def report(update=None, *, dtype="float16", gradient=1.0, adapter="", **optimizer):
    builder = RunBuilder()
    builder.tensor("embed.weight", dtype=dtype, meta={"adapter": adapter})
    builder.tensor("norm.weight", dtype="float32", meta={"group": 1})
    usual = {"class": "AdamW", "module": "torch.optim.adamw", "fused": None}
    groups = [{"eps": optimizer.pop("eps", 1e-8)}, {"eps": 1e-8}]
    builder.facts(optimizers=(usual | optimizer | {"groups": groups},))
    for value in () if update is None else (1.0, update):
        builder.step({"update_l2": [value, 1.0], "grad_l2": [gradient, 1.0]})
    return report_by(EpsilonVanishes(), builder.run)


@pytest.mark.parametrize("update", [None, 1.0])
def test_warns_before_it_has_happened(update):
    finding = only(report(update).findings, "warning")
    assert places(finding) == ["optimizer eps", "param embed.weight"]


@pytest.mark.parametrize("update", [np.nan, np.inf])
def test_is_an_error_once_an_update_was_not_finite(update):
    finding = only(report(update).findings, "error")
    assert "step 1 made 1 tensor of them non-finite" in finding.message
    assert "step 1" in map(str, finding.places)


def test_gradients_that_were_not_finite_are_another_matter():
    only(report(np.nan, gradient=np.nan).findings, "warning")


@pytest.mark.parametrize(
    "given",
    [
        {"eps": 1e-4},
        {"eps": 6e-8},
        {"dtype": "bfloat16"},
        {"dtype": "float32"},
        {"fused": True},
        {"class": "SGD"},
        {"module": "torchao.optim"},
        {"adapter": "default"},  # ADP019 tells of those
    ],
)
def test_others_are_let_pass(given):
    assert report(**given).findings == ()


def test_the_groups_of_several_optimizers_are_counted_through():
    builder = RunBuilder()
    builder.tensor("w", dtype="float16", meta={"group": 1})
    first = {"class": "SGD", "module": "torch.optim.sgd", "groups": [{"lr": 1.0}]}
    second = {
        "class": "RMSprop",
        "module": "torch.optim.rmsprop",
        "groups": [{"eps": 1e-8}],
    }
    builder.facts(optimizers=(first, second))
    (finding,) = found_by(EpsilonVanishes(), builder.run)
    assert "RMSprop has eps 1e-08" in finding.message
