"""An adapter's folder against the model it was loaded into."""

import math

import pytest
import torch

from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.faults.builders.tiny import base, llama, lora
from ftlab.probes.files.adapter_file_facts import adapter_file_facts
from ftlab.probes.subject import Subject

NOTHING = {"unread": [], "absent": [], "different": [], "live_zero_b": [], "broken": []}


def facts(model, path):
    return adapter_file_facts(Subject(model, adapter_dir=path))


def test_a_loaded_adapter_is_as_in_its_file():
    path = saved(trained := taught())
    found = facts(loaded(base(), path), path)
    assert {name: found[name] for name in NOTHING} == NOTHING
    assert (found["keys"], found["b"], found["zero_b"]) == (8, 4, 0)
    assert (found["config"], found["scaling"]) == ({}, {})
    assert (found["saved_base"], found["live_class"]) == ("", "LlamaForCausalLM")
    del trained


def test_a_folder_beside_the_state_of_a_trainer_is_a_checkpoint():
    path = saved(trained := taught())
    assert not facts(lora(), path)["checkpoint"]
    (path / "trainer_state.json").write_text("{}")
    assert facts(lora(), path)["checkpoint"]
    del trained


def test_nothing_is_said_without_a_folder():
    model = lora()
    assert adapter_file_facts(Subject(model)) == {}


def test_a_fresh_adapter_is_not_the_files():
    path = saved(trained := taught())
    found = facts(lora(), path)
    assert len(found["live_zero_b"]) == 4
    assert all(".lora_B.default.weight" in name for name in found["live_zero_b"])
    assert set(found["live_zero_b"]) <= set(found["different"])
    del trained


def test_rounding_to_bfloat16_is_no_difference():
    path = saved(trained := taught())
    model = loaded(base().to(torch.bfloat16), path, autocast_adapter_dtype=False)
    model.to(torch.bfloat16)
    assert facts(model, path)["different"] == []
    del trained


def test_another_rank_differs_by_shape_and_setting():
    path = saved(trained := taught())
    found = facts(lora(r=4, lora_alpha=8), path)
    assert len(found["different"]) == len(found["misshapen"]) == 8
    assert found["config"]["r"] == [8, 4]
    assert found["scaling"] == {}
    del trained


@pytest.mark.parametrize("root", [False, True])
def test_a_lost_flag_changes_the_factor(root):
    path = saved(trained := taught(lora(use_rslora=root)))
    found = facts(lora(use_rslora=not root), path)
    due, now = 16 / math.sqrt(8), 16 / 8
    expected = [due, now] if root else [now, due]
    assert len(found["scaling"]) == 4
    assert all(row == pytest.approx(expected) for row in found["scaling"].values())
    assert found["config"] == {"use_rslora": [root, not root]}
    del trained


def test_saved_embeddings_are_read_as_the_bases_own(tmp_path):
    model = taught()
    model.save_pretrained(tmp_path, save_embedding_layers=True)
    assert facts(loaded(base(), tmp_path), tmp_path)["unread"] == []


def test_a_model_without_adapters_is_compared_with_nothing():
    path = saved(trained := taught())
    found = facts(llama(), path)
    assert (found["adapter"], found["keys"]) == ("", 8)
    assert "unread" not in found
    del trained


def test_an_adapter_of_transformers_own_reads_a_peft_models_file(tmp_path):
    path = saved(trained := taught())
    model = base()
    model.load_adapter(path)
    found = facts(model, path)
    assert {name: found[name] for name in NOTHING} == NOTHING
    del trained


@pytest.mark.parametrize("active", ["default", "mine"])
def test_the_adapter_that_has_the_files_values_is_compared(active):
    path = saved(trained := taught())
    model = lora()
    model.load_adapter(path, "mine", is_trainable=True)
    model.set_adapter(active)
    found = facts(model, path)
    assert (found["adapter"], found["different"]) == ("mine", [])
    assert found["for_use"] is False
    del trained


def test_the_active_adapter_is_compared_where_none_has_the_values():
    path = saved(trained := taught())
    model = lora()
    model.add_adapter("mine", model.peft_config["default"])
    model.set_adapter("mine")
    assert facts(model, path)["adapter"] == "mine"
    del trained


def test_what_is_below_a_folder_is_looked_at_where_its_adapter_is_zero(tmp_path):
    model = lora()
    model.add_adapter("mine", model.peft_config["default"])
    model.set_adapter("mine")
    model.save_pretrained(tmp_path)
    assert facts(lora(), tmp_path)["below"] == []
    taught(model).save_pretrained(tmp_path)
    assert facts(lora(), tmp_path)["below"] == ["mine"]
    assert "below" not in facts(lora(), tmp_path / "mine")
