"""OPT027."""

import math

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.optimizer.loss_maximized import LossMaximized
from tests.runs import RunBuilder, found_by, only

GUESSING = math.log(128)


def check(losses, maximize=True, names=("m.w",), classes=128):
    group = {"lr": 1e-3, "maximize": maximize, "names": list(names)}
    optimizers = ({"class": "AdamW", "module": "torch.optim", "groups": [group]},)
    builder = RunBuilder().facts(optimizers=optimizers)
    meta = {"classes": classes}
    builder.run.append(NameRecord(0, "losses", "loss", "call", "", meta=meta))
    for number, loss in enumerate(losses):
        values = {"token_loss": np.array([loss], np.float32)}
        builder.run.append(Block("losses", number, np.zeros(1, np.int32), values))
        builder.step()
    return found_by(LossMaximized(), builder.run)


def test_a_loss_that_climbs_past_guessing():
    finding = only(check([4.8, 4.84, 4.9, 5.2]), "warning", "optimizer maximize")
    assert finding.evidence["reason"] == "past-guessing"
    assert "guessing gives 4.85" in finding.message


@pytest.mark.parametrize(("last", "classes"), [(GUESSING - 0.01, 128), (5.0, 0)])
def test_what_may_be_unlearning_is_noted(last, classes):
    only(check([0.1, 0.2, 0.4, last], classes=classes), "info", reason="rising")


@pytest.mark.parametrize(
    ("losses", "settings"),
    [
        ([4.8, 4.84, 5.2], {}),
        ([5.2, 5.1, 5.0, 4.9], {}),
        ([4.8, 4.84, 4.9, 5.2], {"maximize": False}),
        ([4.8, 4.84, 4.9, 5.2], {"names": ()}),  # a perturbation, not the model's
    ],
)
def test_takes_the_flag_and_a_loss_of_the_model_that_rises(losses, settings):
    assert check(losses, **settings) == ()
