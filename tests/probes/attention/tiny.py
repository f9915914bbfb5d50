"""Tiny models of many families, and what their masks really are."""

import numpy as np
import torch
import transformers as hf

SMALL = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
HEADS = {"num_key_value_heads": 2, "head_dim": 8}
MARKS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def llama(**more):
    return hf.LlamaForCausalLM(hf.LlamaConfig(**{**SMALL, **HEADS, **more}))


def mistral(**more):
    config = hf.MistralConfig(**SMALL, **HEADS, sliding_window=4, **more)
    return hf.MistralForCausalLM(config)


def gemma(**more):
    kinds = ["sliding_attention", "full_attention"]
    config = hf.Gemma3TextConfig(
        **SMALL, **HEADS, sliding_window=4, layer_types=kinds, **more
    )
    return hf.Gemma3ForCausalLM(config)


def chunked(**more):
    config = hf.Llama4TextConfig(
        **SMALL,
        **HEADS,
        attention_chunk_size=4,
        intermediate_size_mlp=16,
        num_local_experts=1,
        num_experts_per_tok=1,
        moe_layers=[],
        max_position_embeddings=64,
        layer_types=["chunked_attention", "full_attention"],
        **more,
    )
    return hf.Llama4ForCausalLM(config)


def gpt2(**more):
    shape = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}
    config = hf.GPT2Config(vocab_size=60, **{**shape, **MARKS, **more})
    return hf.GPT2LMHeadModel(config)


def gpt_neo(**more):
    config = hf.GPTNeoConfig(
        vocab_size=60,
        hidden_size=16,
        num_layers=2,
        num_heads=2,
        attention_types=[[["global", "local"], 1]],
        window_size=4,
        max_position_embeddings=64,
        **MARKS,
        **more,
    )
    return hf.GPTNeoForCausalLM(config)


def bloom(**more):
    config = hf.BloomConfig(
        vocab_size=60, hidden_size=16, n_layer=2, n_head=2, **MARKS, **more
    )
    return hf.BloomForCausalLM(config)


def opt(**more):
    config = hf.OPTConfig(
        vocab_size=60,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        ffn_dim=16,
        word_embed_proj_dim=16,
        max_position_embeddings=64,
        **MARKS,
        **more,
    )
    return hf.OPTForCausalLM(config)


def bert(**more):
    return hf.BertForMaskedLM(hf.BertConfig(**SMALL, **more))


def t5(**more):
    config = hf.T5Config(
        vocab_size=60,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        **more,
    )
    return hf.T5ForConditionalGeneration(config)


def bart(**more):
    config = hf.BartConfig(
        vocab_size=60,
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        max_position_embeddings=64,
        **MARKS,
        **more,
    )
    return hf.BartForConditionalGeneration(config)


def seen_by(mask, rows=1):
    """Return the whole mask of a `LayerMask`, for tests of small shapes."""
    pattern = mask.pattern
    every = (np.arange(pattern.queries), np.arange(pattern.keys))
    return np.stack([pattern.tile(row, *every) for row in range(rows)])


def reached(model, batch, layers):
    """Measure who attends to whom: the attention weights of ``eager``, above 0."""
    model.eval()
    with torch.no_grad():
        out = model(**batch, output_attentions=True)
    name = "attentions" if hasattr(out, "attentions") else "decoder_attentions"
    return [np.asarray((out[name][at] > 0).any(1)) for at in layers]
