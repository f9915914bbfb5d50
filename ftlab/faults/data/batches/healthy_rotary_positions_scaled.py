"""Rows longer than the config's length, and rotary positions scaled to reach there.

``max_position_embeddings`` is what the model had before.
"""

from ftlab.faults.builders.chats import chats, sized, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Scale by four; no row is longer than twice the length."""
    made = tokenizer()
    rotary = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
    model = sized(made, max_position_embeddings=48, rope_parameters=rotary)
    rows = whole(made, chats(64, words=(3, 24)))
    return trained_on(made, rows, model=model)


HEALTHY = Healthy(
    "rows longer than max_position_embeddings of scaled rotary positions",
    looks_like=("DAT007",),
    steps=6,
    needs=("transformers>=5",),
)
