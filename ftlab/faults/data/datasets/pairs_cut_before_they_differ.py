"""Good and bad answers begin alike, and are cut before they differ.

Both are written by the same model and open with the same sentence. ``max_length`` keeps
their beginnings: two rows with the same tokens, of which none can be preferred.

Fix: a greater ``max_length``.

Source: huggingface/trl#1236.
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.preferences import preferred_by_dpo, rated_answers
from ftlab.faults.fault import Case, Fault

_OPENING = " light falls on every stone because small boats carry bread and salt to"


def build(fixed: bool) -> Case:
    """Keep 24 tokens of each row, or 128."""
    rows = rated_answers(_OPENING)
    return preferred_by_dpo(tokenizer(), rows, max_length=128 if fixed else 24)


FAULT = Fault(
    "the loss stays at 0.69, and margins are 0",
    code="DAT013",
    places=("sample *",),
    also=("GRD001", "NUM011"),
    needs=("trl>=0.24", "datasets"),
)
