"""One way to name where something is in a transformer, whatever its authors call it."""

_WORDS = {
    "attention": "attn attention self_attn self_attention selfattention",
    "cross.attention": "encoder_attn crossattention cross_attn encdecattention",
    "mlp": "mlp feed_forward ffn ff feedforward block_sparse_moe densereludense",
    "q": "q_proj query q wq q_lin",
    "k": "k_proj key k wk k_lin",
    "v": "v_proj value v wv v_lin",
    "qkv": "c_attn qkv_proj query_key_value qkv wqkv in_proj attn_qkv",
    "out": "o_proj out_proj wo out_lin o attn_out",
    "gate": "gate_proj w1 wi_0 gate_up_proj",
    "up": "up_proj fc1 c_fc dense_h_to_4h fc_in w3 wi_1 wi lin1",
    "down": "down_proj fc2 dense_4h_to_h fc_out w2 lin2",
    "router": "router gate_network",
    "embedding": "embed_tokens wte word_embeddings embed_in tok_embeddings shared",
    "positions": "wpe position_embeddings embed_positions",
    "head": "lm_head embed_out score classifier qa_outputs output_head",
    "attention.pre.norm": "input_layernorm ln_1 attention_norm self_attn_layer_norm",
    "mlp.pre.norm": "ln_2 ffn_norm pre_feedforward_layernorm final_layer_norm",
    "attention.post.norm": "",
    "mlp.post.norm": "post_feedforward_layernorm",
    "norm": "norm ln_f final_norm final_layernorm",
    "layers": "layers h layer blocks block",
}
_PLACE = {word: place for place, words in _WORDS.items() for word in words.split()}
_WITHIN = {
    ("attention", "c_proj"): "out",
    ("attention", "dense"): "out",
    ("mlp", "c_proj"): "down",
    ("mlp", "dense"): "up",
    ("mlp", "gate"): "router",
}
"""Names that mean something else in each part of a block."""
_WRAPPERS = frozenset(
    {"model", "transformer", "gpt_neox", "decoder", "bert", "roberta", "backbone"}
)

PEFT = "base_model.model."
"""What a PeftModel puts before the names of its base."""


def place_of(path: str, siblings: frozenset[str] = frozenset()) -> str:
    """Name a module's place as every architecture would.

    Parameters
    ----------
    path
        Its clean path.
    siblings
        Names of the modules beside it: a norm behind the attention is the MLP's own,
        unless that has one before and one behind it.

    Examples
    --------
    >>> from ftlab.records.places import place_of
    >>> place_of("model.layers.3.self_attn.q_proj")
    'layers.3.attention.q'
    >>> place_of("transformer.h.0.mlp.c_proj"), place_of("transformer.h.0.ln_1")
    ('layers.0.mlp.down', 'layers.0.attention.pre.norm')
    >>> place_of("bert.encoder.layer.2.attention.self.query")
    'encoder.layers.2.attention.q'
    """
    parts = [part for part in path.removeprefix(PEFT).split(".") if part]
    found: list[str] = []
    for at, part in enumerate(parts):
        last = next((each for each in reversed(found) if not each.isdigit()), "")
        if at == 0 and len(parts) > 1 and part in _WRAPPERS:
            continue
        if part in ("self", "mha", "output") and last in ("attention", "mlp"):
            continue
        if part == "post_attention_layernorm":
            sandwich = "pre_feedforward_layernorm" in siblings
            found.append("attention.post.norm" if sandwich else "mlp.pre.norm")
            continue
        found.append(_WITHIN.get((last, part)) or _PLACE.get(part.lower(), part))
    return ".".join(found) or "the model"
