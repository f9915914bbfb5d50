"""Dry steps of a Trainer are made as its train() makes them."""

import pytest

import ftlab
from ftlab.faults.builders.chats import sized, tokenizer, trained_on, whole
from ftlab.faults.builders.tiny import llama, lora
from ftlab.faults.builders.trainers import trained


def marks(model):
    return [
        getattr(module, "gradient_checkpointing", None) for module in model.modules()
    ]


def hooks(model):
    return [len(module._forward_hooks) for module in model.modules()]


@pytest.mark.parametrize("adapted", [True, False])
def test_checkpointing_is_on_in_the_dry_steps_and_as_it_was_afterwards(adapted):
    model = lora(llama()) if adapted else llama()
    # What transformers 5 does unless it is asked not to.
    settings = {"gradient_checkpointing_kwargs": {"use_reentrant": False}}
    made = trained(model, gradient_checkpointing=True, **settings).trainer
    before = marks(model), hooks(model)
    checklist = ftlab.preflight(made)
    again = [
        i for i in checklist if i.name == "gradients are those without checkpointing"
    ]
    assert [item.status for item in again] == ["passed"]
    assert "MOD011" not in {item.code for item in checklist}
    assert (marks(model), hooks(model)) == before


def test_a_trainer_that_asks_for_none_makes_its_steps_without():
    checklist = ftlab.preflight(trained(llama()).trainer)
    assert not [item for item in checklist if "checkpointing" in item.name]


def test_ends_that_train_will_add_are_known_to_the_dry_steps_alone(caplog):
    made = tokenizer(eos_token="</turn>")
    model = sized(made)
    other = made.convert_tokens_to_ids("</s>")
    assert other not in (None, made.eos_token_id)
    model.config.eos_token_id = model.generation_config.eos_token_id = other
    before = str(model.config), str(model.generation_config)
    checklist = ftlab.preflight(trained_on(made, whole(made), model=model).trainer)
    assert "DAT018" not in {item.code for item in checklist.failed}
    assert (str(model.config), str(model.generation_config)) == before
    assert "aligned" not in caplog.text
