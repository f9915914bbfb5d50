"""Embedding and head of a tied model are made two, and the configuration says so.

Both are trained as a whole beside the adapter.
"""

import torch

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Untie, and keep both in modules_to_save."""
    model = llama(tie_word_embeddings=True)
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    model.config.tie_word_embeddings = False
    model = lora(model, modules_to_save=["embed_tokens", "lm_head"])
    return plain_case(model)


HEALTHY = Healthy(
    "the head was the embedding, and is not any more",
    looks_like=("MOD015", "ADP029"),
)
