"""DoRA on attention and embeddings of a base in bf16, merged when training is over.

A merge with DoRA changes every weight of its rows, far more than B A has elements that
differ; all of it arrives.
"""

import torch

from ftlab.faults.builders import Case, Healthy, attention, base, lora, plain_case


def build() -> Case:
    """Build DoRA that is merged and unmerged again."""
    model = base().to(torch.bfloat16)
    names = ("embed_tokens", "embed_in", "wte")
    table = [n for n, _ in model.named_modules() if n.rpartition(".")[2] in names]
    targets = [*attention(model), *(name.rpartition(".")[2] for name in table)]
    tied = getattr(getattr(model, "config", None), "tie_word_embeddings", False)
    model = lora(
        model, use_dora=True, target_modules=attention(model) if tied else targets
    )
    return plain_case(model, lr=1e-2, afterwards=lambda: model.merge_adapter())


HEALTHY = Healthy(
    "the merge rescales whole rows of the base",
    looks_like=("ADP009", "ADP007", "ADP029"),
    steps=40,
)
