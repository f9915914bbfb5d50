"""What the two passes of a checkpointed module are compared by."""

from types import SimpleNamespace

import pytest
import torch

from ftlab.probes.graph.recomputed import Recomputed

HALF, FULL = torch.bfloat16, torch.float32


def compared(first, again):
    """Let one module put out these dtypes in both passes; returns block and meta."""
    metas = []

    def name(table, path, kind, meta):
        metas.append(meta)
        return 7

    seen = Recomputed()
    seen.count = 1
    seen.begin()
    for dtypes, later in ((first, False), (again, True)):
        for dtype in dtypes:
            seen.see("mlp", torch.ones(3, dtype=dtype), again=later)
    (reading,) = seen.readings(SimpleNamespace(step=2, name=name))
    return list(reading.finish(reading.values.numpy())), metas


@pytest.mark.parametrize(
    ("first", "again"),
    [([HALF], [HALF]), ([FULL], [FULL]), ([FULL, HALF], [HALF])],
)
def test_a_dtype_that_was_there_in_forward_is_nothing(first, again):
    blocks, metas = compared(first, again)
    assert blocks == []
    assert metas == [{}]


def test_a_dtype_that_was_not_there_in_forward_is_told():
    (block,), metas = compared([HALF], [FULL])
    assert block.values["other_dtype"].tolist() == [1.0]
    assert block.values["difference"].tolist() == [0.0]
    assert metas == [{"dtype": "bfloat16", "again": "float32"}]
