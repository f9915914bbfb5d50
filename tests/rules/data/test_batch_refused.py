"""DAT002: batches that the model does not take, in each way, and those that it does."""

from ftlab.records.event import Event
from ftlab.records.finding import Place
from ftlab.rules.data.batch_refused import BatchRefused
from ftlab.rules.engine import Engine
from tests.rules.data.odd import found, odd, run_of
from tests.runs import only

RULE = BatchRefused()


OUTSIDE = odd("ids", value=130, limit=128, piece="<pad>")


def test_the_batch_that_ended_the_run_is_named():
    (finding,) = found(RULE, (2, OUTSIDE))
    assert finding.places == (Place("token", "4 of sample 1"), Place("sample", "1"))
    assert "'<pad>'" in finding.message
    assert finding.first_step == 2
    assert "resize" in finding.fix


def test_a_first_step_that_is_never_made_is_enough():
    (finding,) = found(RULE, (0, OUTSIDE), losses=())
    assert finding.first_step == 0


def test_the_micro_batch_is_named():
    (finding,) = found(RULE, (2, odd("ids", value=-1, limit=128, micro_batch=3)))
    assert finding.place == Place("token", "4 of sample 1 of micro-batch 3")
    assert "pad_token_id" in finding.fix


def test_what_the_model_has_taken_is_right():
    assert found(RULE, (1, OUTSIDE)) == ()
    assert found(RULE, (1, OUTSIDE), (2, OUTSIDE)) == ()


def test_a_class_too_many_is_named():
    (finding,) = found(RULE, (2, odd("labels", "labels", value=3, limit=3)))
    assert finding.place == Place("token", "4 of sample 1")
    assert "num_labels" in finding.fix


def test_another_number_for_ignored_labels_is_told_as_such():
    (finding,) = found(RULE, (2, odd("labels", "labels", value=-1, limit=3)))
    assert "-100" in finding.fix


def test_a_loss_that_takes_them_is_right():
    assert found(RULE, (0, odd("labels", "labels", value=-1, limit=3))) == ()


SHAPE = odd("shape", "labels", value="(8, 7)", limit="(8, 8)")


def test_a_shape_that_ended_the_run_is_named():
    finding = only(found(RULE, (2, SHAPE)), place="data labels")
    assert "(8, 7)" in finding.message


def test_a_shape_that_the_model_has_taken_is_right():
    assert found(RULE, (1, SHAPE)) == ()


def test_ids_that_are_in_no_rows_are_told_in_other_words():
    stacked = odd("shape", "input_ids", value="(8, 1, 7)", limit="(8, 7)")
    finding = only(found(RULE, (2, stacked)), place="data input_ids")
    assert "samples of tokens, (8, 7)" in finding.message
    assert "return_tensors" in finding.cause


def test_ids_in_no_rows_that_were_taken_are_told_where_blocks_misread_them():
    stacked = odd("shape", "input_ids", value="(8, 1, 7)", limit="(8, 7)")
    run = run_of((1, stacked))
    assert Engine([RULE]).check(run).findings == ()
    detail = {"rows": 0, "places": [], "hidden": [8, 1, 7, 4]}
    run.append(Event("attention", 1, 0.0, "", detail))
    only(Engine([RULE]).check(run).findings, place="data input_ids")


DTYPE = odd("dtype", "labels", value="int32", limit="int64")


def test_a_dtype_that_ended_the_run_is_named():
    finding = only(found(RULE, (2, DTYPE)), place="data labels")
    assert "int32" in finding.message


def test_a_dtype_that_the_model_has_taken_is_right():
    assert found(RULE, (1, DTYPE)) == ()
