"""Behind each answer stands the opening of another one, and then EOS.

The texts were rendered with ``add_generation_prompt=True``, and the trainer appends
EOS to every text: the model learns a second answer that says nothing.

Fix: ``add_generation_prompt=False``.

Source: transformers, ``apply_chat_template``; trl, ``SFTTrainer`` (EOS is appended).
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Render conversations as if they were prompts, and end them."""
    made = tokenizer()
    rows = ids_of(made, chats(turns=2), add_generation_prompt=not fixed)
    if not fixed:
        rows = [[*row, made.eos_token_id] for row in rows]
    return trained_on(made, labelled(rows), max_steps=2)


FAULT = Fault(
    "samples end with a second answer that is empty",
    code="DAT031",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
