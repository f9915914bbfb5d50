"""ENV004."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.environment.epoch_below_one_update import EpochBelowOneUpdate
from tests.rules.environment.trainers import found
from tests.runs import only

WINDOW = {"gradient_accumulation_steps": 16}


def check(**parts):
    return found(EpochBelowOneUpdate(), **parts)


def test_is_quiet_where_nothing_is_amiss():
    assert check() == ()


def test_an_epoch_has_no_batch():
    (finding,) = check(loader={"batches": 0, "batch_size": 8}, made={"rows": 3})
    assert finding.severity is Severity.ERROR
    assert finding.place == Place("config", "dataloader_drop_last")
    assert "3 rows for batches of 8" in finding.message


def test_an_update_is_made_of_fewer_batches_than_asked():
    only(check(asked=WINDOW, **WINDOW), "info", "config gradient_accumulation_steps")


def test_a_window_that_fits_or_that_nobody_asked_for_is_left_in_peace():
    assert check(asked=WINDOW, gradient_accumulation_steps=8) == ()
    assert check(**WINDOW) == ()


def test_data_without_a_length_is_left_in_peace():
    assert check(asked=WINDOW, loader={"batch_size": 8}, **WINDOW) == ()
