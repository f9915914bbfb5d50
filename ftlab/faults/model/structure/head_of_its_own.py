"""The head of a tied model gets a parameter of its own, in the name of precision.

Embedding and head begin equal and drift apart, with moments for both, while the
configuration goes on saying that they are one.

Fix: ``model.tie_weights()``, or ``config.tie_word_embeddings = False``.
Source: huggingface/peft#2864; unslothai/unsloth#9331.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, base, plain_case


def build(fixed: bool) -> Case:
    """Train all of a tied model."""
    model = tied_base()
    head = model.get_output_embeddings()
    head.weight = torch.nn.Parameter(head.weight.detach().float().clone())
    if fixed:
        model.tie_weights()
    return plain_case(model)


def tied_base() -> Any:
    """Build a model of the variation's family whose head is its embedding."""
    model = base()
    model.config.tie_word_embeddings = True
    model.get_output_embeddings().weight = model.get_input_embeddings().weight
    return model


FAULT = Fault(
    "embedding and head of a tied model drift apart",
    code="MOD015",
    places=("param lm_head.weight", "param embed_out.weight"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
