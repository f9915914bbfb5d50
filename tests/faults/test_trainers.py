"""Cases that a Trainer trains."""

import gc
from pathlib import Path

import pytest
import torch

from ftlab.faults.builders.tiny import VOCABULARY, batches, lora
from ftlab.faults.builders.trainers import (
    end_after,
    folder,
    resumed,
    seeded,
    texts,
    trained,
    words,
)
from ftlab.faults.variation import Variation, varied


def test_a_case_trains_as_many_steps_as_it_is_told():
    case = trained(lora(), max_steps=3)
    case.run(1)
    assert case.trainer.state.global_step == 3
    assert case.model is case.trainer.model


def test_the_trainers_folder_goes_with_it():
    case = trained(lora(), max_steps=1)
    path = Path(case.trainer.args.output_dir)
    path.mkdir(exist_ok=True)
    del case
    gc.collect()
    assert not path.exists()


def test_a_folder_goes_with_its_owner():
    owner = torch.nn.Linear(1, 1)
    path = folder(owner)
    assert path.is_dir()
    del owner
    gc.collect()
    assert not path.exists()


def test_texts_are_rows_in_words():
    tokenizer = words()
    assert len(tokenizer) == VOCABULARY
    (batch,) = batches(1, 1, 10)
    assert tokenizer(texts(1)[0])["input_ids"] == batch["input_ids"][0].tolist()


def test_dice_follow_the_variation():
    first = torch.rand(4, generator=seeded())
    assert torch.equal(first, torch.rand(4, generator=seeded()))
    with varied(Variation(seed=1)):
        assert not torch.equal(first, torch.rand(4, generator=seeded()))


@pytest.mark.parametrize(("allowed", "made"), [(3, 3), (9, 5)])
def test_a_trainer_is_ended_if_it_does_not_end_before(allowed, made):
    case = trained(lora(), max_steps=5)
    end_after(allowed, case.trainer)
    case.run(1)
    assert case.trainer.state.global_step == made


def test_a_resumed_trainer_is_given_as_many_steps_as_another():
    case = resumed(lora, 2, max_steps=9)
    end_after(3, case.trainer)
    case.run(1)
    assert case.trainer.state.global_step == 5
