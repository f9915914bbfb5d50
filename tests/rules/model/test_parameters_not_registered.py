"""MOD008: parameters in the loss that the model does not know of."""

import numpy as np

from ftlab.records.finding import Severity
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.parameters_not_registered import ParametersNotRegistered
from tests.runs import RunBuilder, found_by, only


def check(*held, container="list"):
    builder = RunBuilder().step()
    for row, each in enumerate(held):
        meta = {"owner": "m.0", "attribute": "gates", "held": each}
        meta["container"] = container
        name = f"m.0.gates[{row}].weight"
        builder.run.append(
            NameRecord(row, "unregistered", name, "param", "", meta=meta)
        )
    ids = np.arange(len(held), dtype=np.int32)
    values = {"held": np.array(held, np.float32)}
    if held:
        builder.run.append(Block("unregistered", 0, ids, values))
    return found_by(ParametersNotRegistered(), builder.run)


def test_parameters_without_an_optimizer_are_found():
    found = only(check(False, False), "error")
    assert list(map(str, found.places)) == [
        "param m.0.gates[0].weight",
        "param m.0.gates[1].weight",
        "object m.0.gates",
    ]
    assert "m.0.gates is a plain list" in found.cause


def test_those_that_an_optimizer_holds_are_noted():
    first, second = check(False, True)
    assert (first.severity, second.severity) == (Severity.ERROR, Severity.INFO)
    assert second.evidence["reason"] == "not-saved"


def test_a_model_without_such_parameters_does_not_concern_it():
    assert check() == ()


def test_a_tensor_that_was_made_of_a_parameter_has_another_cure():
    (found,) = check(False, container="Tensor")
    assert "casting" in found.cause
    assert "create the Parameter last" in found.fix
