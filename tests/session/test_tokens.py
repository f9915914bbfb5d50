"""What is no batch is answered with how to get one."""

import pytest
import torch

import ftlab
from ftlab.records.errors import BadValueError
from tests.session.scenarios import trainer


def test_a_trainer_is_told_how_to_take_a_batch_and_none_is_drawn():
    made = trainer()
    before = torch.random.get_rng_state()
    with pytest.raises(BadValueError, match=r"given a Trainer.*get_train_dataloader"):
        ftlab.tokens(made)
    assert torch.equal(before, torch.random.get_rng_state())
    batch = next(iter(made.get_train_dataloader()))
    assert len(ftlab.tokens(batch=batch, tokenizer=made.processing_class).table())


def test_a_batch_goes_by_name():
    batch = {"input_ids": torch.tensor([[1, 5]])}
    with pytest.raises(BadValueError, match=r"given a dict.*batch=batch"):
        ftlab.tokens(batch)
    with pytest.raises(BadValueError, match=r"given an int.*loader"):
        ftlab.tokens(3)
