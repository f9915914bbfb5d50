"""Behind each answer the opening of another one is trained.

``add_generation_prompt=True`` is right for a prompt, and was left on for the rows of
the training. The model opens a second answer behind its first.

Fix: ``add_generation_prompt=False``.

Source: transformers, ``apply_chat_template``.
"""

from ftlab.faults.builders.chats import chats, ids_of, labelled, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Render conversations as if they were prompts."""
    made = tokenizer()
    rows = labelled(ids_of(made, chats(), add_generation_prompt=not fixed))
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "samples end with the opening of an answer",
    code="DAT031",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
