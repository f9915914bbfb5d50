"""What the calls of modules tell of gradients that did not arrive."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.unreached import by_calls
from tests.runs import RunBuilder

WEIGHT = NameRecord(0, "tensors", "m.side.weight", "param", "", (2,), "float32")
OTHER = NameRecord(1, "tensors", "m.top.weight", "param", "", (2,), "float32")


def reason(rows, lost=(WEIGHT,), step=0):
    builder = RunBuilder()
    for number, (name, kind, to) in enumerate(rows):
        meta = {"kind": kind, "to": to, "class": "Linear"}
        row = 7000 + number
        builder.run.append(NameRecord(row, "unreached", name, "module", "", meta=meta))
        ids, values = np.array([row], np.int32), np.ones(1, np.float32)
        builder.run.append(Block("unreached", step, ids, {"unreached": values}))
    builder.step()
    return by_calls(builder.run, Missing(True, lost, ()))


@pytest.mark.parametrize(
    ("row", "kind", "place"),
    [
        (("model", "bypassed", "m.base"), "wrapper-bypassed", "module model"),
        (("m.side", "bypassed", "m.side.inner"), "module-bypassed", "module m.side"),
        (("model", "not-called", ""), "model-not-called", "call model.forward"),
        (("m.side", "not-called", "m"), "module-not-called", "module m.side"),
        (("m.side", "weight-taken", "m"), "weight-taken-directly", "module m.side"),
        (("model", "unused", ""), "loss-without-model", "object loss"),
        (("m.side", "unused", ""), "output-not-used", "module m.side"),
        (("m.side", "unreturned", "m.up"), "hook-returns-nothing", "module m.side"),
        (("m.side", "made-anew", "m.side.w"), "weight-made-anew", "module m.side"),
        (
            ("m.side", "copied", ""),
            "gradients-on-copies",
            "call torch.func.functional_call",
        ),
        (("m.side", "none-returned", "m"), "backward-returns-none", "module m"),
        (("m.side", "other-forward", "m"), "forward-of-another", "call m.forward"),
        (
            ("m.side", "other-forward", "model"),
            "forward-of-another",
            "call model.forward",
        ),
    ],
)
def test_each_kind_has_its_reason_and_place(row, kind, place):
    found = reason([row])
    assert found.kind == kind
    assert str(found.places[0]) == place
    assert found.fix


def test_a_function_that_lost_the_gradients_is_named_with_its_line():
    builder = RunBuilder()
    meta = {"kind": "none-returned", "to": "m.up", "class": "Linear"}
    meta["function"] = "Gate.backward (gate.py:7)"
    record = NameRecord(7000, "unreached", "m.side", "module", "", meta=meta)
    builder.run.append(record)
    ids, values = np.array([7000], np.int32), np.ones(1, np.float32)
    builder.run.append(Block("unreached", 0, ids, {"unreached": values}))
    found = by_calls(builder.step().run, Missing(True, (WEIGHT,), ()))
    places = ["module m.up", "op Gate.backward", "file gate.py:7"]
    assert list(map(str, found.places)) == places
    assert "Gate.backward (gate.py:7), which runs in m.up" in found.cause


def test_the_calls_must_tell_of_every_tensor():
    assert reason([("m.side", "unused", "")], lost=(WEIGHT, OTHER)) is None


def test_the_module_nearest_to_the_tensor_counts():
    found = reason([("m", "not-called", "model"), ("m.side", "unused", "")])
    assert found.kind == "output-not-used"


def test_nothing_is_told_where_nothing_was_looked_at():
    assert reason([]) is None
