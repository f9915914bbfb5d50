"""NUM027."""

import pytest

from ftlab.rules.numeric.mean_over_masked import MeanOverMasked
from tests.runs import RunBuilder, found_by, only

NAN = float("nan")


def check(*shares):
    builder = RunBuilder()
    for share in shares:
        detail = {"micro": 0} | ({} if share is None else {"counted": share})
        builder.step(ops=[("backward", "loss", detail)])
    return found_by(MeanOverMasked(), builder.run)


def test_the_share_that_counts_is_told_and_only_noted():
    finding = only(check(0.05, 0.0625, 0.25, None), "info", "op mean")
    assert "6.2% (5.0% to 25.0%)" in finding.message
    assert "16 times" in finding.message
    assert finding.last_step == 2


@pytest.mark.parametrize(
    "shares",
    [(0.05, 0.05), (0.05, 0.05, 0.95), (1.0, 1.0, 1.0), (NAN, NAN, NAN, 0.1)],
)
def test_all_that_was_looked_at_must_be_masked(shares):
    assert check(*shares) == ()


def test_batches_without_anything_that_counts_do_not_divide_by_zero():
    only(check(0.0, 0.0, 0.0), share=0)
