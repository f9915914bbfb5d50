"""ADP059."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.untrained_adapter_read import UntrainedAdapterRead
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import RunBuilder, healthy_lora


def read(**detail):
    found = {"folder": "out", "zero": True, "below": ["mine"]} | detail
    return ("read", "saved folder", found)


def check(*ops):
    builder = RunBuilder().facts(model={"peft": {"default": {}, "mine": {}}})
    builder.lora("layers.0", "mine")
    builder.step(ops=ops)
    return Engine([UntrainedAdapterRead()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run_and_not_checked_on_an_empty_one():
    assert Engine([UntrainedAdapterRead()]).check(healthy_lora().run).findings == ()
    assert len(Engine([UntrainedAdapterRead()]).check(Run()).not_checked) == 1


def test_the_adapter_above_the_trained_one_is_loaded():
    (finding,) = check(read(), read())
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("file", "adapter keys")
    assert "is in out/mine" in finding.message


@pytest.mark.parametrize(
    "ops",
    [
        (read(zero=False),),
        (read(below=[]),),
        (read(below=["other"]),),
        (read(), read(folder="mine", zero=False, below=[])),
    ],
)
def test_trained_ones_none_below_others_and_both_are_fine(ops):
    assert check(*ops) == ()
