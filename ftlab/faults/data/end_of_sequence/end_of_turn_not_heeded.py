"""The model ends its turn at the right place, and generation runs on behind it.

The chat template closes an answer with its own token, and ``eos_token_id`` is another
one: nothing stops ``generate`` there.

Fix: ``model.generation_config.eos_token_id = [old, end_of_turn]``.

Source: vllm-project/vllm#4180, oobabooga/textgen#5885.
"""

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Leave EOS what it was before the template came."""
    made = tokenizer(eos_token="</turn>" if fixed else "</s>")
    rows = whole(made)
    return trained_on(made, rows)


FAULT = Fault(
    "answers end with a token that stops no generation",
    code="DAT018",
    places=("config generation_config.eos_token_id",),
)
