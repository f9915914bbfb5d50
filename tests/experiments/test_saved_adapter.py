"""The live model, and what its files hold."""

import pytest
import torch
from peft.tuners.lora.layer import LoraLayer

from ftlab.faults.builders.tiny import own
from tests.experiments.set_ups import gpt2, llama, lora, named, padded, tried


@pytest.fixture
def from_folder(tmp_path):
    """Return a function that builds a LoRA on a base that was loaded from files."""

    def build(**settings):
        base = llama()
        base.save_pretrained(tmp_path)
        return lora(
            type(base).from_pretrained(tmp_path), init_lora_weights=False, **settings
        )

    return build


def changed(parameter):
    with torch.no_grad():
        parameter.add_(torch.randn_like(parameter))


@pytest.mark.parametrize(
    "settings",
    [{}, {"use_dora": True}, {"modules_to_save": ["lm_head"]}, {"lora_bias": True}],
    ids=["lora", "dora", "head", "bias"],
)
def test_an_adapter_is_the_same_after_loading(from_folder, settings):
    outcome = tried("saved-model", from_folder(**settings), padded())
    assert outcome.state == "holds", outcome.says


@pytest.mark.parametrize(
    "model",
    [
        llama,
        lambda: llama().bfloat16(),
        gpt2,
        lambda: lora(init_lora_weights=False),
    ],
    ids=["llama", "bf16", "gpt2", "lora"],
)
def test_a_model_is_the_same_after_loading(model):
    outcome = tried("saved-model", model(), padded(left=False))
    assert outcome.state == "holds", outcome.says


def test_it_does_not_apply_to_a_model_that_cannot_be_saved():
    outcome = tried("saved-model", own(), padded())
    assert outcome.state == "does not apply"
    assert outcome.says == "OwnModel has no save_pretrained()"


def test_a_head_that_was_trained_beside_the_adapter_is_lost(from_folder):
    model = from_folder()
    changed(model.get_base_model().lm_head.weight)
    assert named(tried("saved-model", model, padded())) == ["lm_head"]


def test_a_base_that_was_edited_is_lost(from_folder):
    model = from_folder()
    changed(model.get_base_model().model.layers[1].mlp.up_proj.weight)
    outcome = tried("saved-model", model, padded())
    assert named(outcome) == ["model.layers.1.mlp.up_proj"]


def test_a_scaling_that_was_set_live_is_lost(from_folder):
    model = from_folder()
    for module in model.modules():
        if isinstance(module, LoraLayer):
            module.scaling["default"] *= 2
    outcome = tried("saved-model", model, padded())
    assert "model.layers.0.self_attn.q_proj" in named(outcome)


@pytest.mark.parametrize(
    ("settings", "part", "place"),
    [
        ({"use_dora": True}, "magnitude", "model.layers.0.self_attn.q_proj"),
        ({}, "lora_B", "model.layers.0.self_attn.q_proj"),
    ],
)
def test_what_is_not_in_the_file_is_lost(
    from_folder, monkeypatch, settings, part, place
):
    from safetensors.torch import load_file, save_file

    model = from_folder(**settings)
    for name, parameter in model.named_parameters():
        if part in name and parameter.requires_grad:
            changed(parameter)
    save = type(model).save_pretrained

    def without(self, folder, **more):
        save(self, folder, **more)
        path = f"{folder}/adapter_model.safetensors"
        save_file({k: v for k, v in load_file(path).items() if part not in k}, path)

    monkeypatch.setattr(type(model), "save_pretrained", without)
    outcome = tried("saved-model", model, padded())
    assert any(name.startswith(place) for name in named(outcome))


def test_a_buffer_that_is_not_kept_is_lost():
    model = llama()
    changed(model.model.rotary_emb.inv_freq)
    assert named(tried("saved-model", model, padded()))[0] == "model.rotary_emb"


def test_rows_that_were_added_to_the_embedding_are_in_the_files(from_folder):
    model = from_folder()
    model.resize_token_embeddings(136)
    model.get_input_embeddings().weight.data[128:] += 0.1  # as if they were trained
    batch = padded()
    batch["input_ids"][0, -1] = 130
    assert tried("saved-model", model, batch).state == "holds"


def test_rows_that_were_added_and_not_saved(from_folder):
    model = from_folder()
    model.resize_token_embeddings(136)
    model.get_input_embeddings().weight.data[128:] += 0.1
    save = model.save_pretrained
    model.save_pretrained = lambda folder: save(folder, save_embedding_layers=False)
    batch = padded()
    batch["input_ids"][0, -1] = 130
    assert named(tried("saved-model", model, batch))[0] == "model.embed_tokens"


def test_a_merged_adapter_is_to_be_unmerged_first():
    model = lora(llama(), init_lora_weights=False)
    model.merge_adapter()
    outcome = tried("saved-model", model, padded())
    assert outcome.state == "does not apply"
    assert "call unmerge_adapter() first" in outcome.says
    assert all(each.merged for each in model.modules() if hasattr(each, "merged"))
