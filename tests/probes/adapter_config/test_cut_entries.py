"""Entries that reach less, or more, than what they name."""

from collections import OrderedDict

import pytest
import torch
from peft import LoraConfig, get_peft_model

from ftlab.faults.builders.tiny import gpt2, llama, lora
from ftlab.probes.adapter.adapter_tree import adapted_layers
from ftlab.probes.adapter_config.cut_entries import alternatives, cut_entries

PREFIX = "base_model.model"


def found(model):
    config = model.peft_config["default"]
    layers = list(adapted_layers(model))
    return cut_entries(config, layers, model.base_model.model, PREFIX)


def counts(**settings):
    return {
        field: {entry: each["count"] for entry, each in entries.items()}
        for field, entries in found(lora(llama(), **settings)).items()
    }


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a", ["a"]),
        ("a|b", ["a", "b"]),
        ("(a|b)|c", ["(a|b)", "c"]),
        (r"a\|b|c", [r"a\|b", "c"]),
        ("a[|]b", ["a[|]b"]),
    ],
)
def test_alternatives_stand_in_no_group(expression, parts):
    assert alternatives(expression) == parts


@pytest.mark.parametrize(
    "targets",
    [
        ["q_proj", "v_proj"],
        "all-linear",
        r".*\.(q|v)_proj",
        r".*\.q_proj|lm_head",
        r".*\.q_proj|.*c_attn",
        r".*_proj|q_proj",
        ["q_proj", "proj"],
    ],
)
def test_entries_that_match_or_are_not_there_are_left_alone(targets):
    assert counts(target_modules=targets) == {}


def test_an_alternative_that_is_a_part_of_names():
    assert counts(target_modules=r".*q_proj|v_proj") == {
        "target_modules": {"v_proj": 2}
    }


def test_an_expression_in_a_list_is_taken_as_letters():
    targets = ["q_proj", r".*\.v_proj"]
    assert counts(target_modules=targets) == {"target_modules": {r".*\.v_proj": 2}}


def test_what_is_excluded_was_not_missed():
    settings = {"target_modules": r".*q_proj|v_proj"}
    assert counts(**settings, exclude_modules=[r"v_proj"]) == {}
    assert counts(**settings, exclude_modules=r".*\.v_proj") == {}


@pytest.mark.parametrize("excluded", ["mlp", r".*\.mlp", r"layers\.0|.*q_proj"])
def test_an_exclusion_that_is_a_part_of_names(excluded):
    (entries,) = counts(target_modules="all-linear", exclude_modules=excluded).values()
    assert list(entries) == [excluded.partition("|")[0]]


@pytest.mark.parametrize(
    "excluded", [r".*\.mlp\..*", r".*vision.*", ["mlp.up_proj"], ["visual"]]
)
def test_exclusions_that_work_or_are_for_another_model(excluded):
    assert counts(target_modules="all-linear", exclude_modules=excluded) == {}


@pytest.mark.parametrize(("number", "more"), [(r"\d", 2), (r"\d+", 0), ("[0-9]+", 0)])
def test_one_digit_leaves_out_blocks_from_ten_on(number, more):
    wanted = rf".*\.layers\.{number}\..*q_proj"
    cut = found(lora(llama(num_hidden_layers=12), target_modules=wanted))
    assert sum(each["count"] for each in cut.get("digits", {}).values()) == more


def test_a_name_to_save_that_is_the_end_of_others():
    assert counts(modules_to_save=["norm"]) == {"modules_to_save": {"norm": 4}}
    assert counts(modules_to_save=["model.norm"]) == {}
    assert counts(modules_to_save=["layernorm"]) == {}


def test_an_expression_that_is_none_is_left_alone():
    settings = {"target_modules": ["c_attn", "c_proj("]}
    assert found(lora(gpt2(), **settings)) == {}


def test_an_exclusion_that_excludes_something_is_left_alone():
    model = torch.nn.Sequential(
        OrderedDict(proj=torch.nn.Linear(4, 4), proj_out=torch.nn.Linear(4, 4))
    )
    config = LoraConfig(target_modules=["proj", "proj_out"], exclude_modules="proj")
    assert found(get_peft_model(model, config)) == {}
