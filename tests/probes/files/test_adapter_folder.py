"""Folders of adapters as they are on disk."""

import torch
from safetensors.torch import save_file

from ftlab.faults.builders.tiny import lora
from ftlab.faults.variation import Variation, varied
from ftlab.probes.files.adapter_folder import adapter_folder


def test_reads_what_peft_has_written(tmp_path):
    lora().save_pretrained(tmp_path)
    folder = adapter_folder(tmp_path)
    assert (folder.path, folder.problems) == (tmp_path, ())
    assert folder.config["peft_type"] == "LORA"
    assert len(folder.keys) == 8
    assert [key for key, _ in folder.tensors()] == list(folder.keys)


def test_finds_an_adapter_with_a_name_of_its_own_below(tmp_path):
    with varied(Variation(adapter="mine")):
        lora().save_pretrained(tmp_path)
    folder = adapter_folder(tmp_path)
    assert folder.path == tmp_path / "mine"
    assert folder.problems == ("in a folder of its own name",)
    assert len(folder.keys) == 8


def test_a_folder_that_is_not_there(tmp_path):
    folder = adapter_folder(tmp_path / "nowhere")
    assert folder.problems == ("gone",)


def test_an_empty_folder(tmp_path):
    assert adapter_folder(tmp_path).problems == ("no configuration", "no weights")


def test_a_whole_model_is_no_adapter(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors")
    assert "full model" in adapter_folder(tmp_path).problems


def test_a_file_that_is_cut_off(tmp_path):
    lora().save_pretrained(tmp_path)
    file = tmp_path / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    assert adapter_folder(tmp_path).problems == ("unreadable weights",)


def test_a_configuration_that_is_no_json(tmp_path):
    lora().save_pretrained(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{")
    assert adapter_folder(tmp_path).problems == ("unreadable configuration",)


def test_a_pickle_is_not_opened(tmp_path):
    (tmp_path / "adapter_model.bin").write_bytes(b"never read")
    assert "pickled" in adapter_folder(tmp_path).problems
