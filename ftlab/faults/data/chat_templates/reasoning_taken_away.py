"""All answers but the last teach the model to answer without thinking.

The chat template takes the reasoning out of all answers but the last one, as is right
for a history. The labels of those answers count, and teach what is left of them.

Fix: one sample for each answer, with that answer alone trained.

Source: axon-rl/gem#44, modelscope/ms-swift#4939.
"""

from ftlab.faults.builders.chats import (
    answers_only,
    last_answers_only,
    reasoned,
    trained_on,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Train all answers of a conversation at once."""
    made, talks = reasoned(turns=2)
    each = [talk[:end] for talk in talks for end in (2, 4)]
    rows = last_answers_only(made, each) if fixed else answers_only(made, talks)
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "earlier answers are trained without their reasoning",
    code="DAT036",
    places=("token * of sample *",),
    steps=2,
    evident=1,
)
