"""ADP022."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.adapter_hidden_in_wrapper import AdapterHiddenInWrapper
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def check(hidden="inner", trainer="Trainer", **args):
    builder = RunBuilder().facts(
        model={"class": "Wrapped", "saving": {"hidden": hidden}},
        training={"trainer_class": trainer, "args": args} if trainer else {},
    )
    return Engine([AdapterHiddenInWrapper()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([AdapterHiddenInWrapper()]).check(healthy_lora().run).findings == ()


def test_names_the_inner_model():
    (finding,) = check()
    assert finding.place == Place("module", "inner")
    assert "the model of the Trainer is a Wrapped" in finding.message


@pytest.mark.parametrize("case", [{"hidden": ""}, {"trainer": ""}])
def test_takes_a_wrapper_and_a_trainer(case):
    assert check(**case) == ()


def test_is_noted_only_where_no_checkpoint_is_planned():
    (finding,) = check(save_strategy="steps")
    assert finding.severity is Severity.WARNING
    (finding,) = check(save_strategy="no")
    assert finding.severity is Severity.INFO
