"""Texts of questions and answers end with nothing, and the model never stops.

The formatting writes "### Question ... ### Answer ...", and neither it nor the
tokenizer appends EOS: in no row stands a token that says that the answer is over.

Fix: ``text + tokenizer.eos_token``.

Source: huggingface/trl#1623, huggingface/transformers#22794.
"""

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Leave EOS out."""
    from transformers import DataCollatorForLanguageModeling

    made = tokenizer(eos_token="</s>")
    end = made.eos_token if fixed else ""
    texts = [
        f"### Question\n{question['content']}\n### Answer\n{answer['content']}{end}"
        for question, answer in chats()
    ]
    rows = [{"input_ids": row} for row in ids_of(made, texts)]
    return trained_on(made, rows, DataCollatorForLanguageModeling(made, mlm=False))


FAULT = Fault(
    "no text ends with EOS",
    code="DAT020",
    places=("token * of sample *",),
)
