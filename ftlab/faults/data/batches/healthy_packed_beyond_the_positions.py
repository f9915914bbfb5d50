"""A packed row that is longer than the model's positions, which begin anew within it.

Each document is short; together they are longer than ``max_position_embeddings``.
"""

from ftlab.faults.builders import Case, Healthy, gpt2
from ftlab.faults.builders.chats import sized, tokenizer, trained_on, whole


def build() -> Case:
    """Flatten eight conversations into a row, for a GPT-2 with fewer positions."""
    from transformers import DataCollatorWithFlattening

    made = tokenizer()
    rows = whole(made)
    model = sized(made, gpt2, n_positions=64)
    return trained_on(made, rows, DataCollatorWithFlattening(), model=model)


HEALTHY = Healthy(
    "a packed row longer than the positions, which begin anew within it",
    looks_like=("DAT007",),
    steps=6,
)
