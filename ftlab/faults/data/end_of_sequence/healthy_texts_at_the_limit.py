"""Long texts in which nobody speaks, all cut at ``max_length``.

The tokenizer has a chat template that ends answers; these are no answers.
"""

from ftlab.faults.builders.chats import chats, supervised_on, tokenizer
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train rows of ids that were cut from texts, each as long as the limit."""
    made = tokenizer(adds_bos=True)
    texts = [" ".join(m["content"] for m in talk) for talk in chats(words=(30, 40))]
    rows = [{"input_ids": made(text)["input_ids"][:48]} for text in texts]
    return supervised_on(made, rows=rows, max_length=48, max_steps=2)


HEALTHY = Healthy(
    "all rows are as long as max_length, and nobody speaks in them",
    looks_like=("DAT023",),
    steps=2,
)
