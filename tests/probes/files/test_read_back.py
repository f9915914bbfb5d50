"""Folders of this run that adapters are loaded from."""

import torch

from ftlab.faults.builders.tiny import lora
from ftlab.probes.files.read_back import ReadBack


def saved(tmp_path):
    model, seen = lora(), ReadBack()
    for name in ("sql", "untouched"):
        model.add_adapter(name, model.peft_config["default"])
    with torch.no_grad():
        for name, each in model.named_parameters():
            if "lora_B.sql" in name:
                each.fill_(0.1)
    model.save_pretrained(tmp_path)
    seen.saved(tmp_path)
    return seen


def test_tells_what_lies_in_the_folder_and_below(tmp_path):
    seen = saved(tmp_path)
    wanted = {"folder": tmp_path.name, "zero": True, "below": ["sql"]}
    assert seen.read(tmp_path) == wanted
    assert seen.read(tmp_path / "sql") == {"folder": "sql", "zero": False, "below": []}


def test_says_nothing_of_folders_of_others_and_without_an_adapter(tmp_path):
    seen = saved(tmp_path)
    assert ReadBack().read(tmp_path) == {}
    assert seen.read(tmp_path / "sql" / "below") == {}
    (tmp_path / "adapter_model.safetensors").unlink()
    assert seen.read(tmp_path) == {}
