"""Adapters that half precision keeps from learning."""

import pytest
import torch

from ftlab.rules.reasons.lost_updates import epsilon_vanishes, lost_to_rounding
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
    builder.steps(points, norms | {"stuck_share": [stuck, 0.0]}, lr=(1e-5,))
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


@pytest.mark.parametrize(
    ("optimizer", "vanishes"),
    [
        ({}, True),
        ({"class": "SGD", "groups": [{"lr": 1e-3}]}, False),
        ({"fused": True}, False),
        ({"module": "bitsandbytes.optim.adamw"}, False),
        ({"groups": [{"eps": 1e-6}]}, False),
        ({"groups": [{"eps": None}]}, False),
    ],
)
def test_an_eps_that_float16_rounds_to_0(optimizer, vanishes):
    adam = {"class": "AdamW", "module": "torch.optim.adamw", "groups": [{"eps": 1e-8}]}
    run = RunBuilder().facts(optimizers=(adam | optimizer,)).run
    assert epsilon_vanishes(run) is vanishes


def test_torch_rounds_it_so():
    assert float(torch.tensor(1e-8, dtype=torch.float16)) == 0.0
    assert float(torch.tensor(6e-8, dtype=torch.float16)) > 0.0
