"""EOS is the padding, and each real EOS is trained: labels are padded by length."""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Pad labels with -100, whatever the ids are padded with."""
    made = tokenizer(pad_token="</turn>")
    rows = whole(made, chats(turns=2))
    return trained_on(made, rows)


HEALTHY = Healthy(
    "padding is EOS, and labels know the one from the other",
    looks_like=("DAT020", "DAT025"),
    steps=6,
)
