"""NUM020."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.numeric.labels_without_weight import LabelsWithoutWeight
from tests.rules.numeric.losses import losses
from tests.runs import only


def check(*shares):
    run = losses(*({"weightless": each} for each in shares))
    return Engine([LabelsWithoutWeight()]).check(run).findings


def test_labels_whose_class_weighs_nothing_are_a_note():
    finding = only(check(0.0, 0.25, 0.5), "info", "config weight")
    assert finding.message.startswith("step 1: 25 %")


@pytest.mark.parametrize("share", [0.0, float("nan")])
def test_weights_above_0_are_healthy(share):
    assert check(share) == ()
