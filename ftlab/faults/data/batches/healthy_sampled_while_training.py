"""A LoRA that samples answers on the way, of prompts padded on the left.

The rows that it is trained on are padded on the right.
"""

from ftlab.faults.builders import Case, Healthy, lora
from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    sampling,
    sized,
    tokenizer,
    trained_on,
)


def build() -> Case:
    """Sample by a callback, through the adapter."""
    made, talks = tokenizer(), chats()
    rows = answers_only(made, talks)
    model = lora(sized(made))
    case = trained_on(made, rows, model=model)
    case.trainer.add_callback(sampling(made, talks[:4], "left"))
    return case


HEALTHY = Healthy(
    "answers sampled of prompts padded on the left",
    looks_like=("DAT042",),
    steps=6,
)
