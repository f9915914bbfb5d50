"""Hand-written loops on short conversations, and prompts that are answered then."""

from collections.abc import Callable
from typing import Any, Literal

import torch

from ftlab.faults.builders.chats import chats, sized, tokenizer
from ftlab.faults.builders.loops import loss_step
from ftlab.faults.builders.tiny import adamw, lora
from ftlab.faults.fault import Case

LossOf = Callable[[torch.Tensor, dict[str, torch.Tensor]], torch.Tensor]
"""The loss of logits and a batch, whose rows are padded with the padding token."""


def padded(made: Any, talks: Any, size: int = 8) -> list[dict[str, torch.Tensor]]:
    """Make batches of whole conversations, padded on the right."""
    texts = [made.apply_chat_template(each, tokenize=False) for each in talks]
    settings = {"padding": True, "return_tensors": "pt", "add_special_tokens": False}
    return [
        dict(made(texts[at : at + size], **settings))
        for at in range(0, len(texts), size)
    ]


def next_token(logits: torch.Tensor, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the loss of the next token, of all that are no padding."""
    targets = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return torch.nn.functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten()
    )


def talking(
    loss_of: LossOf,
    *,
    lr: float = 1e-2,
    before: int = 60,
    knows: Literal["conversations", "texts"] = "conversations",
    **named: Any,
) -> Case:
    """Make the case of a LoRA that is trained on conversations, and is asked prompts.

    Parameters
    ----------
    before
        Steps that the whole base is trained rightly at first.
    knows
        What on: the conversations, or texts without turns and without an end.
    named
        Special tokens that differ: ``pad_token="</turn>"``.
    """
    made = tokenizer(**named)
    talks = chats(8, words=(2, 4))
    base = sized(made)
    first = torch.optim.AdamW(base.parameters(), lr=3e-3)
    known = padded(made, talks) if knows == "conversations" else _texts(made)
    for step in range(before):
        batch = known[step % len(known)]
        next_token(base(**batch).logits, batch).backward()
        first.step()
        first.zero_grad()
    rows = padded(made, talks)
    model = lora(base, modules_to_save=["lm_head"])  # it has new words to say
    optimizer = adamw(model, lr)

    def loss(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return loss_of(model(**batch).logits, batch)

    return Case(
        model,
        optimizer,
        rows,
        loss_step(loss, optimizer),
        tokenizer=made,
        prompts=_prompts(made, talks),
    )


def _texts(made: Any) -> list[dict[str, torch.Tensor]]:
    """Make a batch of texts without turns and without an end."""
    spoken = [each[0]["content"] for each in chats(8, words=(10, 16))]
    settings = {"padding": True, "return_tensors": "pt"}
    return [dict(made(spoken, **settings))]


def _prompts(made: Any, talks: Any) -> tuple[str, ...]:
    asked = {"add_generation_prompt": True, "tokenize": False}
    return tuple(made.apply_chat_template(each[:1], **asked) for each in talks[:3])
