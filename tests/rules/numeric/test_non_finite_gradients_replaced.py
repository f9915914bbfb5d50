"""NUM009."""

import numpy as np
import pytest

from ftlab.rules.numeric.non_finite_gradients_replaced import NonFiniteGradientsReplaced
from tests.runs import RunBuilder, only, places, report_by


def report(norms, losses=None, skipped=False):
    builder = RunBuilder()
    builder.tensor("a")
    builder.tensor("b")
    losses = [2.0] * len(norms) if losses is None else losses
    for norm, loss in zip(norms, losses, strict=True):
        spoiled = {"grad_max": [1.0, norm]}
        builder.step(spoiled, grad_norm=norm, loss=loss, skipped=skipped)
    return report_by(NonFiniteGradientsReplaced(), builder.run)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_finds_updates_whose_gradients_were_not_finite(value):
    finding = only(report([1.0, value, value, value, 1.0]).findings, steps=(1, 3))
    assert places(finding) == ["call torch.nan_to_num", "param b"]


def test_two_of_them_or_a_few_of_many_are_let_pass():
    assert report([1.0, np.nan, np.nan, 1.0]).findings == ()
    assert report([1.0] * 28 + [np.nan] * 3).findings == ()


def test_skipped_updates_and_losses_that_follow_suit_are_another_matter():
    assert report([np.nan] * 8, skipped=True).findings == ()
    assert report([np.nan] * 8, losses=[2.0] + [np.nan] * 7).findings == ()
