import pytest
import torch

from ftlab.faults.builders.methods import rescaled
from ftlab.faults.builders.tiny import lora, trainable
from ftlab.probes.adapter.vectors import Vectors
from tests.probes.moments_of import Bench, finished, rows_of


def measure(model):
    bench = Bench(model)
    rows = rows_of(finished(Vectors().on_gradients(bench.moment())))
    return {name: rows[row] for (_, name), row in bench.names.items()}, bench.metas


def test_fresh_vectors_are_1():
    rows, _ = measure(rescaled())
    assert len(rows) == 6
    for row in rows.values():
        assert row == {"vector_mean": 1.0, "vector_spread": 0.0, "off_one": 0.0}


def test_measures_are_those_of_each_vector():
    model = rescaled()
    generator = torch.Generator().manual_seed(0)
    for vector in trainable(model):
        vector.data.normal_(generator=generator)
    rows, metas = measure(model)
    for name, vector in model.named_parameters():
        if "ia3_l" not in name:
            continue
        path, adapter = name.split(".ia3_l.")
        row = rows[f"{path} [{adapter}]"]
        assert row["vector_mean"] == pytest.approx(float(vector.mean()), abs=1e-6)
        deviation = float(vector.std(correction=0))
        assert row["vector_spread"] == pytest.approx(deviation, rel=1e-5)
        off = float((vector - 1).abs().max())
        assert row["off_one"] == pytest.approx(off, rel=1e-5)
        meta = metas[f"{path} [{adapter}]"]
        assert (meta["module"], meta["size"]) == (path, vector.numel())


def test_other_methods_have_none():
    assert measure(lora()) == ({}, {})
