"""Only answers shall be trained, and the template does not mark them: the loss is NaN.

``return_assistant_tokens_mask=True`` gives zeros, with one warning, where the template
has no ``{% generation %}``. No label of any sample counts.

Fix: ``{% generation %}`` around the answers in the template.

Source: huggingface/transformers#30650, huggingface/trl#4201.
"""

from ftlab.faults.builders.chats import TEMPLATE, answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

_MARKS = ("{% generation %}", "{% endgeneration %}")


def build(fixed: bool) -> Case:
    """Take the marks out of the template."""
    template = TEMPLATE
    for mark in () if fixed else _MARKS:
        template = template.replace(mark, "")
    made = tokenizer(template=template)
    return trained_on(made, answers_only(made))


FAULT = Fault(
    "no label of any sample counts, the loss is NaN",
    code="DAT004",
    places=("sample *",),
)
