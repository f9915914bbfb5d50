"""DAT002."""

from ftlab.records.finding import Place
from ftlab.rules.data.ids_outside_vocabulary import IdsOutsideVocabulary
from tests.rules.data.odd import (
    found,
    is_quiet_where_nothing_is_odd_and_open_on_an_empty_run,
    odd,
)

RULE = IdsOutsideVocabulary()
OUTSIDE = odd("ids", value=130, limit=128, piece="<pad>")


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_where_nothing_is_odd_and_open_on_an_empty_run(RULE)


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
