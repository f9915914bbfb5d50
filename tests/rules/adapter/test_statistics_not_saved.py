"""ADP044."""

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.statistics_not_saved import StatisticsNotSaved
from tests.runs import RunBuilder, found_by, only, places


def findings(gathered=1.0, *, unsaved=True, ops=(), adapters=("default",)):
    builder = RunBuilder()
    builder.facts(model={"peft": {name: {} for name in adapters}})
    meta = {"unsaved": unsaved}
    builder.run.append(NameRecord(7, "statistics", "bn", "module", "", meta=meta))
    values = {"gathered": gathered, "gathered_again": 0.0}
    columns = {name: np.array([each], np.float32) for name, each in values.items()}
    builder.run.append(Block("statistics", 0, np.array([7], np.int32), columns))
    builder.step(ops=ops)
    return found_by(StatisticsNotSaved(), builder.run)


def test_statistics_that_move_are_noted():
    finding = only(findings(), "info")
    assert places(finding) == ["module bn", "config modules_to_save"]


def test_it_is_a_warning_once_the_adapter_is_saved():
    only(findings(ops=[("save", "model", {"kind": "adapter"})]), "warning")


def test_others_do_not_concern_it():
    assert findings(gathered=0.0) == ()
    assert findings(unsaved=False) == ()
    assert findings(adapters=()) == ()
