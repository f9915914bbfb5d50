"""ADP062: active adapters whose sum is small."""

import math

import pytest

from ftlab.rules.adapter.adapters_cancel import AdaptersCancel
from tests.runs import RunBuilder, only, report_by


def check(*shares, alone=(2.0, 1.0), inactive=False):
    """Make two layers with two adapters; each step gives the sums, in `alone[0]`."""
    builder = RunBuilder()
    for layer in ("layers.0", "layers.1"):
        for adapter in ("a", "b") + ("c",) * inactive:
            builder.pair(layer, adapter)
    rest = (50.0,) * inactive
    for share in shares:
        first, second = share if isinstance(share, tuple) else (share, share)
        nothing = (math.nan,) * inactive
        sums = [2 * first, 2 * first, *nothing, 2 * second, 2 * second, *nothing]
        builder.step(
            None, {"ba_l2": [*alone, *rest, *alone, *rest], "together_l2": sums}
        )
    report = report_by(AdaptersCancel(), builder.run)
    assert report.not_checked == ()
    return report.findings


def test_a_sum_that_is_half_of_the_largest():
    found = only(check(1.0, 0.5, 0.4), steps=(1, 2))
    assert "adapters a and b are active together" in found.message
    assert "40 % of the largest one (median of 2 layers)" in found.message
    assert str(found.places[1]) == "module model.layers.0.q"


@pytest.mark.parametrize(
    ("shares", "found"), [((0.5,), 0), ((0.51, 0.4), 0), ((0.1, (0.2, 0.9)), 0)]
)
def test_it_takes_two_measurements_and_most_of_the_layers(shares, found):
    assert len(check(*shares)) == found


def test_what_is_inactive_does_not_count():
    (found,) = check(0.3, 0.3, inactive=True)
    assert "adapters a and b are" in found.message
    assert check(0.6, 0.6, inactive=True) == ()


def test_updates_of_nothing_are_another_matter():
    assert check(0.0, 0.0, alone=(0.0, 0.0)) == ()
    assert check(math.nan, 0.1) == ()
