"""One batch again and again, in which some rows are the same: a trial of the set-up."""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train two conversations, each of which is four rows of the only batch."""
    made = tokenizer()
    rows = answers_only(made, chats(2)) * 4
    return trained_on(made, rows, num_train_epochs=6)


HEALTHY = Healthy(
    "one batch of two different rows, learnt by heart on purpose",
    looks_like=("DAT029",),
    steps=6,
)
