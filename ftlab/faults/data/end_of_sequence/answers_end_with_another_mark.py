"""Each answer ends with "<|im_end|>", which this vocabulary reads as common text.

The formatting was copied from a model that has the token. This one has another end,
which is in no row; generation never stops.

Fix: ``tokenizer.eos_token``, or the tokenizer's own chat template.

Source: hiyouga/LlamaFactory#1493 (a mark as text).
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Train answers alone, and close them with the mark of another model."""
    made = tokenizer(eos_token="</s>")
    mark = made.eos_token if fixed else "<|im_end|>"
    rows = []
    for question, answer in chats():
        prompt = made(f"### Question\n{question['content']}\n### Answer\n")["input_ids"]
        said = made(f"{answer['content']}{mark}\n")["input_ids"]
        labels = [-100] * len(prompt) + said
        rows.append({"input_ids": prompt + said, "labels": labels})
    return trained_on(made, rows)


FAULT = Fault(
    "answers end with the mark of another model",
    code="DAT018",
    places=("token * of sample *",),
    also=("DAT020",),
)
