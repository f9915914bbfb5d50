"""Adapters that half precision keeps from learning."""

import pytest

from ftlab.rules.lost_updates import lost_to_rounding
from tests.runs import RunBuilder


def built(stuck, *, dtype="bfloat16", role="lora_A", points=2, sizes=(8, 8)):
    """Build a run with an adapter tensor and one that is not of an adapter."""
    builder = RunBuilder()
    meta = {"role": role, "adapter": "default", "module": "m"}
    builder.tensor("m.a", meta=meta, dtype=dtype, shape=(sizes[0],))
    builder.tensor("w", dtype="float32", shape=(sizes[1],))
    groups = [{"lr": 1e-5, "weight_decay": 0.0}]
    optimizer = {"class": "AdamW", "module": "torch.optim.adamw", "groups": groups}
    builder.facts(optimizers=(optimizer,))
    norms = {"weight_l2": 1.0, "grad_l2": 1e-3}
    for _ in range(points):
        builder.step(norms | {"stuck_share": [stuck, 0.0]}, lr=(1e-5,))
    return builder


def lost(stuck, **settings):
    return lost_to_rounding(built(stuck, **settings).run)


def test_an_adapter_in_half_precision_that_stands_still():
    (found,) = lost(0.95).values()
    names, share, steps = found
    assert [name.name for name in names] == ["m.a"]
    assert share == pytest.approx(0.95)
    assert steps == (0, 1)


@pytest.mark.parametrize(
    "healthy",
    [
        {"stuck": 0.8},
        {"stuck": 0.95, "dtype": "float32"},
        {"stuck": 0.95, "points": 1},
        {"stuck": 0.95, "role": "modules_to_save"},
        {"stuck": 0.95, "sizes": (8, 100)},
    ],
)
def test_what_is_not_lost(healthy):
    assert lost(**healthy) == {}


def test_nothing_is_known_where_nothing_was_measured():
    assert lost_to_rounding(RunBuilder().step().run) == {}
