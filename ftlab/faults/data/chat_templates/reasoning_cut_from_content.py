"""Answers that begin with a reasoning are trained without it.

The chat template cuts off what stands in front of ``</think>`` in every answer, the
last one too: the data teaches to reason, and no row holds a reasoning.

Fix: a template that keeps the reasoning of the answers that are trained.

Source: the chat template of DeepSeek-R1-Distill-Llama-8B, which writes
``content.split('</think>')[-1]`` of each answer.
"""

from ftlab.faults.builders.chats import TEMPLATE, reasoned, supervised_on, tokenizer
from ftlab.faults.fault import Case, Fault

_CUT = TEMPLATE.replace(
    "{% generation %}{{ m['content'] }}",
    "{% generation %}{{ m['content'].split('</think>')[-1] }}",
)


def build(fixed: bool) -> Case:
    """Train conversations of one turn, whose answers open with a thought."""
    _, talks = reasoned(turns=1)
    return supervised_on(tokenizer(template=TEMPLATE if fixed else _CUT), talks)


FAULT = Fault(
    "answers open with a reasoning, and no row that is trained holds one",
    code="DAT036",
    places=("data message 1 of row 0",),
    steps=2,
    evident=-1,
    needs=("trl>=0.24", "datasets"),
)
