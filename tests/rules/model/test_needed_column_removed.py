"""MOD013."""

from ftlab.records.finding import Place
from ftlab.rules.model.needed_column_removed import NeededColumnRemoved
from tests.runs import RunBuilder, found_by, only

READ = {"column": "importance", "where": "Weighing.compute_loss"}
TRAINER = {"trainer_class": "Weighing"}


def check(*histories):
    """Check a run whose facts of the training were these, one after another."""
    builder = RunBuilder()
    for training in histories:
        builder.facts(model={"class": "Toy"}, training=training)
    return found_by(NeededColumnRemoved(), builder.run)


def test_is_quiet_on_a_healthy_run():
    assert check(TRAINER) == check(TRAINER | {"removed_and_read": []}) == ()


def test_one_finding_names_all_columns_and_each_reader_once():
    reads = [READ, READ | {"column": "teacher"}]
    finding = only(check(TRAINER | {"removed_and_read": reads}), "warning")
    assert "the Weighing removes importance, teacher from" in finding.message
    assert "importance=None" in finding.fix
    assert finding.places == (
        Place("config", "remove_unused_columns"),
        Place("data", "column importance"),
        Place("data", "column teacher"),
        Place("call", "Weighing.compute_loss"),
    )


def test_columns_that_only_the_first_row_named_are_found_too():
    assert len(check(TRAINER, TRAINER | {"removed_and_read": [READ]})) == 1


def test_a_loop_of_one_s_own_is_left_out():
    assert check({"removed_and_read": [READ]}) == ()
