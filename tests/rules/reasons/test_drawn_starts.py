"""Which adapters of other methods are as they were drawn."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.adapter_drawn_at_random import AdapterDrawnAtRandom
from ftlab.rules.reasons.drawn_starts import APART, drawn_adapters
from tests.runs import RunBuilder, found_by, places


def run_of(*, off=(0.5, 0.0), law=(1, 1), uniform=(9, 9), facts=None, **meta):
    """Make a run of an adapter in two layers."""
    builder = RunBuilder()
    builder.facts(model={"peft": {"default": {}}, "start": facts or {}})
    plain = {"adapter": "default", "method": "LOHA", "field": "init_weights"}
    ids = np.arange(2, dtype=np.int32) + 70
    for index, row in enumerate(ids.tolist()):
        path = f"layers.{index}"
        described = plain | {"asked": False, "rank": 8, "tensors": f"{path}.w"} | meta
        name = f"{path} [default]"
        builder.run.append(
            NameRecord(row, "drawn", name, "adapter", "", meta=described)
        )
    columns = {"off_start": off, "off_law": law, "off_uniform": uniform}
    arrays = {name: np.array(each, np.float32) for name, each in columns.items()}
    builder.run.append(Block("drawn", 0, ids, arrays))
    builder.step()
    return builder.run


def reasons(**what):
    return [drawn.reason for drawn in drawn_adapters(run_of(**what)).values()]


def test_a_start_that_was_asked_for():
    assert reasons() == ["asked"]


def test_one_layer_that_fits_no_law_was_not_drawn():
    assert reasons(law=(1, 5)) == []


@pytest.mark.parametrize("off", [(0.0, 0.0), (APART, 0.0), (np.nan, np.inf)])
def test_a_start_that_changes_nothing(off):
    assert reasons(off=off) == []


def test_normal_laws_do_not_count_where_nothing_was_asked_for():
    assert reasons(asked=True) == []
    assert reasons(asked=True, uniform=(1, 1)) == ["drawn-again"]


@pytest.mark.parametrize(("rank", "reason"), [(7, "odd-rank"), (8, "drawn-again")])
def test_reflections_of_an_odd_rank(rank, reason):
    assert reasons(asked=True, uniform=(1, 1), method="HRA", rank=rank) == [reason]


@pytest.mark.parametrize("facts", [{"file": {"keys": 4}}, {"optimizer_states": [4]}])
def test_what_goes_on_was_not_begun_here(facts):
    assert reasons(facts=facts) == []


def test_the_finding_names_the_setting_and_the_tensors():
    (finding,) = found_by(AdapterDrawnAtRandom(), run_of())
    assert places(finding) == ["config init_weights", "param layers.0.w"]
    assert finding.fix == "init_weights=True."
