"""MOD024: 4-bit weights that are read with the scales of other ones."""

import pytest

from ftlab.rules.model.scales_of_other_weights import ScalesOfOtherWeights
from tests.runs import RunBuilder, only, places, report_by

FOUND = {"written": ["q", "v"], "blocks": 900, "slope": 0.02, "error": 0.03, "own": -1}


def check(scales=None):
    facts = {"four_bit": {"layers": 2, "scales": scales or {}}}
    return report_by(ScalesOfOtherWeights(), RunBuilder().facts(model=facts).run)


def test_scales_that_do_not_follow_the_codes_are_of_other_weights():
    found = only(check(FOUND).findings, "error")
    assert places(found) == [
        "module q",
        "module v",
        "call load_state_dict",
        "config quant_state.absmax",
    ]
    assert found.message == (
        "2 4-bit weights were overwritten, but their scales do not match their codes: "
        "slope 0.02, -1 within blocks: q, v"
    )
    assert found.evidence["threshold"] == pytest.approx(-1 / 3)


@pytest.mark.parametrize(
    "healthy",
    [{"slope": -0.95}, {"slope": -0.4}, {"error": 0.2}, {"own": -0.5}],
    ids=str,
)
def test_what_follows_them_or_cannot_tell_is_left_alone(healthy):
    assert check(FOUND | healthy).findings == ()


def test_weights_that_nobody_wrote_to_are_left_out():
    report = check()
    assert report.findings == report.not_checked == ()
