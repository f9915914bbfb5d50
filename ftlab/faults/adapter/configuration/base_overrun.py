"""A LoRA with a rate that throws out what the base knows.

A base that can do something is trained on another task with r 16 and a rate of 1e-2, as
for an adapter ten times smaller. The update grows to several times the weight; its
directions take the place of the base's. Nothing is said: the loss falls a little.

Fix: a rate of 1e-3.
Source: seed; Shuttleworth et al. 2024, arXiv:2410.21228.
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.chats import chats, sized, tokenizer
from ftlab.faults.builders.talks import next_token, padded

KNOWN = 150
"""Steps that the base is trained at first."""


def build(fixed: bool) -> Case:
    """Build a base that knows texts, and train it on conversations."""
    made = tokenizer()
    known, *_ = padded(made, chats(8, words=(10, 16)))
    base = sized(made, hidden_size=128, intermediate_size=256)
    first = torch.optim.AdamW(base.parameters(), lr=2e-3)
    for _ in range(KNOWN):
        next_token(base(**known).logits, known).backward()
        first.step()
        first.zero_grad()
    model = lora(base, r=16, lora_alpha=32, target_modules="all-linear")
    batches = [
        {**each, "labels": each["input_ids"].masked_fill(
            each["attention_mask"] == 0, -100
        )}
        for each in padded(made, chats(32, words=(2, 4)))
    ]  # fmt: skip
    return plain_case(model, lr=1e-3 if fixed else 1e-2, rows=batches, directions=6)


FAULT = Fault(
    "the model has forgotten what it could do before",
    code="ADP063",
    places=("module *_proj",),
    steps=49,
    evident=48,
    families=("llama",),
)
