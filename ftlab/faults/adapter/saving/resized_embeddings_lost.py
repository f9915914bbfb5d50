"""Rows for new tokens are trained, and are in no file.

resize_token_embeddings adds rows, both embeddings are unfrozen by hand. The base model
has no name that PEFT could look its vocabulary size up by, so it saves no embeddings:
after loading, the new tokens have random rows again.

Fix: ``modules_to_save`` with both embeddings, or ``trainable_token_indices``, or
``save_pretrained(..., save_embedding_layers=True)``.
Source: huggingface/peft#1335, huggingface/peft#1147, huggingface/peft#1689,
huggingface/peft#2589.
"""

from typing import Any

from ftlab.faults.builders import VOCABULARY, Case, Fault, base, batches, lora
from ftlab.faults.builders.loops import plain_case

NEW = 8


def build(fixed: bool) -> Case:
    """Build a LoRA on a model that has learned to know eight more tokens."""
    model = base()
    model.resize_token_embeddings(VOCABULARY + NEW, mean_resizing=False)
    both = (model.get_input_embeddings(), model.get_output_embeddings())
    names = [path for path, each in model.named_modules() if each in both]
    adapted = lora(model, modules_to_save=names if fixed else None)
    if not fixed:
        for each in both:
            each.requires_grad_(True)
    return plain_case(adapted, lr=1e-2, rows=_with_new_tokens())


def _with_new_tokens() -> Any:
    made = batches()
    for index, batch in enumerate(made):
        batch["input_ids"][:, 0] = VOCABULARY + index % NEW
    return made


FAULT = Fault(
    "new tokens work after training and are noise after loading the adapter",
    code="ADP020",
    places=("param *embed_tokens.weight", "param *embed_in.weight"),
    steps=4,
    evident=-1,
    families=("llama", "neox"),
)
