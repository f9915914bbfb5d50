"""A frozen model has embedding and head as two equal copies, and takes an adapter.

That is how some files are loaded. Nothing trains the copies, so they stay one in value.
"""

import torch

from ftlab.faults.builders import Case, Healthy, llama, lora, plain_case


def build() -> Case:
    """Build LoRA on a tied model whose head was loaded as a tensor of its own."""
    model = llama(tie_word_embeddings=True)
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    model = lora(model)
    return plain_case(model)


HEALTHY = Healthy(
    "a tied model has two tensors",
    looks_like=("MOD015", "ADP029"),
)
