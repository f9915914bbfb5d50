"""Prompts end with a space, which goes together with the first word of many answers.

"Answer: " alone ends with a token for the space. In the row the space and the word
behind it are one token, and what the model was trained on is not what it is asked.

Fix: no space at the end of the prompt; the answer begins with it.

Source: huggingface/trl#2054.
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Mask what the prompt and the whole row have in common."""
    made = tokenizer(eos_token="</s>")
    rows = []
    for number, (question, answer) in enumerate(chats()):
        said = answer["content"]
        said = f"{number} {said}" if number % 2 else said
        prompt, said = f"Question: {question['content']}\nAnswer:", f" {said}"
        asked = made(prompt + " " * (not fixed))["input_ids"]
        ids = [*made(prompt + said)["input_ids"], made.eos_token_id]
        pairs = enumerate(zip(asked, ids, strict=False))
        border = next((at for at, (a, b) in pairs if a != b), len(asked))
        labels = [-100] * border + ids[border:]
        rows.append({"input_ids": ids, "labels": labels})
    return trained_on(made, rows)


FAULT = Fault(
    "the space of the prompt is trained with the answer, or is not",
    code="DAT017",
    places=("token * of sample *",),
)
