"""`watch.spectra`: ranks in use over the steps."""

import numpy as np
import pytest
import torch

import ftlab
from ftlab.faults.builders.tiny import batches, lora
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, StepRecord
from ftlab.runlog.run import Run
from ftlab.runlog.spectra import spectra_of
from ftlab.views.dashboard.dashboard import Dashboard
from ftlab.views.layers.spectra import SpectraView
from tests.models import update


def run_of(*measured, ranks=(8, 2)):
    """Make a run; each measurement gives `(size, rank_90, beyond_1)` for each pair."""
    run = Run()
    for row, rank in enumerate(ranks):
        module = f"base_model.model.model.layers.{row}.self_attn.q_proj"
        meta = {"module": module, "r": rank, "adapter": "default"}
        name = f"{module} [default]"
        run.append(
            NameRecord(row, "adapters", name, "adapter", f"layers.{row}", meta=meta)
        )
    for step, values in enumerate(measured):
        columns = np.asarray(values, np.float32).T
        names = ("ba_l2", "rank_90", "beyond_1")
        known = dict(zip(names, columns, strict=True))
        known |= {f"beyond_{cut}": known["beyond_1"] / 4 for cut in (2, 4)}
        ids = np.arange(len(ranks), dtype=np.int32)
        run.append(Block("adapters", step, ids, known))
        run.append(StepRecord(step, time=float(step)))
    return run


def test_says_how_many_directions_each_update_uses():
    run = run_of([(1, 5, 0.4), (1, 1, 0.05)], [(1, 3, 0.3), (1, 2, 0.2)])
    view = SpectraView(run)
    assert repr(view).splitlines() == [
        "Ranks in use: 90 % of the updates' energy is in 2 to 3 of 2 to 8 directions "
        "(step 1, 2 layers, median 2; 1 use all)",
        "  3 of 8: layers.0.attention.q",
        "  2 of 2: layers.1.attention.q",
    ]
    table = view.table()
    assert table.needed.tolist() == [5, 1, 3, 2]
    assert table.beyond_2.tolist() == pytest.approx([0.1, 0, 0.075, 0])
    assert view.figure().axes


def test_updates_that_are_0_are_left_out():
    run = run_of([(0, 0, 0), (0, 0, 0)])
    assert SpectraView(run).headline() == "no spectrum of a LoRA update was taken yet"
    run = run_of([(0, 0, 0), (1, 2, 0.2)])
    assert "2 of 2 directions (step 0)" in SpectraView(run).headline()
    assert SpectraView(Run()).headline() == ""
    assert repr(SpectraView(Run())).endswith("of no LoRA pair was recorded")
    assert SpectraView(Run()).figure() is not None
    assert SpectraView(Run()).table().empty


def test_a_layer_keeps_its_latest_measurement():
    run = run_of([(1, 5, 0.4), (1, 1, 0.05)])
    step = {"ba_l2": np.float32([1]), "rank_90": np.float32([2])}
    run.append(Block("adapters", 1, np.zeros(1, np.int32), step))
    run.append(StepRecord(1, time=1.0))
    assert "  1 of 2: layers.1.attention.q" in repr(SpectraView(run))


def test_pairs_that_are_not_measured_are_left_out():
    run = run_of([(1, 5, 0.4), (1, 1, 0.05)])
    for row, layer in ((2, "layers.2"), (-5, "layers.3")):
        meta = {"module": layer, "r": 8, "measured": False}
        run.append(NameRecord(row, "adapters", layer, "adapter", layer, meta=meta))
    assert len(spectra_of(run).pairs) == 2
    assert "2 layers" in SpectraView(run).headline()


def test_the_record_of_a_training_is_that_of_the_full_product():
    model = lora()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    products = {}
    with ftlab.watch(model, optimizer) as watch:
        for batch in batches()[:3]:
            products = {
                name: layer.get_delta_weight("default").detach().double()
                for name, layer in model.named_modules()
                if hasattr(layer, "lora_A")
            }
            update(model(**batch).loss, optimizer)
    found = spectra_of(watch.run)
    assert found.steps[-1] == 2
    for column, pair in enumerate(found.pairs):
        squares = torch.linalg.svdvals(products[pair.meta["module"]]) ** 2
        held = squares.cumsum(0) / squares.sum()
        assert found.needed[-1, column] == int((held < 0.9).sum()) + 1
        for row, cut in enumerate(found.cuts):
            lost = float(1 - held[cut - 1])
            assert found.beyond[row, -1, column] == pytest.approx(lost, rel=1e-3)
    assert "directions" in Dashboard(watch.run).details.lines()["spectra"]
