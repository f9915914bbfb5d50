"""Tiny models of further families: what the gallery's healthy runs are trained on.

`builders.tiny` has the families that every fault is rebuilt on; here are the ones
with something unusual in them: soft caps, tied and scaled embeddings, an encoder and
a decoder, a state space, pictures.
"""

from typing import Any

import torch

from ftlab.faults.builders.tiny import VOCABULARY, Batch, set_seed, sizes
from ftlab.faults.variation import current

LABELS = 3
"""Classes of the classifiers."""

PICTURE = 16
"""Height and width of the pictures."""


def qwen3(seed: int = 0, **settings: Any) -> Any:
    """Build a Qwen3: queries and keys are normalised, embeddings tied."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    set_seed(seed)
    unlike = {"head_dim": 16, "tie_word_embeddings": True}
    return Qwen3ForCausalLM(Qwen3Config(**(sizes() | unlike | settings)))


def gemma(seed: int = 0, **settings: Any) -> Any:
    """Build a Gemma 2: soft caps, scaled embeddings, norms whose weight is 0."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    set_seed(seed)
    unlike = {"head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 8}
    return Gemma2ForCausalLM(Gemma2Config(**(sizes() | unlike | settings)))


def phi(seed: int = 0, **settings: Any) -> Any:
    """Build a Phi: attention and feed-forward part side by side, a head with bias."""
    from transformers import PhiConfig, PhiForCausalLM

    set_seed(seed)
    return PhiForCausalLM(PhiConfig(**(sizes() | settings)))


def opt(seed: int = 0, **settings: Any) -> Any:
    """Build an OPT: learned positions and ReLU."""
    from transformers import OPTConfig, OPTForCausalLM

    set_seed(seed)
    width = current().width
    unlike = {"ffn_dim": 2 * width, "word_embed_proj_dim": width, "dropout": 0.1}
    return OPTForCausalLM(OPTConfig(**(sizes() | unlike | settings)))


def mamba(seed: int = 0, **settings: Any) -> Any:
    """Build a Mamba: a state space in place of attention."""
    from transformers import MambaConfig, MambaForCausalLM

    set_seed(seed)
    unlike = {"state_size": 4, "conv_kernel": 4, "expand": 2, "time_step_rank": 4}
    return MambaForCausalLM(MambaConfig(**(sizes() | unlike | settings)))


def t5(seed: int = 0, **settings: Any) -> Any:
    """Build a T5: an encoder and a decoder that share one embedding."""
    from transformers import T5Config, T5ForConditionalGeneration

    set_seed(seed)
    width = current().width
    shape = {"d_model": width, "d_ff": 2 * width, "d_kv": width // 4, "num_heads": 4}
    words = {"vocab_size": VOCABULARY, "pad_token_id": 0, "decoder_start_token_id": 0}
    depth = {"num_layers": current().depth, "eos_token_id": 2}
    return T5ForConditionalGeneration(T5Config(**(shape | words | depth | settings)))


def roberta(
    seed: int = 0, kind: str = "SequenceClassification", **settings: Any
) -> Any:
    """Build a RoBERTa with a head for ``kind``, such as ``"MaskedLM"``."""
    import transformers

    set_seed(seed)
    config = sizes() | {"num_labels": LABELS, "max_position_embeddings": 66} | settings
    config["pad_token_id"] = 0
    build = getattr(transformers, f"RobertaFor{kind}")
    return build(transformers.RobertaConfig(**config))


def vit(seed: int = 0, **settings: Any) -> Any:
    """Build a ViT that classifies pictures."""
    from transformers import ViTConfig, ViTForImageClassification

    set_seed(seed)
    config = sizes() | {"image_size": PICTURE, "patch_size": 4, "num_labels": LABELS}
    return ViTForImageClassification(ViTConfig(**(config | settings)))


def classes(made: list[Batch]) -> list[Batch]:
    """Give batches of `builders.tiny.batches` one class per row to predict.

    It is the third of the vocabulary that the row's first token is in.
    """
    share = VOCABULARY // LABELS + 1
    return [batch | {"labels": batch["input_ids"][:, 0] // share} for batch in made]


def pictures(count: int = 8, size: int = 4) -> list[Batch]:
    """Return batches of noise with a stripe, whose height is to be told."""
    generator = torch.Generator().manual_seed(1000 * current().seed)
    made = []
    for _ in range(count):
        labels = torch.randint(LABELS, (size,), generator=generator)
        noise = torch.randn(size, 3, PICTURE, PICTURE, generator=generator)
        for picture, label in zip(noise, labels.tolist(), strict=True):
            picture[:, 5 * label : 5 * label + 3] += 2.0
        made.append({"pixel_values": noise, "labels": labels})
    return made
