"""GRD008."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.gradient.clipped_while_accumulating import ClippedWhileAccumulating
from tests.runs import RunBuilder, healthy_lora

FORWARD = ("forward", "model", {"mode": "train", "grad_enabled": True})
BACK, STEP = ("backward", "loss", {}), ("step", "optimizer 0", {})
CLEAR = ("zero_grad", "optimizer 0", {})
MICRO = (FORWARD, BACK)


def clip(factor=0.5, kind="norm"):
    return ("clip", kind, {"coefficient": factor})


def report(*ops, steps=4):
    builder = RunBuilder()
    for _ in range(steps):
        builder.step(ops=ops)
    return Engine([ClippedWhileAccumulating()]).check(builder.run)


def test_finds_clipping_between_the_backwards_of_an_update():
    (finding,) = report(*MICRO, clip(0.2), *MICRO, clip(), STEP, CLEAR).findings
    assert str(finding.place) == "call torch.nn.utils.clip_grad_norm_"
    assert finding.evidence["early_clips"] == 1
    assert finding.evidence["factor"] == 0.2


@pytest.mark.parametrize(
    "ops",
    [
        (*MICRO, *MICRO, clip(), STEP),  # once, as it should be
        (*MICRO, clip(), clip(), STEP),  # group by group
        (*MICRO, clip(), *MICRO, STEP),  # one loss of two
        (*MICRO, clip(), BACK, clip(), STEP),  # two losses of one forward
        (*MICRO, clip(), CLEAR, *MICRO, clip(), STEP),
        (*MICRO, clip(1.0), *MICRO, clip(), STEP),  # nothing was shrunk
        (*MICRO, clip(kind="value"), *MICRO, clip(kind="value"), STEP),
    ],
)
def test_other_orders_are_fine(ops):
    assert report(*ops).findings == ()


def test_two_updates_are_not_enough():
    assert report(*MICRO, clip(), *MICRO, clip(), STEP, steps=2).findings == ()


def test_runs_without_clipping_are_left_out_and_empty_ones_not_checked():
    found = Engine([ClippedWhileAccumulating()]).check(healthy_lora().run)
    assert not found.findings
    assert not found.not_checked
    assert Engine([ClippedWhileAccumulating()]).check(RunBuilder().run).not_checked
