"""An OPT on rows that are padded on the left: it counts its positions by the mask.

It has a table of positions as GPT-2 has, and pads stand in front of every text.
"""

from typing import Any

from ftlab.faults.builders.chats import sized, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Pad on the left, with a mask and without positions."""
    made = tokenizer()
    made.padding_side = "left"
    rows = whole(made)
    return trained_on(made, rows, model=sized(made, _opt))


def _opt(**ids: Any) -> Any:
    from transformers import OPTConfig, OPTForCausalLM

    width = {"hidden_size": 32, "ffn_dim": 64, "word_embed_proj_dim": 32}
    depth = {"num_hidden_layers": 2, "num_attention_heads": 4, "dropout": 0.0}
    return OPTForCausalLM(OPTConfig(**ids, **width, **depth))


HEALTHY = Healthy(
    "padding in front of texts, and positions that the mask counts",
    looks_like=("DAT007",),
    steps=6,
)
