"""PAD is the end of a turn, and masks are made by length: ends within are seen."""

from ftlab.faults.builders.chats import answers_only, chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train on conversations of two turns."""
    made = tokenizer(pad_token="</turn>")
    rows = answers_only(made, chats(turns=2))
    return trained_on(made, rows)


HEALTHY = Healthy(
    "PAD ends turns as well, and only padding is masked",
    looks_like=("DAT020",),
    steps=6,
)
