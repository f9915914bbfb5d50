"""A token classifier on words of one piece each, with no token in front of them.

Labels are one per word, from the first place on, and all of them are right.
"""

from ftlab.faults.builders import Case, Healthy, roberta
from ftlab.faults.builders.chats import chats, ids_of, sized, tokenizer, trained_on


def build() -> Case:
    """Give each piece the class of its length."""
    made = tokenizer()
    texts = [talk[0]["content"] for talk in chats()]
    rows = [
        {"input_ids": ids, "labels": [int(each % 3) for each in ids]}
        for ids in ids_of(made, texts)
    ]
    model = sized(made, roberta, kind="TokenClassification")
    return trained_on(made, rows, model=model)


HEALTHY = Healthy(
    "each token has a class of its own",
    looks_like=("DAT025",),
    steps=6,
)
