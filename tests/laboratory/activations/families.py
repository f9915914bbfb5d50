"""Tiny models of the library's families, as it makes them."""

import torch

_SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_HEADS = {"head_dim": 8}
_GPT = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
_T5 = {"vocab_size": 64, "d_model": 32, "d_ff": 64, "d_kv": 8, "num_layers": 2}
_T5 |= {"num_heads": 4, "decoder_start_token_id": 0}
_BLOOM = {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4}
_PLAIN = {name: size for name, size in _SIZES.items() if "key_value" not in name}
_DISTIL = {"vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
_EXPERTS = {"num_experts_per_tok": 2}
_LOCAL = {"sliding_window": 8}

FAMILIES = {
    "Llama": ("ForCausalLM", _SIZES),
    "Qwen2": ("ForCausalLM", _SIZES),
    "Qwen3": ("ForCausalLM", _SIZES | _HEADS),
    "Gemma": ("ForCausalLM", _SIZES | _HEADS),
    "Gemma2": ("ForCausalLM", _SIZES | _HEADS | _LOCAL),
    "Gemma3": ("ForCausalLM", _SIZES | _HEADS | _LOCAL),
    "Mistral": ("ForCausalLM", _SIZES | _LOCAL),
    "Mixtral": ("ForCausalLM", _SIZES | _EXPERTS | {"num_local_experts": 4}),
    "Qwen3Moe": (
        "ForCausalLM",
        _SIZES | _HEADS | _EXPERTS | {"num_experts": 4, "moe_intermediate_size": 32},
    ),
    "GPT2": ("LMHeadModel", _GPT),
    "GPTNeoX": ("ForCausalLM", _PLAIN),
    "GPTJ": ("ForCausalLM", _GPT | {"rotary_dim": 4}),
    "Phi": ("ForCausalLM", _SIZES),
    "Phi3": ("ForCausalLM", _SIZES),
    "OPT": ("ForCausalLM", _PLAIN | {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    "Bloom": ("ForCausalLM", _BLOOM),
    "Falcon": ("ForCausalLM", _PLAIN),
    "Olmo2": ("ForCausalLM", _SIZES),
    "Granite": ("ForCausalLM", _SIZES | {"attention_multiplier": 0.1}),
    "Mamba": (
        "ForCausalLM",
        {k: _SIZES[k] for k in list(_SIZES)[:2]} | {"state_size": 4},
    ),
    "T5": ("ForConditionalGeneration", _T5),
    "Bert": ("ForMaskedLM", _PLAIN),
    "DistilBert": ("ForMaskedLM", _DISTIL),
}


def family(name, seed=0, **settings):
    """Build a tiny model of a family."""
    import transformers

    head, sizes = FAMILIES[name]
    config = "Gemma3TextConfig" if name == "Gemma3" else f"{name}Config"
    torch.manual_seed(seed)
    made = getattr(transformers, config)(**(sizes | settings))
    return getattr(transformers, f"{name}{head}")(made)


def padded_batch(seed=0):
    """Make a batch with padding on the right of one row."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, 64, (4, 16), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 12:] = 0
    ids = ids.masked_fill(mask == 0, 0)
    labels = ids.masked_fill(mask == 0, -100)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
