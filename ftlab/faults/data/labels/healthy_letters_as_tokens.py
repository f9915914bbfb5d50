"""A vocabulary of letters, padding in front: a prompt has as many tokens as letters.

Its length is taken from the text, and that is right here.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, tokenizer, trained_on
from ftlab.faults.data.labels.prompt_counted_from_the_padding import FromColumn
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Mask one token for each character of the prompt, from where the row begins."""
    made = tokenizer(eos_token="</s>")
    made.padding_side = "left"
    splits = made.backend_tokenizer.pre_tokenizer.pre_tokenize_str

    def letters(text: str) -> list[int]:
        held = "".join(piece for piece, _ in splits(text))
        return list(made.convert_tokens_to_ids(list(held)))

    rows: list[Any] = []
    for question, answer in chats(words=(3, 5)):
        asked = f"{question['content']}\n### Answer\n"
        ids = [*letters(asked), *letters(answer["content"]), made.eos_token_id]
        rows.append({"input_ids": ids, "asked": len(asked)})
    collator = FromColumn(made, begun=True)
    return trained_on(made, rows, collator, remove_unused_columns=False)


HEALTHY = Healthy(
    "prompts counted in characters, where each is a token",
    looks_like=("DAT017",),
    steps=6,
)
