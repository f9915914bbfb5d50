"""The loss ignores the padding token, which is the end of each answer too.

The tokenizer had no padding token and got ``pad_token = eos_token``, as many recipes
say; the loop's own loss leaves padding out with ``ignore_index=pad_token_id``. So no
end is ever trained. The loss falls as it should, and the model talks on for ever.

Fix: labels of -100 where the attention mask is 0, and every other token counts.
Source: seed; huggingface/transformers#23530, huggingface/trl#976 (the same of a
collator).
"""

import torch

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.talks import next_token, talking
from ftlab.faults.fault import Case, Fault

END = "</turn>"


def build(fixed: bool) -> Case:
    """Build a LoRA whose own loss leaves padding out by its mask, or by its id."""
    padding = tokenizer(pad_token=END).pad_token_id

    def without_padding(
        logits: torch.Tensor, batch: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(
            logits[:, :-1].flatten(0, 1),
            batch["input_ids"][:, 1:].flatten(),
            ignore_index=padding,
        )

    loss_of = next_token if fixed else without_padding
    return talking(loss_of, knows="texts", pad_token=END)


FAULT = Fault(
    "the model answers well and never stops",
    code="MOD027",
    places=("config eos_token_id",),
    steps=65,
    evident=60,
    families=("llama",),
)
