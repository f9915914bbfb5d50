"""The first token of every answer is left out of the labels.

The prompt is tokenised alone to count its tokens, by a function that appends EOS: the
count is one too large, and so is the stretch that is masked.

Fix: count the prompt without EOS.

Source: tloen/alpaca-lora, ``generate_and_tokenize_prompt`` (the count less one where
EOS is added).
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Mask one token more than the prompt."""
    made = tokenizer(eos_token="</s>")
    rows = []
    for question, answer in chats():
        asked = f"### Question\n{question['content']}\n### Answer\n"
        prompt = made(asked)["input_ids"] + [made.eos_token_id] * (not fixed)
        ids = [*made(asked + answer["content"])["input_ids"], made.eos_token_id]
        labels = [-100] * len(prompt) + ids[len(prompt) :]
        rows.append({"input_ids": ids, "labels": labels})
    return trained_on(made, rows)


FAULT = Fault(
    "the first token of each answer has no label",
    code="DAT017",
    places=("token * of sample *",),
)
