"""Answers alone are trained, and the token that ends them is not.

``{% generation %}`` holds the content, and the end of the turn is written behind
``{% endgeneration %}``. The mask of the answers leaves it out, and the model does not
learn to stop.

Fix: put the end of the turn within ``{% generation %}``.

Source: TRL, ``is_chat_template_stop_token_trained`` warns of it.
"""

from ftlab.faults.builders.chats import (
    TEMPLATE,
    answers_only,
    chats,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault

_LATE = "</turn>{% endgeneration %}"


def build(fixed: bool) -> Case:
    """Write the end behind the mark."""
    template = TEMPLATE.replace(_LATE, "{% endgeneration %}</turn>")
    made = tokenizer(template=TEMPLATE if fixed else template)
    rows = answers_only(made, chats(turns=2))
    return trained_on(made, rows)


FAULT = Fault(
    "the mask of the answers leaves their end out",
    code="DAT020",
    places=("token * of sample *",),
)
