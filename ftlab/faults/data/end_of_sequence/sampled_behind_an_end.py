"""Answers are sampled on the way, of prompts that end like texts to train on.

The prompts are made by the function that makes the rows, which adds EOS. The model is
asked to go on where it has learnt that a text is over.

Fix: prompts without EOS behind them.

Source: transformers documentation, ``LlamaTokenizer``, ``add_eos_token``.
"""

from ftlab.faults.builders.chats import (
    answers_only,
    chats,
    sampling,
    tokenizer,
    trained_on,
)
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Write EOS behind each prompt, or not."""
    made, talks = tokenizer(eos_token="</s>"), chats()
    made.chat_template = made.chat_template.replace(
        "{{ m['content'] }}</turn>{% endgen", "{{ m['content'] }}</s>{% endgen"
    )
    case = trained_on(made, answers_only(made, talks))
    end = "" if fixed else "</s>"
    case.trainer.add_callback(sampling(made, talks[:4], "left", end))
    return case


FAULT = Fault(
    "answers sampled behind an end",
    code="DAT042",
    places=("token * of sample *",),
)
