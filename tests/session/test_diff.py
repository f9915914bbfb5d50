"""`ftlab.diff` as a user calls it."""

import copy
from types import SimpleNamespace

import pytest
import torch
from transformers import BatchEncoding, Trainer, TrainingArguments

import ftlab
from ftlab.records.errors import BadValueError
from tests.executions.sides import Small, llama, padded, small_batch


@pytest.fixture
def pair():
    one, other = Small(), Small()
    other.layers[3].weight.data *= 1.5
    return one, other


def test_two_models_are_compared_on_one_batch(pair):
    one, other = pair
    found = ftlab.diff(one, other, small_batch())
    assert not found.equal
    assert (found.born[0].module, found.born[0].weights) == ("layers.3", ("weight",))
    assert found.headline().startswith("a and b part at layers.3, operation linear")
    assert ftlab.diff(one, copy.deepcopy(one), small_batch()).equal


def test_trainers_stand_for_their_models(pair, tmp_path):
    arguments = TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True)
    trainer = Trainer(pair[0], arguments)
    assert ftlab.diff(trainer, pair[0], small_batch()).equal
    own = SimpleNamespace(model=pair[1])
    assert not ftlab.diff(trainer, own, batch=small_batch()).equal
    assert ftlab.diff(trainer, small_batch(), between="mode").differences.rows


def test_the_batch_of_one_model_may_stand_second_or_be_named():
    model, batch = llama(), padded()
    for found in (
        ftlab.diff(model, batch, between="padding"),
        ftlab.diff(model, batch=BatchEncoding(batch), between="padding"),
    ):
        assert found.equal
        head = "row 1 alone and row 1 in the padded batch are equal"
        assert found.headline().startswith(head)


WAYS = (
    "adapter, attention, cache, checkpointing, compile, dtype, merge, mode, packing, "
    "padding"
)


def test_a_setting_that_there_is_not_is_refused_with_those_that_there_are():
    with pytest.raises(BadValueError) as raised:
        ftlab.diff(Small(), small_batch(), between="atention")
    assert str(raised.value).startswith(
        f"between='atention': it must be one of {WAYS}."
    )


def test_a_setting_that_does_not_apply_says_why():
    with pytest.raises(
        BadValueError, match=r"between='merge' does not apply: Small has"
    ):
        ftlab.diff(Small(), small_batch(), between="merge")


@pytest.mark.parametrize("batch", [None, [torch.ones(1)], torch.ones(1), "batch"])
def test_a_batch_that_is_none_is_refused_with_the_call_that_has_one(pair, batch):
    said = type(batch).__name__
    with pytest.raises(BadValueError) as raised:
        ftlab.diff(*pair, batch)
    message = str(raised.value)
    assert f" {said}; it must be a dictionary of what the model is called" in message
    assert "diff(a, b, next(iter(trainer.get_train_dataloader())))" in message


def test_one_model_alone_is_told_what_it_can_be_compared_with():
    with pytest.raises(BadValueError) as raised:
        ftlab.diff(Small(), batch=small_batch())
    message = str(raised.value)
    assert "diff(a, b, batch)" in message
    for way in WAYS.split(", "):
        assert f'"{way}"' in message


@pytest.mark.parametrize("wrong", [3, {}, SimpleNamespace(model=None)])
def test_what_is_no_model_is_named(wrong):
    said = rf"b is an? {type(wrong).__name__}; it must be a torch.nn.Module"
    with pytest.raises(BadValueError, match=said):
        ftlab.diff(Small(), wrong, small_batch())
    with pytest.raises(BadValueError, match=r"^model is .*or a trainer that has one"):
        ftlab.diff(wrong, small_batch(), between="mode")


def test_an_error_of_the_model_is_the_users_own(pair):
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        ftlab.diff(*pair, {"x": torch.ones(2, 3)})
