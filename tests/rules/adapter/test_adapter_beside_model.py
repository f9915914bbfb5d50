"""ADP061."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_beside_model import AdapterBesideModel
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import RunBuilder, healthy_lora

SAVE = {"kind": "model", "folder": "out", "beside": True, "base_changed": True}


def check(*saves):
    builder = RunBuilder().facts(model={"peft": {}})
    for save in saves:
        builder.step(ops=[("save", "model", save)])
    return Engine([AdapterBesideModel()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run_and_not_checked_on_an_empty_one():
    assert Engine([AdapterBesideModel()]).check(healthy_lora().run).findings == ()
    assert len(Engine([AdapterBesideModel()]).check(Run()).not_checked) == 1


def test_the_last_of_several_saves_is_named():
    (finding,) = check(SAVE, SAVE | {"folder": "last"})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("call", "save_pretrained")
    assert "last" in finding.message
    assert (finding.first_step, finding.last_step) == (0, 1)


@pytest.mark.parametrize("lacks", ["beside", "base_changed"])
def test_a_folder_of_its_own_and_a_base_as_it_was_are_fine(lacks):
    save = {name: value for name, value in SAVE.items() if name != lacks}
    assert check(save) == ()
