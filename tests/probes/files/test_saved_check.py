"""What is on disk right after a save."""

import pytest
import torch
from peft import PromptTuningConfig, get_peft_model

from ftlab.faults.adapter.saving.compiled_layer_checkpoint_dead import compile_blocks
from ftlab.faults.builders.saved import taught
from ftlab.faults.builders.tiny import llama, lora, lora_config
from ftlab.faults.variation import Variation, varied
from ftlab.probes.files.saved_check import check_saved


def test_a_good_file_lacks_nothing(tmp_path):
    model = taught()
    model.save_pretrained(tmp_path)
    found = check_saved(model, tmp_path)
    assert found == {
        "kind": "adapter",
        "adapters": ["default"],
        "keys": 8,
        "renamed": 0,
        "b": 4,
        "zero_b": 0,
        "live_zero_b": 0,
        "broken": [],
        "shapeless": [],
        "unsaved": [],
        "unsaved_count": 0,
    }


def test_an_adapter_with_a_name_of_its_own_is_found_below(tmp_path):
    with varied(Variation(adapter="mine")):
        model = taught()
        model.save_pretrained(tmp_path)
        found = check_saved(model, tmp_path)
    assert (found["keys"], found["unsaved_count"]) == (8, 0)


def test_names_what_is_trained_and_not_in_the_file(tmp_path):
    model = lora()
    model.base_model.model.lm_head.requires_grad_(True)
    model.save_pretrained(tmp_path)
    found = check_saved(model, tmp_path)
    assert found["unsaved"] == ["base_model.model.lm_head.weight"]
    assert found["unsaved_count"] == 1


def test_tells_zeros_in_the_file_from_zeros_in_the_model(tmp_path):
    model = lora()
    model.save_pretrained(tmp_path)
    assert check_saved(model, tmp_path)["live_zero_b"] == 4
    taught(model)
    found = check_saved(model, tmp_path)
    assert (found["b"], found["zero_b"], found["live_zero_b"]) == (4, 4, 0)


def test_names_what_is_not_finite(tmp_path):
    model = taught()
    with torch.no_grad():
        next(p for p in model.parameters() if p.requires_grad).fill_(torch.inf)
    model.save_pretrained(tmp_path)
    (broken,) = check_saved(model, tmp_path)["broken"]
    assert ".lora_A.weight" in broken


def test_counts_keys_with_a_wrappers_name(tmp_path):
    model = lora()
    compile_blocks(model, in_place=False)
    model.save_pretrained(tmp_path)
    assert check_saved(model, tmp_path)["renamed"] == 8


def test_a_whole_model_is_counted(tmp_path):
    model = llama()
    model.save_pretrained(tmp_path)
    found = check_saved(model, tmp_path)
    assert found == {"kind": "model", "keys": 21, "renamed": 0}


def test_selected_adapters_are_checked_alone(tmp_path):
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    model.save_pretrained(tmp_path, selected_adapters=["default"])
    assert check_saved(model, tmp_path, ["default"])["keys"] == 8


def test_two_adapters_with_names_of_their_own_are_found_below(tmp_path):
    with varied(Variation(adapter="mine")):
        model = lora()
    model.add_adapter("second", model.peft_config["mine"])
    model.save_pretrained(tmp_path)
    assert check_saved(model, tmp_path)["keys"] == 16


def test_other_adapters_are_left_out_on_purpose(tmp_path):
    model = lora()
    model.add_adapter("second", model.peft_config["default"])
    model.base_model.set_adapter(["default", "second"])
    model.save_pretrained(tmp_path, selected_adapters=["default"])
    assert check_saved(model, tmp_path, ["default"])["unsaved"] == []


def test_an_adapter_below_is_told(tmp_path):
    with varied(Variation(adapter="mine")):
        model = lora()
    model.save_pretrained(tmp_path)
    assert check_saved(model, tmp_path)["below"] == ["mine"]


def test_a_base_that_is_saved_with_its_adapter_on_holds_pefts_names(tmp_path):
    base = lora().get_base_model()
    base.save_pretrained(tmp_path)
    found = check_saved(base, tmp_path)
    assert (found["kind"], found["inside"]) == ("model", 12)
    assert found["example"].endswith("q_proj.base_layer.weight")


def test_a_merged_model_holds_none_of_them(tmp_path):
    merged = lora().merge_and_unload()
    merged.save_pretrained(tmp_path)
    assert check_saved(merged, tmp_path) == {"kind": "model", "keys": 21, "renamed": 0}


@pytest.mark.parametrize("of", ["get_base_model", "merge_and_unload"])
def test_a_whole_model_is_told_from_the_adapter_that_lies_beside_it(tmp_path, of):
    model = lora()
    model.save_pretrained(tmp_path)
    whole = getattr(model, of)()
    whole.save_pretrained(tmp_path)
    found = check_saved(whole, tmp_path)
    assert (found["kind"], found["beside"]) == ("model", True)


def test_what_a_prompt_saves_is_not_among_its_parameters(tmp_path):
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = get_peft_model(llama(), config)
    model.save_pretrained(tmp_path)
    assert "unsaved" not in check_saved(model, tmp_path)


def test_an_adapter_of_transformers_own_is_found_in_its_file(tmp_path):
    model = llama()
    model.add_adapter(lora_config(model, task_type=None))
    model.save_pretrained(tmp_path)
    found = check_saved(model, tmp_path)
    assert (found["unsaved"], found["live_zero_b"], found["keys"]) == ([], 4, 8)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.fill_(1.0)
    model.save_pretrained(tmp_path)
    assert check_saved(model, tmp_path)["live_zero_b"] == 0
