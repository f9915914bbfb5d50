"""Conversations are laid end to end in one row, and nothing keeps them apart.

Positions run on and there is no mask: each answer but the first is learnt with the
conversations of strangers in front of it.

Fix: positions that begin again at each conversation, as `DataCollatorWithFlattening`
makes them, and no attention mask beside them.

Source: hiyouga/LlamaFactory#2289, huggingface/trl#784, MeetKai/functionary#265.
"""

from typing import Any

from ftlab.faults.builders.chats import sized, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault

OPENED = (
    "{% for m in messages %}{% if loop.first and m['role'] != 'system' %}"
    "<turn>system\nnever sleep</turn>\n{% endif %}"
    "<turn>{{ m['role'] }}\n{{ m['content'] }}</turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<turn>assistant\n{% endif %}"
)
"""Opens each conversation with a system text, and with no BOS."""


class EndToEnd:
    """Lays the rows of a batch end to end, and may let positions begin again."""

    def __init__(self, counts: bool) -> None:
        from transformers import DataCollatorWithFlattening

        self.counts = counts
        self.flatten = DataCollatorWithFlattening()

    def __call__(self, rows: list[Any]) -> dict[str, Any]:
        """Make a batch of one row."""
        batch = dict(self.flatten(rows))
        if not self.counts:
            del batch["position_ids"]
        return batch


def build(fixed: bool) -> Case:
    """Leave positions out, or let them begin again."""
    made = tokenizer(template=OPENED)
    rows = whole(made)
    model = sized(made, max_position_embeddings=512)
    return trained_on(made, rows, EndToEnd(fixed), model=model, max_steps=2)


FAULT = Fault(
    "conversations of one row are not kept apart",
    code="DAT046",
    places=("token * of sample 0",),
    steps=2,
    evident=1,
)
