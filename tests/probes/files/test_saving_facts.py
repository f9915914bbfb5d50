"""What would be left out, renamed or hidden."""

import torch

from ftlab.faults.adapter.placement.wrapper_hides_peft import Wrapped
from ftlab.faults.adapter.saving.compiled_layer_checkpoint_dead import compile_blocks
from ftlab.faults.builders.tiny import llama, lora
from ftlab.probes.files.saving_facts import saving_facts


def test_a_plain_lora_is_saved_whole():
    facts = saving_facts(lora())
    assert facts["unsaved"] == []
    assert facts["wrapped"] == []
    assert facts["renamed"] == {}
    assert facts["hidden"] == ""
    assert facts["saver"] == "PeftModel"


def test_names_what_is_trained_and_not_saved():
    model = lora()
    model.base_model.model.lm_head.requires_grad_(True)
    assert saving_facts(model)["unsaved"] == ["base_model.model.lm_head.weight"]


def test_leaves_embeddings_open_where_the_base_is_unknown(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    model = lora()
    model.peft_config["default"].base_model_name_or_path = "nobody/nothing"
    model.base_model.model.lm_head.requires_grad_(True)
    model.base_model.model.model.norm.requires_grad_(True)
    facts = saving_facts(model)
    assert facts["unsaved"] == ["base_model.model.model.norm.weight"]
    assert facts["undecided"] == ["base_model.model.lm_head.weight"]


def test_counts_keys_with_a_wrappers_name():
    model = lora()
    compile_blocks(model, in_place=False)
    facts = saving_facts(model)
    assert facts["renamed"]["renamed"] == facts["renamed"]["keys"] == 8
    assert "layers.0._orig_mod." in facts["renamed"]["example"]
    assert facts["wrapped"][0].endswith("layers.0._orig_mod")


def test_a_wrapper_around_everything_is_taken_off_when_saving():
    compiled = torch.compile(lora(), backend="eager")
    assert saving_facts(compiled)["renamed"] == {}


def test_nor_does_a_wrapper_count_that_holds_everything():
    parallel = torch.nn.DataParallel(llama())
    assert saving_facts(parallel)["wrapped"] == []


def test_a_module_that_is_called_module_is_no_wrapper():
    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = torch.nn.Linear(2, 2)

    assert saving_facts(Own())["renamed"] == {}


def test_finds_a_peft_model_inside_another_one():
    facts = saving_facts(Wrapped(lora()))
    assert (facts["hidden"], facts["saver"]) == ("inner", "Module")


def test_a_full_model_has_all_of_it_saved():
    facts = saving_facts(llama())
    assert (facts["unsaved"], facts["saver"]) == ([], "PreTrainedModel")
