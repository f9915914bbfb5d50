"""Which adapters were merged before a save."""

import pytest

from ftlab.rules.reasons.merged_adapters import others_merged
from tests.runs import RunBuilder

STEP = ("step", "optimizer 0", {})
OFF = ("unload", "adapters", {"call": "unload"})


def on(op, adapters="old"):
    return (op, "adapters", {"adapters": adapters})


@pytest.mark.parametrize(
    ("ops", "told"),
    [
        ((STEP, on("merge"), OFF), True),
        ((STEP, on("merge"), on("unmerge"), OFF), False),
        ((STEP, on("merge")), False),
        ((on("merge"), OFF), False),
        ((STEP, on("load_adapter"), on("merge"), OFF), False),
        ((on("load_adapter"), STEP, on("merge"), OFF), True),
    ],
)
def test_tells_what_was_merged_after_updates_and_taken_off(ops, told):
    builder = RunBuilder().facts(model={"peft": {"default": {}, "old": {}}})
    builder.lora("layers.0")
    builder.step(ops=[*ops, ("save", "model", {"kind": "model"})])
    found = others_merged(builder.run, list(builder.run.ledger)[-1])
    assert found == (({"old"}, {"default"}) if told else None)
