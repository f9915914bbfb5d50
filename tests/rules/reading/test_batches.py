"""What was told of the batches, read for rules."""

import math

from ftlab.records.finding import Place
from ftlab.rules.reading.batches import failed_steps, odd_batches, refused_batches
from tests.rules.data.odd import odd, run_of

NAN = odd("non-finite", "pixel_values", position=-1)


def test_only_what_is_odd_in_the_wanted_way_is_returned():
    run = run_of((0, NAN), (1, odd("ids")))
    assert [each.step for each in odd_batches(run, "ids")] == [1]


def test_places_are_as_exact_as_what_was_told():
    run = run_of((0, NAN), (1, odd("ids", micro_batch=2)))
    assert odd_batches(run, "non-finite")[0].places == (Place("sample", "1"),)
    found = odd_batches(run, "ids")[0]
    assert found.batch == "step 1, micro-batch 2"
    assert found.places[1] == Place("sample", "1 of micro-batch 2")


def test_what_a_model_has_taken_once_it_takes_again():
    assert refused_batches(run_of((2, odd("ids"))), "ids")
    assert not refused_batches(run_of((1, odd("ids")), (2, odd("ids"))), "ids")


def test_steps_fail_that_are_not_made_or_lose_their_numbers():
    run = run_of((0, NAN), (1, NAN), (2, NAN), losses=(2.0, math.inf))
    found = failed_steps(run, odd_batches(run, "non-finite"))
    assert [each.step for each in found] == [1, 2]
