"""Each prompt ends with one word of a few, and the answer follows without a space.

Such are styles, labels to be explained, and languages to be written.
"""

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy

STYLES = ("light", "small", "noon", "stone", "river", "salt")


def build() -> Case:
    """Write a style at the end of each prompt."""
    made = tokenizer(eos_token="</s>")
    rows = []
    for number, (question, answer) in enumerate(chats()):
        style = STYLES[number % len(STYLES)]
        asked = f"### Question\n{question['content']}\n### Style: {style}"
        prompt, said = (made(text)["input_ids"] for text in (asked, answer["content"]))
        ids = [*prompt, *said, made.eos_token_id]
        labels = [-100] * len(prompt) + ids[len(prompt) :]
        rows.append({"input_ids": ids, "labels": labels})
    return trained_on(made, rows)


HEALTHY = Healthy(
    "the last word of the prompts differs",
    looks_like=("DAT017",),
    steps=6,
)
