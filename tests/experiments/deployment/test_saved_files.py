"""Folders that were saved, by what is wrong with them."""

import copy

import pytest
import torch
from peft import LoraConfig, get_peft_model

import ftlab
from tests.experiments.deployment.deployed import (
    PROMPTS,
    base,
    edit,
    edit_tensors,
    loaded,
    merged,
    saved,
    taught,
    tuned,
)

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


def station(live, tokens, **given):
    return ftlab.roundtrip(
        live, tokens, PROMPTS, tokens=6, only="saved-files", **given
    )[0]


def without(part):
    return lambda tensors: {n: t for n, t in tensors.items() if part not in n}


@pytest.mark.parametrize(
    "settings",
    [
        {"use_dora": True},
        {"use_rslora": True},
        {"modules_to_save": ["lm_head", "embed_tokens"]},
        {"trainable_token_indices": {"embed_tokens": [3, 4]}},
        {"init_lora_weights": "pissa"},
        {"name": "math"},
    ],
    ids=str,
)
def test_what_peft_saves_holds(home, settings):
    outcome = station(home.live(**settings), home.tokens)
    assert outcome.state == "holds", outcome.says


def test_a_whole_model_holds(home):
    model = taught(loaded(home.base), home.tokens)
    assert station(model, home.tokens).state == "holds"


def test_the_folder_and_base_of_the_training_hold(home, tmp_path):
    live = home.live()
    folder = saved(live, home.tokens, tmp_path / "out")
    outcome = station(live, home.tokens, saved=folder, base=home.base)
    assert outcome.state == "holds", outcome.says


def test_a_merged_model_may_be_what_was_saved(home, tmp_path):
    live = home.live()
    folder = merged(live, home.tokens, tmp_path / "out")
    assert station(live, home.tokens, saved=folder).state == "holds"


def test_rows_of_new_tokens_that_were_not_saved(home, tmp_path):
    model = loaded(home.base)
    model.resize_token_embeddings(len(home.tokens) + 4)
    live = tuned(model, home.tokens)
    live.get_input_embeddings().weight.data[-4:] += 0.1  # as if they were trained
    live.save_pretrained(tmp_path / "out", save_embedding_layers=False)
    outcome = station(live, home.tokens, saved=tmp_path / "out", base=home.base)
    assert "model.embed_tokens.weight" in outcome.says
    assert f"rows {len(home.tokens)} to {len(home.tokens) + 3}" in outcome.says
    assert "save_embedding_layers" in outcome.fix


def test_a_head_that_was_not_saved(home, tmp_path):
    live = home.live(modules_to_save=["lm_head"])
    folder = saved(live, home.tokens, tmp_path / "out")
    edit_tensors(folder / WEIGHTS, without("lm_head"))
    outcome = station(live, home.tokens, saved=folder)
    assert outcome.state == "broken"
    assert "lm_head" in outcome.says


def test_a_head_that_is_the_base_s_again(home, tmp_path):
    live = home.live(modules_to_save=["lm_head"])
    folder = saved(live, home.tokens, tmp_path / "out")
    head = loaded(home.base).lm_head.weight.data.clone()
    name = "base_model.model.lm_head.weight"
    edit_tensors(folder / WEIGHTS, lambda tensors: tensors | {name: head})
    outcome = station(live, home.tokens, saved=folder)
    assert "lm_head.weight is that of the base there" in outcome.says


def test_rslora_that_is_lost(home, tmp_path):
    live = home.live(use_rslora=True)
    folder = saved(live, home.tokens, tmp_path / "out")
    edit(folder / CONFIG, use_rslora=False)
    outcome = station(live, home.tokens, saved=folder)
    assert "its adapter scaled by alpha / r" in outcome.says
    assert "adapter_config.use_rslora is False there" in outcome.says


def test_another_base(home, tmp_path):
    live = home.live()
    folder = saved(live, home.tokens, tmp_path / "out")
    other = base(tmp_path / "other", home.tokens, seed=4, steps=10)
    outcome = station(live, home.tokens, saved=folder, base=other)
    assert outcome.says.startswith("model.embed_tokens.weight has other values")
    assert "not the base of training" in outcome.cause


def test_an_adapter_that_counts_twice(home, tmp_path):
    live = home.live()
    folder = saved(live, home.tokens, tmp_path / "out")
    whole = merged(live, home.tokens, tmp_path / "merged")
    outcome = station(live, home.tokens, saved=folder, base=whole)
    assert "holds the adapter already" in outcome.says
    assert "with its adapter added twice" in outcome.says


def test_an_adapter_in_a_folder_of_its_name(home, tmp_path):
    live = home.live(name="math")
    folder = saved(live, home.tokens, tmp_path / "out")
    outcome = station(live, home.tokens, saved=folder)
    assert "an adapter lies below it, in math" in outcome.says


def test_an_adapter_within_an_adapter(home, tmp_path):
    config = LoraConfig(r=2, target_modules=["o_proj"], task_type="CAUSAL_LM")
    live = taught(get_peft_model(home.live(), config), home.tokens)
    folder = saved(live, home.tokens, tmp_path / "out")
    outcome = station(live, home.tokens, saved=folder, base=home.base)
    assert "fit nothing in the model" in outcome.says
    assert "an adapter within an adapter" in outcome.cause


def test_a_magnitude_that_was_not_saved(home, tmp_path):
    live = home.live(use_dora=True)
    folder = saved(live, home.tokens, tmp_path / "out")
    edit_tensors(folder / WEIGHTS, without("magnitude"))
    outcome = station(live, home.tokens, saved=folder)
    assert "lora_magnitude_vector" in outcome.says
    assert "the file has no" in outcome.says


def test_a_weight_that_no_prompt_reaches(home, tmp_path):
    live = home.live(modules_to_save=["embed_tokens"])
    folder = saved(live, home.tokens, tmp_path / "out")
    unused = home.tokens.convert_tokens_to_ids("<|system|>")
    name = "base_model.model.model.embed_tokens.weight"

    def change(tensors):
        tensors[name][unused] += 1
        return tensors

    edit_tensors(folder / WEIGHTS, change)
    outcome = station(live, home.tokens, saved=folder)
    assert f"row {unused}" in outcome.says
    assert "these prompts do not reach it" in outcome.says


def test_a_scale_that_no_file_holds(home):
    live = home.live()
    for module in live.modules():
        if isinstance(vars(module).get("scaling"), dict):
            module.scaling["default"] *= 2
    outcome = station(live, home.tokens)
    assert outcome.state == "broken"
    assert "q_proj" in outcome.places[0].name


def test_files_that_cannot_be_read(home, tmp_path):
    folder = saved(home.live(), home.tokens, tmp_path / "out")
    (folder / WEIGHTS).write_bytes(b"no tensors")
    outcome = station(home.live(), home.tokens, saved=folder)
    assert outcome.says.startswith("it cannot be loaded")


def test_the_live_model_keeps_its_weights_and_modes(home):
    live = home.live().train()
    before = copy.deepcopy(live.state_dict())
    ftlab.roundtrip(live, home.tokens, PROMPTS, tokens=4)
    assert all(module.training for module in live.modules())
    assert all(torch.equal(t, before[n]) for n, t in live.state_dict().items())
