"""What a linear layer of a transformer is for, as far as its name tells."""

_ATTENTION_IN = frozenset(
    (
        "q_proj",
        "k_proj",
        "v_proj",
        "qkv_proj",
        "q",
        "k",
        "v",
        "query",
        "key",
        "value",
        "qkv",
        "query_key_value",
        "c_attn",
        "q_attn",
        "Wqkv",
        "W_pack",
        "in_proj",
        "wq",
        "wk",
        "wv",
        "wqkv",
        "to_q",
        "to_k",
        "to_v",
        "q_lin",
        "k_lin",
        "v_lin",
        "att_proj",
        "attn_qkv",
        "q_a_proj",
        "q_b_proj",
        "kv_a_proj_with_mqa",
        "kv_b_proj",
        "query_proj",
        "key_proj",
        "value_proj",
    )
)
_ATTENTION_OUT = frozenset(
    ("o_proj", "o", "attn_out", "to_out", "out_lin", "wo", "attn_proj")
)
_FEED_FORWARD = frozenset(
    (
        "gate_proj",
        "up_proj",
        "down_proj",
        "gate_up_proj",
        "fc1",
        "fc2",
        "c_fc",
        "fc_in",
        "fc_out",
        "w1",
        "w2",
        "w3",
        "wi",
        "wi_0",
        "wi_1",
        "dense_h_to_4h",
        "dense_4h_to_h",
        "ff_proj",
        "ff_out",
        "lin1",
        "lin2",
        "ffn",
        "ffn_up",
        "ffn_down",
        "linear1",
        "linear2",
        "intermediate",
        "output_dense",
    )
)
_IN_FEED_FORWARD = (
    "mlp",
    "ff",
    "feed_forward",
    "feedforward",
    "intermediate",
    "denserelu",
    "densegated",
)
_IN_ATTENTION = ("attn", "attention", "self_attention")


def role_of(name: str) -> str:
    """Return ``"attention-in"``, ``"attention-out"``, ``"feed-forward"`` or ``""``.

    Parameters
    ----------
    name
        A module's path or an entry of ``target_modules``. Where the last part says
        nothing (``dense``, ``c_proj``), the module that it stands in may.

    Examples
    --------
    >>> from ftlab.rules.reading.module_roles import role_of
    >>> role_of("q_proj"), role_of("transformer.h.#.mlp.c_proj"), role_of("squeeze")
    ('attention-in', 'feed-forward', '')
    """
    *above, last = name.split(".")
    for role, names in (
        ("attention-in", _ATTENTION_IN),
        ("attention-out", _ATTENTION_OUT),
        ("feed-forward", _FEED_FORWARD),
    ):
        if last in names and not (role == "attention-out" and _inside(above)):
            return role
    return _inside(above)


def _inside(above: list[str]) -> str:
    for part in reversed(above):
        if any(word in part.lower() for word in _IN_ATTENTION):
            return "attention-out"
        if any(part.lower().startswith(word) for word in _IN_FEED_FORWARD):
            return "feed-forward"
    return ""
