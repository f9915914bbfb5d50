"""NUM008."""

import pytest

from ftlab.rules.numeric.second_moment_stuck import SecondMomentStuck
from tests.runs import RunBuilder, only, report_by

AT = (0, 4, 8, 16)


def report(
    *moments, steps=17, gradient=0.1, dtype="bfloat16", sizes=((8, 8),), **fields
):
    """Make a run that measures second moments at some steps, gradients at all."""
    builder = RunBuilder()
    beta = fields.pop("beta", 0.999)
    for index, shape in enumerate(sizes):
        kind = dtype if index == 0 else "float32"
        builder.tensor(f"w{index}", shape=shape, dtype=kind)
    builder.facts(optimizers=({"class": "AdamW", "groups": [{"betas": [0.9, beta]}]},))
    for step in range(steps):
        columns = {"grad_l2": gradient, "grad_max": gradient}
        if step in AT:
            columns["moment2_l2"] = moments[min(AT.index(step), len(moments) - 1)]
        builder.step(columns, **fields)
    return report_by(SecondMomentStuck(), builder.run)


def test_finds_a_moment_that_stays_above_small_gradients():
    finding = only(report(900.0).findings, "warning", "optimizer exp_avg_sq")
    assert (finding.first_step, finding.last_step) == (0, 16)
    assert finding.evidence["factor"] == pytest.approx(300.0, rel=1e-3)


def test_finds_it_since_it_has_stood_still():
    (finding,) = report(900.0, 950.0, 950.0, 950.0).findings
    assert finding.first_step == 4


@pytest.mark.parametrize(("steps", "found"), [(8, 0), (9, 1)])
def test_takes_eight_updates(steps, found):
    assert len(report(900.0, steps=steps).findings) == found


def test_updates_that_were_skipped_do_not_count():
    assert report(900.0, skipped=True).findings == ()


@pytest.mark.parametrize(("gradient", "found"), [(2.9, 1), (3.1, 0)])
def test_takes_a_factor_of_ten(gradient, found):
    assert len(report(900.0, gradient=gradient).findings) == found


def test_a_moment_that_falls_is_let_pass():
    assert report(*(900 * 0.999**step for step in AT)).findings == ()


def test_only_half_precision_is_judged():
    assert report(900.0, dtype="float32").findings == ()


@pytest.mark.parametrize(("other", "found"), [((8, 8), 1), ((8, 9), 0)])
def test_takes_half_of_what_is_trained(other, found):
    assert len(report(900.0, sizes=((8, 8), other)).findings) == found
