"""What rules read of how PEFT was put on."""

from ftlab.faults.builders.tiny import llama, lora
from ftlab.rules.reading.wiring import (
    adapters,
    is_trained,
    may_hold_adapters,
    needs_wiring,
    steps_of,
    trainable_tensors,
)
from ftlab.runlog.run import Run
from tests.runs import RunBuilder
from tests.wired import wired


def test_nothing_is_known_of_an_empty_run():
    assert may_hold_adapters(Run())
    assert not needs_wiring.present(Run())
    assert list(adapters(Run())) == []


def test_a_model_without_adapters_is_known_to_have_none():
    assert not may_hold_adapters(wired(llama()))


def test_adapters_come_with_their_configuration():
    ((name, described, config),) = adapters(wired(lora()))
    assert name == "default"
    assert described["layers"] == 4
    assert config["r"] == 8


def test_kept_modules_do_not_make_an_adapter_trainable():
    part = {"trainable": 1}
    assert trainable_tensors({"parts": {"modules_to_save": part}}) == 1
    assert trainable_tensors({"parts": {"modules_to_save": part, "lora_A": {}}}) == 0


def test_an_optimizer_or_a_step_says_that_it_is_trained():
    assert is_trained(wired(lora()))
    assert not is_trained(wired(lora(), optimizers=()))


def eight_steps(*read):
    builder = RunBuilder()
    for step in range(8):
        if step in read:
            builder.facts(step=step)
        builder.step()
    return builder.run


def test_the_first_facts_hold_from_the_step_before_which_they_were_read():
    assert steps_of(eight_steps(0)) == (0, 7)


def test_later_facts_hold_from_the_step_after_the_one_that_was_over():
    assert steps_of(eight_steps(0, 2)) == (3, 7)
