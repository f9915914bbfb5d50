"""The model begins a new text where it should answer.

Prompt and answer are tokenised apart and joined. The tokenizer puts BOS in front of
both, and the second one is the first token of each answer that is trained.

Fix: ``tokenizer(answer, add_special_tokens=False)``.

Source: axolotl-ai-cloud/axolotl#1616.
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Join the ids of two texts."""
    made = tokenizer(adds_bos=True, eos_token="</s>")
    rows = []
    for question, answer in chats():
        prompt = made(f"### Question\n{question['content']}\n### Answer\n")["input_ids"]
        said = made(f"{answer['content']}</s>", add_special_tokens=not fixed)[
            "input_ids"
        ]
        labels = [-100] * len(prompt) + said
        rows.append({"input_ids": prompt + said, "labels": labels})
    return trained_on(made, rows)


FAULT = Fault(
    "answers begin as if a new text began",
    code="DAT022",
    places=("token * of sample *",),
    evident=1,
)
