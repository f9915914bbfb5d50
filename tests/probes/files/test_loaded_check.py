"""What is given to a load, against what the model has."""

from types import SimpleNamespace

import torch
from peft import get_peft_model_state_dict
from torch import nn

from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.files.loaded_check import SHOWN, Given, compare_keys, given_to


def linear():
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    return model


def answer(missing=(), unexpected=()):
    return SimpleNamespace(missing_keys=[*missing], unexpected_keys=[*unexpected])


def given(keys=2, prompts=False, matters=("layers.0.q.lora_A.weight",)):
    return Given("", keys, 0, 0, [], prompts, frozenset(matters))


def test_trainable_tensors_that_are_given_their_own_memory_are_counted():
    model = linear()
    own = given_to(model, model.state_dict(), None)
    assert (own.keys, own.trainable, own.aliased) == (2, 1, 1)
    copied = {key: value.clone() for key, value in model.state_dict().items()}
    assert given_to(model, copied, None).aliased == 0


def test_a_part_of_the_same_memory_is_not_the_same():
    model = linear()
    assert given_to(model, {"weight": model.weight.data[:1]}, None).aliased == 0


def test_what_has_no_memory_is_compared_without_reading_it():
    meta = {"weight": torch.empty(2, 3, device="meta")}
    assert given_to(linear(), meta, None).aliased == 0


def test_what_matters_is_trainable_or_else_everything():
    model = linear()
    assert given_to(model, {}, None).missing_matters == {"weight"}
    model.requires_grad_(False)
    assert given_to(model, {}, None).missing_matters == {"weight", "bias"}


def test_another_shape_counts_in_an_adapters_load_alone():
    model, other = lora(), get_peft_model_state_dict(lora(r=4))
    assert len(given_to(model, other, "default").misshapen) == 8
    cut = {key: value[:1] for key, value in model.state_dict().items()}
    assert given_to(model, cut, None).misshapen == []


def test_names_are_kept_up_to_a_bound():
    model = lora(llama(num_hidden_layers=5), target_modules="all-linear")
    own = get_peft_model_state_dict(model)
    state = {key: value[:1, :1] for key, value in own.items()}
    assert len(state) > SHOWN
    assert len(given_to(model, state, "default").misshapen) == SHOWN


def test_keys_that_were_read_are_counted():
    assert compare_keys(given(), answer(unexpected=["new.weight"])) == {"matched": 1}


def test_keys_that_belong_to_what_is_missing_are_lost():
    missing = ["layers.0.q.lora_A.mine.weight"]
    found = compare_keys(
        given(matters=missing), answer(missing, ["layers.0.q.lora_A.weight"])
    )
    assert found["lost"] == 1
    assert found["reason"] == "adapter-name"
    assert found["example"] == "layers.0.q.lora_A.weight"


def test_nothing_is_lost_that_did_not_matter():
    frozen = answer(["layers.0.q.lora_A.mine.weight"], ["layers.0.q.lora_A.weight"])
    assert "lost" not in compare_keys(given(matters=["head.weight"]), frozen)


def test_every_key_is_lost_where_none_was_read():
    alien = answer(["head.weight"], ["a", "b"])
    assert compare_keys(given(matters=[]), alien)["lost"] == 2


def test_nothing_is_said_of_prompts_and_of_other_answers():
    assert compare_keys(given(prompts=True), answer(unexpected=["a"])) == {}
    assert compare_keys(given(), None) == {}
