"""Which kept modules do not run an adapter's copy."""

import warnings

import pytest
import torch

from ftlab.faults.builders.tiny import llama, lora, lora_config
from ftlab.probes.adapter_config.adapter_facts import adapter_facts
from ftlab.probes.adapter_config.kept_modules import idle_copies
from tests.versions import older_than

switched_off = pytest.mark.skipif(
    older_than("peft", "0.19"), reason="PEFT 0.18 switches the module off as a whole"
)

HEAD = "base_model.model.lm_head"


def with_two():
    model = lora(modules_to_save=["lm_head"])
    model.add_adapter("other", lora_config(model.get_base_model()))
    return model


def test_the_copy_of_the_active_adapter_is_in_use():
    assert idle_copies(with_two()) == {}
    assert idle_copies(llama()) == {}


@switched_off
def test_deleting_the_active_adapter_leaves_the_next_one_without_its_copy():
    model = with_two()
    model.set_adapter("other")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.delete_adapter("other")
    assert idle_copies(model) == {"default": [HEAD]}
    model.set_adapter("default")
    assert idle_copies(model) == {}


def test_modules_that_are_switched_off_as_a_whole_are_another_matter():
    model = with_two()
    with model.disable_adapter():
        assert idle_copies(model) == {}


@switched_off
def test_facts_count_idle_copies_by_adapter():
    model = with_two()
    model.set_adapter("other")
    idle = adapter_facts(model)["idle_copies"]
    assert idle == {"default": {"count": 1, "names": [HEAD]}}


def test_a_module_list_of_that_name_is_no_copy():
    model = torch.nn.Module()
    model.modules_to_save = torch.nn.ModuleList([torch.nn.Linear(1, 1)])
    assert idle_copies(model) == {}
