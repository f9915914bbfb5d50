"""Merged folders, by what is wrong with them."""

import copy

import bitsandbytes.functional as bits
import pytest
import torch
from peft import PeftModel

import ftlab
from tests.experiments.deployment.deployed import (
    PROMPTS,
    base,
    edit,
    edit_tensors,
    loaded,
    merged,
    saved,
    tuned,
)
from tests.versions import older_than


def station(live, tokens, **given):
    return ftlab.roundtrip(
        live, tokens, PROMPTS, tokens=6, only="merged-files", **given
    )[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_what_peft_merges_holds(home, dtype, tmp_path):
    home.live().save_pretrained(tmp_path / "out")
    model = loaded(home.base, dtype=dtype)
    live = PeftModel.from_pretrained(model, tmp_path / "out")
    outcome = station(live, home.tokens)
    assert outcome.state == "holds", outcome.says


def test_without_an_adapter_it_does_not_apply(home):
    outcome = station(loaded(home.base), home.tokens)
    assert outcome.state == "does not apply"


def test_weights_that_were_merged_into_4_bits(home, tmp_path):
    folder = merged(home.live(), home.tokens, tmp_path / "out")

    def rounded(tensors):
        for name, tensor in tensors.items():
            if "proj" in name:
                four, state = bits.quantize_4bit(tensor, quant_type="nf4")
                tensors[name] = bits.dequantize_4bit(four, state).contiguous()
        return tensors

    edit_tensors(folder / "model.safetensors", rounded)
    outcome = station(home.live(), home.tokens, merged=folder)
    assert "k_proj.weight was rounded to 4 bits" in outcome.says
    assert "in 16 bits" in outcome.fix


def test_another_end(home, tmp_path):
    folder = merged(home.live(), home.tokens, tmp_path / "out")
    edit(folder / "generation_config.json", eos_token_id=3)
    outcome = station(home.live(), home.tokens, merged=folder)
    assert "generation_config.eos_token_id is 3 there, 2 in the live" in outcome.says
    assert "generation_config" in outcome.fix


def test_a_cast(home, tmp_path):
    whole = copy.deepcopy(home.live()).merge_and_unload().half()
    folder = saved(whole, home.tokens, tmp_path / "out")
    outcome = station(home.live(), home.tokens, merged=folder)
    assert "was cast to float16" in outcome.says


def test_a_head_that_is_tied_again(home, tmp_path):
    live = home.live(modules_to_save=["lm_head"])
    folder = merged(live, home.tokens, tmp_path / "out")
    edit(folder / "config.json", tie_word_embeddings=True)

    def without_head(tensors):
        tensors.pop("lm_head.weight")
        return tensors

    edit_tensors(folder / "model.safetensors", without_head)
    outcome = station(live, home.tokens, merged=folder)
    assert "lm_head.weight is the input embedding there" in outcome.says
    assert "tie_word_embeddings" in outcome.fix


@pytest.mark.skipif(
    older_than("transformers", "5"), reason="its configs have no rope_parameters"
)
@pytest.mark.parametrize("lost", [True, False])
def test_another_rope_scaling(home, tmp_path, lost):
    plain = {"rope_type": "default", "rope_theta": 10000.0}
    scaled = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
    mine, theirs = (scaled, plain) if lost else (plain, scaled)
    there = base(tmp_path / "base", home.tokens, rope_parameters=mine)
    live = tuned(loaded(there), home.tokens)
    folder = merged(live, home.tokens, tmp_path / "out")
    edit(folder / "config.json", rope_parameters=theirs)
    outcome = station(live, home.tokens, merged=folder)
    assert outcome.places[0].name == "model.rotary_emb"
    assert "config.rope_parameters.rope_type" in outcome.says
    assert ("without its RoPE scaling" in outcome.says) == lost


def test_a_folder_that_was_never_merged(home):
    outcome = station(home.live(), home.tokens, merged=home.base)
    assert outcome.says.startswith("the live model and the one that arrives part at")
    assert "as the live model without its adapter" in outcome.says
    assert "q_proj" in outcome.places[0].name
