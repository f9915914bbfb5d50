"""Who computes a Trainer's loss stands among the facts, before a step is made."""

import pytest

from ftlab.faults.builders.tiny import lora
from ftlab.faults.builders.trainers import trained
from ftlab.faults.registry import load
from ftlab.session.integrations.transformers import trainer_subject


def told(case):
    return trainer_subject(case.trainer).training


@pytest.mark.parametrize("accepted", [True, False])
def test_a_compute_loss_of_ones_own_is_told_with_what_the_trainer_thinks_of_it(
    accepted,
):
    facts = told(load("mean-loss-in-a-trainer").build(fixed=not accepted))
    assert facts["own_compute_loss"]
    assert not facts["compute_loss_func"]
    assert facts["model_accepts_loss_kwargs"] is accepted


def test_a_trainer_as_it_comes_computes_its_own():
    facts = told(trained(lora()))
    assert not facts["own_compute_loss"]
    assert not facts["compute_loss_func"]


def test_a_function_for_the_loss_is_told():
    facts = told(trained(lora(), trainer={"compute_loss_func": lambda *_, **__: 0}))
    assert facts["compute_loss_func"]
    assert not facts["own_compute_loss"]
