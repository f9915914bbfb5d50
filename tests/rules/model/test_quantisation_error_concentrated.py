"""MOD029: layers that 4 bits keep far worse than the others."""

import pytest

from ftlab.rules.model.quantisation_error_concentrated import (
    QuantisationErrorConcentrated,
)
from tests.runs import RunBuilder, places, report_by


def check(*errors):
    builder = RunBuilder()
    for index in range(len(errors)):
        builder.pair(f"layers.{index}", "default")
    builder.step(None, {"base_error": list(errors)}).step()
    report = report_by(QuantisationErrorConcentrated(), builder.run)
    assert report.not_checked == ()
    return report.findings


def test_one_layer_that_lost_most():
    (found,) = check(0.1, 0.1, 0.1, 0.6, 0.12, 0.09, 0.1, 0.3)
    assert "lost 60 % of the weight of model.layers.3.q, 10 % of the" in found.message
    assert "2 layers of 8" in found.message
    assert places(found) == ["module model.layers.3.q", "module model.layers.7.q"]
    assert "'lm_head', 'model.layers.3.q', 'model.layers.7.q'" in found.fix


@pytest.mark.parametrize(
    ("errors", "found"),
    [
        ((0.1, 0.1, 0.1, 0.25), 1),
        ((0.1, 0.1, 0.1, 0.24), 0),
        ((0.2, 0.2, 0.2, 0.39), 0),
        ((0.1, 0.1, 0.1, 0.3, 0.3), 0),
    ],
)
def test_it_takes_much_more_than_the_others_in_a_few(errors, found):
    assert len(check(*errors)) == found
