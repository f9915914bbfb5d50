"""How a cut of the graph that was seen is read and put into words."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.reasons.flow import (
    PACKED,
    MeasuredCut,
    cause_of,
    cuts_of,
    extra_places,
    fix_of,
    looked_at,
)
from tests.runs import RunBuilder


def cut(kind="output", op="", to="", module_class="Block"):
    return MeasuredCut("m.layers.0", kind, op, to, module_class, 3)


def run_with(*steps):
    builder = RunBuilder()
    for number, step in enumerate(steps):
        meta = {"kind": "output", "op": "", "to": "", "class": "Block"}
        row = 7000 + number
        record = NameRecord(row, "cuts", f"m.{number}", "module", "", meta=meta)
        builder.run.append(record)
        ids, values = np.array([row], np.int32), np.ones(1, np.float32)
        builder.run.append(Block("cuts", step, ids, {"cut": values}))
    builder.steps(4)
    return builder.run


def test_cuts_come_in_the_order_of_their_steps():
    assert [(c.name, c.step) for c in cuts_of(run_with(2, 0))] == [
        ("m.1", 0),
        ("m.0", 2),
    ]


def test_a_run_without_cuts_has_none():
    assert cuts_of(RunBuilder().step().run) == []


def test_a_window_has_only_its_own_cuts():
    assert [c.name for c in cuts_of(run_with(0, 2).window(1, 4))] == ["m.1"]


def test_that_it_was_looked_at_the_steps_say():
    assert not looked_at(RunBuilder().step().run)
    assert looked_at(RunBuilder().step(values={"graph_cuts": 0.0}).run)


@pytest.mark.parametrize(
    ("found", "proven"),
    [
        (cut("between"), False),
        (cut("between", "detach"), True),
        (cut("output"), True),
    ],
)
def test_other_tensors_of_the_same_shape_are_no_proof(found, proven):
    assert found.proven is proven


@pytest.mark.parametrize(
    ("found", "cause", "fix"),
    [
        (cut("checkpoint"), "reentrant checkpoint", "use_reentrant"),
        (cut("no-grad"), "gradients switched off", "outside of torch.no_grad"),
        (cut("hook", "detach"), "forward hook", "return None"),
        (
            cut("between", to="m.layers.1"),
            "input of m.layers.1 is not",
            "detach only copies",
        ),
        (cut("output"), "has no graph", "detach only copies"),
        (cut(module_class=PACKED[0]), "has no graph", "support_avx512bf16_for_cpu"),
    ],
)
def test_each_kind_has_its_words(found, cause, fix):
    assert cause in cause_of(found)
    assert fix in fix_of(found)


@pytest.mark.parametrize(
    ("found", "places"),
    [
        (cut("checkpoint"), ["config use_reentrant"]),
        (cut("no-grad"), ["call torch.no_grad"]),
        (cut("between", "detach", "m.b"), ["module m.b", "op detach"]),
        (cut("output"), []),
    ],
)
def test_the_operation_or_setting_is_named_besides(found, places):
    assert [str(place) for place in extra_places(found)] == places
