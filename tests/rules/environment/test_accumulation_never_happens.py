"""ENV007."""

from ftlab.records.finding import Place
from ftlab.rules.environment.accumulation_never_happens import AccumulationNeverHappens
from tests.runs import RunBuilder, found_by, only

DIVIDED = {"accelerate": 4, "divided": [4.0]}


def check(*updates, training=None):
    builder = RunBuilder().facts(model={"class": "Llama"}, training=training or {})
    for backwards, step in updates:
        ops = [("backward", "loss", each) for each in backwards]
        builder.step(ops=[*ops, ("step", "AdamW", step)])
    return found_by(AccumulationNeverHappens(), builder.run)


ALONE = ((DIVIDED,), {})


def test_each_update_is_made_of_one_divided_backward():
    finding = only(check(ALONE, ALONE, ALONE), "warning", gathered=4)
    assert finding.place == Place("config", "gradient_accumulation_steps")


def test_two_updates_or_one_that_is_gathered_decide_nothing():
    gathered = ((DIVIDED,) * 4, {})
    assert check(ALONE, ALONE) == ()
    assert check(ALONE, ALONE, ALONE, gathered) == ()


def test_updates_at_the_end_of_the_data_are_left_out():
    last = ((DIVIDED,), {"end_of_data": True})
    assert check(*[last] * 8) == ()
    assert check(last, ALONE, ALONE, last) == ()


def test_a_loss_that_accelerate_did_not_divide_is_left_in_peace():
    assert check(*[(({"accelerate": 4},), {})] * 4) == ()
    assert check(*[(({"divided": [4.0]},), {})] * 4) == ()


def test_what_is_stepped_while_gathering_is_another_fault():
    early = ((DIVIDED,), {"accumulating": 4})
    assert check(early, early, early) == ()


def test_a_trainer_gathers_by_itself():
    assert check(ALONE, ALONE, ALONE, training={"trainer_class": "Trainer"}) == ()
