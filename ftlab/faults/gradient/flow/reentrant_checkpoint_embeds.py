"""Reentrant checkpointing with embeddings passed in: the adapters get no gradient.

A reentrant checkpoint gives its output a graph only when an input requires a gradient.
transformers puts a hook on the embedding module for that, but a batch that brings
``inputs_embeds`` (images, soft prompts) goes past it. Only the head learns.

Fix: ``use_reentrant=False``, or ``inputs_embeds.requires_grad_(True)``.
Source: locuslab/open-unlearning#178, huggingface/transformers#42489, peft#137.
"""

import warnings
from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora


def build(fixed: bool) -> Case:
    """Build a LoRA model with a trained head that gets ``inputs_embeds``."""
    model = lora(modules_to_save=["lm_head"])
    model.gradient_checkpointing_enable({"use_reentrant": not fixed})
    model.train()
    optimizer = adamw(model)
    embedding = model.base_model.model.model.embed_tokens.weight

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        hidden = embedding[batch["input_ids"]].detach()
        with warnings.catch_warnings(action="ignore"):
            loss = model(inputs_embeds=hidden, labels=batch["labels"]).loss
            loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "only the head learns; every lora_B stays 0",
    code="GRD003",
    places=("module *layers.0", "param *layers.*.lora_*"),
    steps=10,
    also=("ADP001",),
)
