"""Runs whose loaders are written down by hand."""

import numpy as np

from ftlab.records.event import Event
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from tests.runs import RunBuilder, found_by, healthy_lora, report_by

SIZE = 4
"""Rows of a step."""


def run_of(*starts, rows=(), column="others", texts=(), states=(), **training):
    """A run with these loaders; ``rows`` are digests, ``states`` of Python's random.

    ``texts`` are the digests of the ids of each row.
    """
    builder = RunBuilder().facts(model={"class": "Llama"}, training=training)
    for row in range(SIZE):
        meta = {"micro_batch": 0, "row": row}
        name = NameRecord(row, "samples", f"{row}", "sample", "", meta=meta)
        builder.run.append(name)
    for start in starts:
        builder.run.append(Event("loader", start.step, 0.0, "", start.as_json()))
    begun = max((start.step + 1 for start in starts), default=1)
    for step in range(max(len(rows) // SIZE, len(states), begun)):
        fed = np.array(rows[SIZE * step : SIZE * (step + 1)], np.float32)
        if len(fed):
            ids = np.arange(len(fed), dtype=np.int32)
            said = np.array(texts[SIZE * step : SIZE * (step + 1)], np.float32)
            told = {column: fed} | ({"ids": said} if len(said) else {})
            builder.run.append(Block("samples", step, ids, told))
        values = {"rng_python": states[step]} if states else {}
        builder.step(values=values)
    return builder.run


def check(rule, *starts, **settings):
    return found_by(rule, run_of(*starts, **settings))


def is_left_out_without_a_loader_and_open_on_an_empty_run(rule):
    """Nothing is found, and only of an unknown run something is not checked."""
    report = report_by(rule, healthy_lora().run)
    assert report.findings == report.not_checked == ()
    (left,) = report_by(rule, RunBuilder().run).not_checked
    assert left.code == rule.code
    return True
