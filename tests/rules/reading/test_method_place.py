"""The names of calls in places."""

from ftlab.rules.reading.method_place import method_place
from tests.runs import RunBuilder


def test_says_no_number_where_there_is_one_of_the_kind():
    run = RunBuilder().run
    assert str(method_place(run, "optimizer 0", "step")) == "call optimizer.step"
    assert str(method_place(run, "scheduler 0", "step")) == "call scheduler.step"


def test_says_which_of_several():
    run = RunBuilder().facts(optimizers=({}, {}), schedulers=({},)).run
    assert str(method_place(run, "optimizer 0", "step")) == "call optimizer 0.step"
    assert str(method_place(run, "scheduler 0", "step")) == "call scheduler.step"
