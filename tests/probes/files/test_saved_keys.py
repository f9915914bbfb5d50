"""What saving would write, against what save_pretrained does write."""

import json

import peft
import pytest
from peft import LoraConfig
from safetensors import safe_open

from ftlab.faults.builders.tiny import VOCABULARY, llama, lora
from ftlab.probes.files.saved_keys import (
    adapter_keys,
    embeddings_saved,
    saved_parameters,
)


def keys_in(folder):
    with safe_open(folder / "adapter_model.safetensors", "pt") as file:
        return set(file.keys())


SETTINGS = {
    "plain": {},
    "head": {"modules_to_save": ["lm_head"]},
    "biases": {"bias": "all"},
    "dora": {"use_dora": True},
    "embeddings": {"target_modules": ["q_proj", "embed_tokens"]},
    "tokens": {"trainable_token_indices": [1, 2]},
    "dropout": {"lora_dropout": 0.1},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SETTINGS)
def test_predicts_the_keys_that_peft_writes(name, tmp_path):
    model = lora(**SETTINGS[name])
    predicted = set(adapter_keys(model, "default"))
    model.save_pretrained(tmp_path)
    written = keys_in(tmp_path)
    assert predicted == written


WITH_BUFFERS = {
    "vera": ("VeraConfig", {"r": 8}),
    "vera, drawn again": ("VeraConfig", {"r": 8, "save_projection": False}),
    "randlora": ("RandLoraConfig", {"r": 8}),
    "tinylora": ("TinyLoraConfig", {"r": 2}),
    "tinylora, drawn again": ("TinyLoraConfig", {"r": 2, "save_projection": False}),
    "fourier": ("FourierFTConfig", {"n_frequency": 20}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WITH_BUFFERS)
def test_buffers_are_predicted_where_peft_writes_them(name, tmp_path):
    kind, settings = WITH_BUFFERS[name]
    if not hasattr(peft, kind):
        pytest.skip(f"this version of PEFT has no {kind}")
    config = getattr(peft, kind)(target_modules=["q_proj", "o_proj"], **settings)
    model = peft.get_peft_model(llama(), config)
    predicted = set(adapter_keys(model, "default"))
    model.save_pretrained(tmp_path)
    assert predicted == keys_in(tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    "ensure_weight_tying" not in LoraConfig.__dataclass_fields__,
    reason="this version of PEFT ties no copies",
)
def test_copies_that_are_tied_are_written_under_both_names(tmp_path):
    settings = {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True}
    model = lora(llama(tie_word_embeddings=True), **settings)
    model.save_pretrained(tmp_path)
    assert set(adapter_keys(model, "default")) == keys_in(tmp_path)


def test_tells_parameters_by_identity():
    model = lora(modules_to_save=["lm_head"])
    saved = saved_parameters(model)
    kept = {n for n, p in model.named_parameters() if id(p) in saved}
    assert kept == {n for n, p in model.named_parameters() if p.requires_grad}


def test_everything_is_saved_of_a_model_without_adapters():
    assert saved_parameters(llama()) is None


def named_base(model, name):
    model.peft_config["default"].base_model_name_or_path = str(name)
    return embeddings_saved(model, "default")


def config_of(folder, size):
    (folder / "config.json").write_text(json.dumps({"vocab_size": size}))
    return folder


def test_knows_a_resized_vocabulary_from_the_folder_of_the_base(tmp_path):
    assert named_base(lora(), config_of(tmp_path, VOCABULARY + 1)) is True


def test_knows_a_vocabulary_that_is_as_it_was(tmp_path):
    assert named_base(lora(), config_of(tmp_path, VOCABULARY)) is False


def test_takes_a_base_without_a_name_as_it_is():
    assert embeddings_saved(lora(), "default") is False


def test_does_not_ask_the_hub(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert named_base(lora(), "nobody/nothing-of-this-name") is None
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert named_base(lora(), "nobody/nothing-of-this-name") is False


def test_prompt_learning_is_not_predicted():
    from peft import PromptTuningConfig, get_peft_model

    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    assert saved_parameters(get_peft_model(llama(), config)) is None
