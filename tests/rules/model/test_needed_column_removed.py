"""MOD013."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.engine import Engine
from ftlab.rules.model.needed_column_removed import NeededColumnRemoved
from tests.runs import RunBuilder, healthy_lora

READ = {"column": "importance", "where": "Weighing.compute_loss"}


def check(*reads):
    training = {"trainer_class": "Weighing", "removed_and_read": list(reads)}
    builder = RunBuilder().facts(model={"class": "Toy"}, training=training)
    return Engine([NeededColumnRemoved()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([NeededColumnRemoved()]).check(healthy_lora().run).findings == ()
    assert check() == ()


def test_one_finding_names_all_columns_and_who_reads_them():
    (finding,) = check(READ, READ | {"column": "teacher"})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "remove_unused_columns")
    assert Place("data", "column teacher") in finding.places
    assert "importance, teacher" in finding.message
    assert finding.places[-1] == Place("call", "Weighing.compute_loss")
